#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/command_line/declarations.h"

namespace plimsoll {
namespace {

bool IsPath(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "DIR";
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

}  // namespace

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

std::string ZshCompletion(CLI::App& app) {
  std::string functions;
  EachCommand(app, [&](CLI::App& each) {
    const std::string function = "_" + FullName(each, "-");
    absl::StrAppend(&functions, function, "() {\n");
    const std::vector<CLI::App*> commands = Commands(each);
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

}  // namespace plimsoll
