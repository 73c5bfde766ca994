#include <algorithm>
#include <map>
#include <optional>
#include <string>
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

// What is wrong with a required argument that is missing, or with options that exclude each other; empty: it is
// neither.
std::string DescribeRequirements(const CLI::App& app) {
  for (const CLI::Option* option : Innermost(app).get_options()) {
    if (option->get_required() && option->count() == 0) {
      const std::string name = option->get_name();
      if (absl::StartsWith(name, "-")) return "";
      std::string what = option->get_description();
      if (!what.empty()) what[0] = absl::ascii_tolower(static_cast<unsigned char>(what[0]));
      return absl::StrCat(absl::AsciiStrToUpper(name), " is missing", what.empty() ? "" : ": ", what);
    }
    for (const CLI::Option* other : option->get_excludes()) {
      if (option->count() == 0 || other->count() == 0) continue;
      return absl::StrCat(option->get_name(), " and ", other->get_name(), " exclude each other: leave one of them out");
    }
  }
  return "";
}

// What is wrong with the arguments that no option took; empty where all were taken. `app` has parsed as far as it
// could.
std::string DescribeExtras(const CLI::App& app) {
  const CLI::App& command = Innermost(app);
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return "";
  const auto option = std::ranges::find_if(extras, [](const auto& text) { return absl::StartsWith(text, "-"); });
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
    const bool lacks = found.value ? found.value->empty()
                                   : TakesValue(option) && follows &&
                                         (words[i + 1].empty() || FindGiven(*command, words[i + 1]).option != nullptr);
    if (lacks) return absl::InvalidArgumentError(NeedsValue(option, found.name));
    if (!option.get_fnames().empty() || TakesOneValue(option)) {
      const auto [first, added] = given.emplace(&option, found.name);
      if (!added) return absl::InvalidArgumentError(GivenTwice(option, first->second, found.name));
    }
    if (found.value || !TakesValue(option)) continue;
    if (!follows) return absl::InvalidArgumentError(NeedsValue(option, option.get_name()));
    ++i;
  }
  return words;
}

bool GivenWords::Has(const std::string& name) const {
  return std::ranges::any_of(options, [&](const auto& each) { return each.first->check_lname(name); });
}

std::string GivenWords::Value(const std::string& name) const {
  const auto found = std::ranges::find_if(options, [&](const auto& each) { return each.first->check_lname(name); });
  return found == options.end() ? "" : found->second;
}

GivenWords ReadWords(const CLI::App& app, const std::vector<std::string>& words) {
  GivenWords given;
  given.command = &app;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const GivenOption found = FindGiven(*given.command, words[i]);
    if (found.option != nullptr) {
      const bool next = !found.value && TakesValue(*found.option) && i + 1 < words.size();
      given.options[found.option] = next ? words[++i] : found.value.value_or("");
      continue;
    }
    const auto named =
        given.command->get_subcommands([&](const CLI::App* each) { return each->get_name() == words[i]; });
    if (!named.empty() && !given.has_arguments) {
      given.command = named.front();
    } else if (words[i].empty() || words[i][0] != '-') {
      given.has_arguments = true;
    }
  }
  return given;
}

std::string CommandLineError(const CLI::App& app, const CLI::ParseError& error) {
  const bool of_extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool of_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  std::string extras = of_extras || of_missing ? DescribeExtras(app) : "";
  if (!extras.empty()) return extras;
  const bool of_excluded = dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr;
  std::string requirements = of_missing || of_excluded ? DescribeRequirements(app) : "";
  if (!requirements.empty()) return requirements;
  // The parser itself converts flags, and numbers without a range; only its message has the option and the value.
  const std::vector<std::string> parts = absl::StrSplit(error.what(), absl::MaxSplits(" = ", 1));
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr && parts.size() == 2) {
    return absl::StrCat(absl::StripPrefix(parts[0], "Could not convert: "), ": ", Quoted(parts[1]), " is not a number");
  }
  return of_extras ? "too many arguments" : error.what();
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  return {[words](const std::string& text) {
            if (std::ranges::find(words, text) != words.end()) return std::string();
            return absl::StrCat(Quoted(text), " is not a valid value: expected one of ", absl::StrJoin(words, ", "),
                                ClosestHint(text, words));
          },
          absl::StrCat("{", absl::StrJoin(words, ","), "}")};
}

CLI::Validator NumberIn(const CLI::Range& range, const std::string& expected) {
  return {[range, expected](const std::string& text) {
            if (range(text).empty()) return std::string();
            double number = 0;
            return absl::StrCat(Quoted(text), absl::SimpleAtod(text, &number) ? " is out of range" : " is not a number",
                                ": expected a number ", expected);
          },
          range.get_description()};
}

std::string HelpCommand(const CLI::App& app) {
  return FullName(Innermost(app)) + " --help";
}

}  // namespace plimsoll
