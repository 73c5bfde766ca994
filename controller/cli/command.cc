#include "controller/cli/command.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/command_line.h"
#include "common/text.h"
#include "controller/cli/clusters.h"

namespace plimsoll {
namespace {

constexpr char kHelp[] = "help";

constexpr char kColorOption[] = "--color";

void SetColors(const std::string& when, CommandLine& line) {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted = (none == nullptr || *none == '\0') && (term == nullptr || std::strcmp(term, "dumb") != 0);
  const auto decide = [&](int fd) { return when == "always" || (when == "auto" && wanted && isatty(fd) != 0); };
  line.color_out = decide(STDOUT_FILENO);
  line.color_err = decide(STDERR_FILENO);
}

}  // namespace

absl::Status WithOption(const std::string& option, const absl::Status& status) {
  return {status.code(), absl::StrCat("--", option, ": ", std::string(status.message()))};
}

void AddHelpCommand(CLI::App& app) {
  // ParseAndRun takes it before the parser, which would take the command's name for the command.
  app.add_subcommand(kHelp, "Show the help of a command")->footer("Example:\n  plimsoll help run");
}

int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line) {
  line.action = nullptr;
  // "help plan check" is "plan check --help".
  std::vector<std::string> words = ColorFirst(args);
  if (const size_t first = ColorWords(words); first < words.size() && words[first] == kHelp) {
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first) + 1);
    // "help --help" is the program's help, and "help run --help" that of the command.
    std::erase_if(words, [](const std::string& word) { return word == "--help" || word == "-h"; });
    const CLI::App* command = &app;
    for (const std::string& word : words) {
      const auto found = command->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
      if (found.empty()) return PrintError(line, UnknownCommand(*command, word), Exit::kWrong);
      command = found.front();
    }
    words.emplace_back("--help");
  }
  if (const size_t name = ColorWords(words); name < words.size() && line.own_words.contains(words[name])) {
    const auto behind = words.begin() + static_cast<std::ptrdiff_t>(name) + 1;
    const std::vector<std::string> others = line.own_words.at(words[name])({behind, words.end()});
    words.erase(behind, words.end());
    words.insert(words.end(), others.begin(), others.end());
  }
  absl::StatusOr<std::vector<std::string>> prepared = PrepareWords(app, std::move(words));
  std::string cluster_note;
  if (prepared.ok()) prepared = WithCluster(app, *std::move(prepared), cluster_note);
  if (!prepared.ok()) return PrintError(line, prepared.status(), Exit::kWrong);
  try {
    // The parser takes its arguments from the back.
    app.parse(std::vector<std::string>(prepared->rbegin(), prepared->rend()));
  } catch (const CLI::ParseError& error) {
    // Help and version are thrown as errors of code 0.
    if (error.get_exit_code() == 0) {
      app.exit(error, line.out, line.err);
      return WroteOutput(line) ? static_cast<int>(Exit::kOk) : static_cast<int>(Exit::kWrong);
    }
    return PrintError(line, CommandLineError(app, error), Exit::kWrong);
  }
  if (!line.action) return PrintError(line, absl::StrCat("no command; see ", HelpCommand(app)), Exit::kWrong);
  if (!cluster_note.empty()) line.err << "plimsoll: " << SanitizeForTerminal(cluster_note) << std::endl;
  const int code = line.action();
  // Commands that have more to say about a full disk have said it.
  const bool unseen = code == static_cast<int>(Exit::kOk) && !line.output_failed && !WroteOutput(line);
  return unseen ? static_cast<int>(Exit::kWrong) : code;
}

void AddAgentList(CLI::App& app, AgentList& list, const std::string& help, const std::string& names) {
  AddValue(app, names, "LIST", list.hosts, help);
  AddValue(app, "--hosts-file", "FILE", list.hosts_file, "File with agents, one or more per line, # for comments");
}

void AddAccessFlags(CLI::App& app, AccessFlags& flags, bool only_asks) {
  AddClusterFlags(app);
  if (!only_asks) {
    // A flag, so that no argument is taken for its value.
    app.add_flag("--wait{10m}", flags.wait, "Wait for agents that are busy with another run, for this long at most")
        ->group("Agents");
  }
  AddTlsFlags(app, flags.tls);
  std::vector<std::string> names;
  std::vector<std::string> helps;
  for (const LauncherKind* kind : kLaunchers) {
    names.emplace_back(kind->name);
    helps.emplace_back(kind->help);
  }
  helps.emplace_back(kCommandLauncher.help);
  AddValue(app, "--launch", "HOW", flags.launch.how, "How agents are started: " + absl::StrJoin(helps, ", or "))
      ->group("Agents")
      ->capture_default_str()
      ->check(CLI::Validator(
          [names](const std::string& how) {
            if (FindLauncher(how) != nullptr) return std::string();
            return absl::StrCat(OneOf(names)(how), "; a command has ", kHostInCommand, " in it");
          },
          OneOf(names).get_description()));
  for (const LauncherKind* kind : kLaunchers) {
    for (const LaunchOption& option : kind->options) {
      const auto [value, is_new] = flags.launch.values.emplace(option.name, option.preset);
      if (!is_new) continue;
      std::string& text = value->second;
      CLI::Option* added = option.type == nullptr
                               ? app.add_flag_callback(
                                     option.name, [&text] { text = "true"; }, option.help)
                               : app.add_option(option.name, text, option.help)->type_name(option.type);
      added->group("Agents");
      // Its values are joined by line ends.
      if (option.repeated) added->multi_option_policy(CLI::MultiOptionPolicy::Join)->type_size(1);
      if (!text.empty()) added->capture_default_str();
    }
  }
}

void AddColorOption(CLI::App& app, CommandLine& line) {
  SetColors("auto", line);
  app.add_option_function<std::string>(
         kColorOption, [&line](const std::string& when) { SetColors(when, line); },
         "Colour verdicts, errors and the live table: auto (on a terminal, unless NO_COLOR is set), always or never; "
         "accepted anywhere on the command line")
      ->type_name("WHEN")
      ->check(OneOf({"auto", "always", "never"}));
}

std::vector<std::string> ColorFirst(const std::vector<std::string>& args) {
  std::vector<std::string> first;
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "--") {
      rest.insert(rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i), args.end());
      break;
    }
    const bool alone = args[i] == kColorOption;
    if (!alone && !absl::StartsWith(args[i], absl::StrCat(kColorOption, "="))) {
      rest.push_back(args[i]);
      continue;
    }
    // The last word has no value; PrepareWords reports it.
    if (alone && i + 1 == args.size()) {
      rest.push_back(args[i]);
      break;
    }
    first.push_back(args[i]);
    if (alone) first.push_back(args[++i]);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

size_t ColorWords(const std::vector<std::string>& args) {
  size_t words = 0;
  while (words < args.size() && absl::StartsWith(args[words], kColorOption))
    words += args[words] == kColorOption ? 2U : 1U;
  return words;
}

}  // namespace plimsoll
