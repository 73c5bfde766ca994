#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/command_line/command_line.h"
#include "common/command_line/declarations.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// The command that the parser had reached.
const CLI::App& Innermost(const CLI::App& app) {
  const CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().back();
  return *innermost;
}

std::string ClosestHint(const std::string& word, const std::vector<std::string>& words) {
  const std::string closest = ClosestWord(word, words);
  return closest.empty() ? "" : absl::StrCat("; did you mean ", closest, "?");
}

std::string NeedsValue(const CLI::Option& option, const std::string& name) {
  const std::vector<std::string> values = Values(option);
  const std::string type = option.get_type_name();
  return absl::StrCat(name, " needs a value",
                      !values.empty()  ? absl::StrCat(": one of ", absl::StrJoin(values, ", "))
                      : type == "TEXT" ? ""
                                       : absl::StrCat(": ", type));
}

// The option of that name, of the command that the parser had reached or one around it; null where there is none.
const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::App* each = &Innermost(app); each != nullptr; each = each->get_parent()) {
    for (const CLI::Option* option : each->get_options()) {
      if (option->get_name() == name) return option;
    }
  }
  return nullptr;
}

// Whether it may be there once only.
bool TakesOneValue(const CLI::Option& option) {
  return TakesValue(option) && option.get_items_expected_max() == 1 &&
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
}

// An option as a word gives it: --name, --name=value, -n or -nvalue.
struct GivenOption {
  // Null: no option is of that name.
  const CLI::Option* option = nullptr;
  std::string name;
  // Nothing: the word has none.
  std::optional<std::string> value;
};

// Finds the option that a word gives, of the command or one around it.
GivenOption FindGiven(const CLI::App& command, const std::string& word) {
  GivenOption given;
  const bool is_long = absl::StartsWith(word, "--");
  if (word.size() < 2 || word[0] != '-') return given;
  given.name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
  for (const CLI::App* each = &command; each != nullptr && given.option == nullptr; each = each->get_parent()) {
    for (const CLI::Option* option : each->get_options()) {
      if (is_long ? option->check_lname(given.name.substr(2)) : option->check_sname(given.name.substr(1))) {
        given.option = option;
      }
    }
  }
  if (given.option == nullptr || word.size() == given.name.size()) return given;
  if (is_long || TakesValue(*given.option)) given.value = word.substr(given.name.size() + (is_long ? 1 : 0));
  return given;
}

std::string GivenTwice(const CLI::Option& option, const std::string& first, const std::string& second) {
  const char* const way_out =
      option.get_type_name() == "LIST" ? "list all values in one, separated by commas" : "give it once";
  return first == second ? absl::StrCat(first, " was given twice: ", way_out)
                         : absl::StrCat(first, " and ", second, " are one option: ", way_out);
}

// The parser's words for what is wrong with one option, in ours; empty: they are others.
std::string DescribeOption(const CLI::App& app, const std::string& words) {
  constexpr char kRequired[] = " is required";
  if (absl::EndsWith(words, kRequired)) {
    const std::string name(absl::StripSuffix(words, kRequired));
    const CLI::Option* option = FindOption(app, name);
    if (option == nullptr || absl::StartsWith(name, "-")) return "";
    std::string what = option->get_description();
    if (!what.empty()) what[0] = absl::ascii_tolower(static_cast<unsigned char>(what[0]));
    return absl::StrCat(absl::AsciiStrToUpper(name), " is missing", what.empty() ? "" : ": ", what);
  }
  constexpr char kExcludes[] = " excludes ";
  if (const size_t at = words.find(kExcludes); at != std::string::npos && FindOption(app, words.substr(0, at))) {
    return absl::StrCat(words.substr(0, at), " and ", words.substr(at + sizeof(kExcludes) - 1),
                        " exclude each other: leave one of them out");
  }
  constexpr char kConvert[] = "Could not convert: ";
  if (absl::StartsWith(words, kConvert)) {
    const std::vector<std::string> parts =
        absl::StrSplit(words.substr(sizeof(kConvert) - 1), absl::MaxSplits(" = ", 1));
    return parts.size() < 2 ? "" : absl::StrCat(parts[0], ": ", Quoted(parts[1]), " is not a number");
  }
  const std::vector<std::string> parts = absl::StrSplit(words, absl::MaxSplits(": ", 1));
  const CLI::Option* option = parts.size() < 2 ? nullptr : FindOption(app, parts[0]);
  if (option == nullptr) return "";
  const std::string& why = parts[1];
  if (absl::EndsWith(why, " missing") && absl::StrContains(why, " required ")) return NeedsValue(*option, parts[0]);
  if (const size_t end = why.rfind(" not in {"); end != std::string::npos) {
    const std::string value = why.substr(0, end);
    return absl::StrCat(parts[0], ": ", Quoted(value), " is not a valid value: expected one of ",
                        absl::StrJoin(Values(*option), ", "), ClosestHint(value, Values(*option)));
  }
  constexpr char kValue[] = "Value ";
  constexpr char kRange[] = " not in range ";
  if (const size_t end = why.rfind(kRange); end != std::string::npos && absl::StartsWith(why, kValue)) {
    const std::string value = why.substr(sizeof(kValue) - 1, end - sizeof(kValue) + 1);
    const std::string range = why.substr(end + sizeof(kRange) - 1);
    double number = 0;
    // CLI::PositiveNumber is the range up to the largest double.
    return absl::StrCat(parts[0], ": ", Quoted(value),
                        absl::SimpleAtod(value, &number) ? " is out of range" : " is not a number",
                        ": expected a number ", range.size() > 100 ? "above 0" : absl::StrCat("from ", range));
  }
  return "";
}

// What is wrong with the arguments that no option took; empty where all were taken. `app` has parsed as far as it
// could.
std::string DescribeExtras(const CLI::App& app) {
  const CLI::App& command = Innermost(app);
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return "";
  const auto option =
      std::find_if(extras.begin(), extras.end(), [](const auto& text) { return absl::StartsWith(text, "-"); });
  if (option == extras.end()) {
    const bool has_commands = !command.get_subcommands([](const CLI::App* /*each*/) { return true; }).empty();
    return has_commands ? UnknownCommand(command, extras.front())
                        : absl::StrCat("unexpected argument ", Quoted(extras.front()));
  }
  const std::string name = option->substr(0, option->find('='));
  // Options of the commands around it may be anywhere on the line.
  std::vector<std::string> names;
  for (const CLI::App* each = &command; each != nullptr; each = each->get_parent()) {
    for (const CLI::Option* known : each->get_options()) {
      for (const std::string& long_name : known->get_lnames()) {
        names.push_back("--" + long_name);
        // It was the last word.
        if (names.back() == name) return NeedsValue(*known, name);
      }
    }
  }
  return absl::StrCat("unknown option ", Quoted(name), ClosestHint(name, names));
}

}  // namespace

std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App* /*each*/) { return true; })) {
    names.push_back(each->get_name());
  }
  if (names.empty()) return absl::StrCat("unexpected argument ", Quoted(word), "; ", FullName(app), " has no commands");
  return absl::StrCat("unknown command ", Quoted(word), ClosestHint(word, names));
}

absl::StatusOr<std::vector<std::string>> PrepareWords(const CLI::App& app, std::vector<std::string> words) {
  const CLI::App* command = &app;
  std::map<const CLI::Option*, std::string> given;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!absl::StartsWith(words[i], "-")) {
      const auto named = command->get_subcommands([&](const CLI::App* each) { return each->get_name() == words[i]; });
      if (!named.empty()) command = named.front();
      continue;
    }
    const GivenOption found = FindGiven(*command, words[i]);
    if (found.option == nullptr) continue;
    const CLI::Option& option = *found.option;
    const bool follows = i + 1 < words.size();
    // A number, with or without a unit: not the name of a plan.
    if (!option.get_fnames().empty() && !found.value && follows && ParseDuration(words[i + 1]).ok()) {
      absl::StrAppend(&words[i], "=", words[i + 1]);
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
    // At the end of the line the parser's own error names it.
    const bool lacks = found.value ? found.value->empty()
                                   : TakesValue(option) && follows &&
                                         (words[i + 1].empty() || FindGiven(*command, words[i + 1]).option != nullptr);
    if (lacks) return absl::InvalidArgumentError(NeedsValue(option, found.name));
    if (!option.get_fnames().empty() || TakesOneValue(option)) {
      const auto [first, added] = given.emplace(&option, found.name);
      if (!added) return absl::InvalidArgumentError(GivenTwice(option, first->second, found.name));
    }
    if (!found.value && TakesValue(option)) ++i;
  }
  return words;
}

std::string CommandLineError(const CLI::App& app, const CLI::ParseError& error) {
  const bool of_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool of_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string extras = of_extras || of_missing ? DescribeExtras(app) : "";
  if (!extras.empty()) return extras;
  std::string of_option = DescribeOption(app, error.what());
  if (!of_option.empty()) return of_option;
  return of_extras ? "too many arguments" : error.what();
}

std::string HelpCommand(const CLI::App& app) {
  return FullName(Innermost(app)) + " --help";
}

}  // namespace plimsoll
