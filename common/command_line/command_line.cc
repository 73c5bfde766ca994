#include "common/command_line/command_line.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// The column in which CLI11 starts descriptions, and how wide they may be.
constexpr size_t kHelpColumn = 30;
constexpr size_t kHelpWidth = 100 - kHelpColumn;

std::string Wrap(const std::string& text) {
  std::string wrapped;
  size_t column = 0;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ' '))) {
    const bool fits = column + 1 + word.size() <= kHelpWidth;
    if (column > 0) wrapped += fits ? ' ' : '\n';
    column = (column > 0 && fits ? column + 1 : 0) + word.size();
    wrapped += word;
  }
  return wrapped;
}

// The option's description, with the options that it excludes.
std::string Description(const CLI::Option& option) {
  std::vector<std::string> excluded;
  for (const CLI::Option* other : option.get_excludes()) excluded.push_back(other->get_name());
  std::sort(excluded.begin(), excluded.end());
  return absl::StrCat(option.get_description(), excluded.empty() ? "" : " (not with ", absl::StrJoin(excluded, ", "),
                      excluded.empty() ? "" : ")");
}

class WrappingFormatter : public CLI::Formatter {
 public:
  WrappingFormatter() { column_width(kHelpColumn); }

  std::string make_option_desc(const CLI::Option* option) const override { return Wrap(Description(*option)); }

  // CLI11 shows the value that an option has without one as "--flag{value}".
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    return absl::StrReplaceAll(CLI::Formatter::make_option_name(option, positional), {{"{", "[="}, {"}", "]"}});
  }

  // Without the excluded options, which stand in the description.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string text = CLI::Formatter::make_option_opts(option);
    return text.substr(0, text.find(absl::StrCat(" ", get_label("Excludes"), ":")));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream text;
    CLI::detail::format_help(text, command->get_name(), Wrap(command->get_description()), kHelpColumn);
    return text.str();
  }
};

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

// The values of "TEXT:{a,b}"; empty where others may be given.
std::vector<std::string> Values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return absl::StrSplit(type.substr(open + 1, close - open - 1), ',');
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

bool TakesValue(const CLI::Option& option) {
  return option.get_items_expected_min() > 0;
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

// Of the command, or one around it.
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
  // Those of the commands around it may be anywhere on the line.
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

using Apps = std::vector<CLI::App*>;
using Options = std::vector<CLI::Option*>;

Apps Commands(CLI::App& app) {
  return app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
}

// Those with a name that starts with a dash, or those without.
Options ShownOptions(CLI::App& app, bool named) {
  return app.get_options([named](const CLI::Option* each) {
    const bool has_name = !each->get_lnames().empty() || !each->get_snames().empty();
    return named ? has_name && !each->get_group().empty() : !has_name || each->get_positional();
  });
}

// "plimsoll plan check", with `separator` in place of the blanks.
std::string FullName(const CLI::App& app, const char* separator = " ") {
  const CLI::App* parent = app.get_parent();
  return parent == nullptr ? app.get_name() : absl::StrCat(FullName(*parent, separator), separator, app.get_name());
}

// Spellings on the command line: -q, --quiet.
std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames()) spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spellings.push_back("--" + name);
  return spellings;
}

std::string Placeholder(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.find('{') == std::string::npos ? type : absl::StrJoin(Values(option), "|");
}

bool IsPath(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "DIR";
}

// Text as a line of roff prints it.
std::string Roff(const std::string& text) {
  std::string roff = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"`", "\\(ga"}});
  return absl::StartsWith(roff, ".") ? "\\&" + roff : roff;
}

std::string OptionPage(const CLI::Option& option, const std::string& name) {
  std::string heading = absl::StrCat("\\fB", Roff(name), "\\fR");
  const std::string value = Placeholder(option);
  if (TakesValue(option) && !value.empty() && (absl::StartsWith(name, "-") || value != "TEXT")) {
    absl::StrAppend(&heading, " \\fI", Roff(value), "\\fR");
  }
  std::string text = Description(option);
  const std::string standard = option.get_default_str();
  if (!standard.empty()) absl::StrAppend(&text, " (default: ", standard, ")");
  if (option.get_required()) absl::StrAppend(&text, " (required)");
  return absl::StrCat(".TP\n", heading, "\n", Roff(text), "\n");
}

// What --help prints below the options: text, then lines after "Example:" that are printed as they are.
std::string FooterPage(const std::string& footer) {
  std::string notes;
  std::string examples;
  bool of_examples = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(footer, '\n'))) {
    if (line == "Example:" || line == "Examples:") {
      of_examples = true;
    } else if (!line.empty()) {
      absl::StrAppend(of_examples ? &examples : &notes, Roff(std::string(absl::StripLeadingAsciiWhitespace(line))),
                      "\n");
    }
  }
  std::string page;
  if (!notes.empty()) absl::StrAppend(&page, ".SH NOTES\n", notes);
  if (!examples.empty()) absl::StrAppend(&page, ".SH EXAMPLES\n.nf\n", examples, ".fi\n");
  return page;
}

std::string ManPage(CLI::App& app) {
  const std::string name = FullName(app, "-");
  std::string page = absl::StrCat(".TH ", absl::AsciiStrToUpper(Roff(name)), " 1 \"\" \"plimsoll ", kVersion,
                                  "\" \"User Commands\"\n.nh\n.ad l\n");
  std::string purpose = app.get_description();
  if (absl::EndsWith(purpose, ".")) purpose.pop_back();
  if (purpose.size() > 1 && absl::ascii_islower(static_cast<unsigned char>(purpose[1]))) {
    purpose[0] = absl::ascii_tolower(static_cast<unsigned char>(purpose[0]));
  }
  absl::StrAppend(&page, ".SH NAME\n", Roff(name), " \\- ", Roff(purpose), "\n");
  absl::StrAppend(&page, ".SH SYNOPSIS\n\\fB", Roff(FullName(app)), "\\fR [\\fIOPTIONS\\fR]");
  for (const CLI::Option* positional : ShownOptions(app, false)) {
    const std::string placeholder = absl::StrCat("\\fI", Roff(positional->get_name(true)), "\\fR");
    absl::StrAppend(&page, positional->get_required() ? " " : " [", placeholder, positional->get_required() ? "" : "]");
  }
  if (!Commands(app).empty()) absl::StrAppend(&page, " \\fICOMMAND\\fR");
  page += "\n";
  if (const Options positionals = ShownOptions(app, false); !positionals.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const CLI::Option* each : positionals) page += OptionPage(*each, each->get_name(true));
  }
  page += ".SH OPTIONS\n";
  std::vector<std::string> groups;
  for (const CLI::Option* each : ShownOptions(app, true)) {
    if (std::find(groups.begin(), groups.end(), each->get_group()) == groups.end()) groups.push_back(each->get_group());
  }
  for (const std::string& group : groups) {
    if (group != "Options") absl::StrAppend(&page, ".SS ", Roff(group), "\n");
    for (const CLI::Option* each : ShownOptions(app, true)) {
      if (each->get_group() == group) page += OptionPage(*each, absl::StrJoin(Spellings(*each), ", "));
    }
  }
  std::vector<std::string> others;
  if (const CLI::App* parent = app.get_parent(); parent != nullptr) others.push_back(FullName(*parent, "-"));
  if (const Apps commands = Commands(app); !commands.empty()) {
    page += ".SH COMMANDS\n";
    for (const CLI::App* each : commands) {
      absl::StrAppend(&page, ".TP\n\\fB", Roff(each->get_name()), "\\fR\n", Roff(each->get_description()), "\n");
      others.push_back(FullName(*each, "-"));
    }
  }
  page += FooterPage(app.get_footer());
  if (others.empty()) return page;
  page += ".SH SEE ALSO\n";
  for (size_t i = 0; i < others.size(); ++i) {
    absl::StrAppend(&page, ".BR ", Roff(others[i]), " (1)", i + 1 < others.size() ? ",\n" : "\n");
  }
  return page;
}

void EachCommand(CLI::App& app, const std::function<void(CLI::App&)>& visit) {
  visit(app);
  for (CLI::App* command : Commands(app)) EachCommand(*command, visit);
}

// A shell function that knows the commands as "plimsoll plan check"; names and values come from the declarations and
// hold nothing that a shell would expand.
std::string BashCompletion(CLI::App& app) {
  std::string commands;
  std::string options;
  std::string values;
  EachCommand(app, [&](CLI::App& each) {
    const std::string name = FullName(each);
    std::vector<std::string> below;
    for (const CLI::App* command : Commands(each)) below.push_back(command->get_name());
    if (!below.empty()) absl::StrAppend(&commands, "    '", name, "') commands='", absl::StrJoin(below, " "), "' ;;\n");
    std::vector<std::string> spellings;
    for (const CLI::Option* option : ShownOptions(each, true)) {
      const std::vector<std::string> more = Spellings(*option);
      spellings.insert(spellings.end(), more.begin(), more.end());
      if (!TakesValue(*option)) continue;
      const std::string patterns = absl::StrJoin(more, "|", [&](std::string* text, const std::string& spelling) {
        absl::StrAppend(text, "'", name, " ", spelling, "'");
      });
      const std::string kind = IsPath(*option)
                                   ? absl::StrCat("kind=", option->get_type_name())
                                   : absl::StrCat("kind=WORD words='", absl::StrJoin(Values(*option), " "), "'");
      absl::StrAppend(&values, "    ", patterns, ") ", kind, " ;;\n");
    }
    absl::StrAppend(&options, "    '", name, "') options='", absl::StrJoin(spellings, " "), "' ;;\n");
  });
  const std::string function = "_" + absl::StrReplaceAll(app.get_name(), {{"-", "_"}});
  return absl::StrCat("# bash completion for ", app.get_name(), ", made from its options.\n", function,
                      "_commands() {\n  commands=\n", "  case \"$1\" in\n", commands, "  esac\n}\n", function, R"(() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
  local command=')",
                      app.get_name(), R"(' commands options= kind= words= word
  )",
                      function, R"(_commands "$command"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == [a-z]* && " $commands " == *" $word "* ]]; then
      command+=" $word"
      )",
                      function, R"(_commands "$command"
    fi
  done
  case "$command" in
)",
                      options, R"(  esac
  case "$command $previous" in
)",
                      values, R"(  esac
  COMPREPLY=()
  case "$kind" in
    FILE) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    DIR) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;
    WORD) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); return ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -n $commands ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F )",
                      function, " ", app.get_name(), "\n");
}

// Text within single quotes, in brackets or before a colon.
std::string Zsh(const std::string& text) {
  return absl::StrReplaceAll(text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string ZshAction(const CLI::Option& option) {
  if (option.get_type_name() == "FILE") return "_files";
  if (option.get_type_name() == "DIR") return "_files -/";
  const std::vector<std::string> values = Values(option);
  return values.empty() ? " " : absl::StrCat("(", absl::StrJoin(values, " "), ")");
}

std::string ZshCompletion(CLI::App& app) {
  std::string functions;
  EachCommand(app, [&](CLI::App& each) {
    const std::string function = "_" + FullName(each, "-");
    absl::StrAppend(&functions, function, "() {\n");
    const Apps commands = Commands(each);
    if (!commands.empty()) {
      functions += "  local -a commands=(\n";
      for (const CLI::App* command : commands) {
        absl::StrAppend(&functions, "    '", command->get_name(), ":", Zsh(command->get_description()), "'\n");
      }
      absl::StrAppend(&functions, "  )\n  if (( CURRENT > 2 )) && (( $+functions[", function, "-$words[2]] )); then\n",
                      "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n    ", function,
                      "-$command\n    return\n  fi\n  _describe command commands\n");
    }
    functions += "  _arguments -s";
    for (const CLI::Option* option : ShownOptions(each, true)) {
      for (const std::string& spelling : Spellings(*option)) {
        absl::StrAppend(
            &functions, " \\\n    '*", spelling, "[", Zsh(option->get_description()), "]",
            TakesValue(*option) ? absl::StrCat(":", Zsh(Placeholder(*option)), ":", ZshAction(*option)) : "", "'");
      }
    }
    if (commands.empty()) functions += " \\\n    '*:file:_files'";
    functions += "\n}\n";
  });
  return absl::StrCat("#compdef ", app.get_name(), "\n", functions, "_", app.get_name(), " \"$@\"\n");
}

absl::Status Write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) return PosixError("mkdir", path.parent_path().string(), error.value());
  std::ofstream file(path);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path.string()));
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

void WrapHelp(CLI::App& app) {
  app.formatter(std::make_shared<WrappingFormatter>());
}

void AddTlsFlags(CLI::App& app, TlsPaths& paths) {
  struct Flag {
    const char* name;
    std::string* path;
    const char* help;
  };
  const Flag flags[] = {
      {"--tls-ca", &paths.ca, "CA certificate to verify the other side with"},
      {"--tls-cert", &paths.cert, "Certificate of this side"},
      {"--tls-key", &paths.key, "Private key of that certificate"},
  };
  for (const Flag& flag : flags) app.add_option(flag.name, *flag.path, flag.help)->type_name("FILE")->group("TLS");
}

absl::Status WriteManual(CLI::App& app, const std::string& directory) {
  const std::filesystem::path place(directory);
  absl::Status status;
  EachCommand(app, [&](CLI::App& each) {
    if (status.ok()) status = Write(place / "man" / "man1" / absl::StrCat(FullName(each, "-"), ".1"), ManPage(each));
  });
  if (status.ok()) status = Write(place / "bash-completion" / "completions" / app.get_name(), BashCompletion(app));
  if (status.ok())
    status = Write(place / "zsh" / "site-functions" / absl::StrCat("_", app.get_name()), ZshCompletion(app));
  return status;
}

}  // namespace plimsoll
