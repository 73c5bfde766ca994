#include "controller/cli/command.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <ostream>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr char kHelp[] = "help";

constexpr char kColorOption[] = "--color";
constexpr char kGreen[] = "\033[32m";
constexpr char kRed[] = "\033[31m";
constexpr char kYellow[] = "\033[33m";
constexpr char kNoColor[] = "\033[0m";

void SetColors(const std::string& when, CommandLine& line) {
  const char* none = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool wanted = (none == nullptr || *none == '\0') && (term == nullptr || std::strcmp(term, "dumb") != 0);
  const auto decide = [&](int fd) { return when == "always" || (when == "auto" && wanted && isatty(fd) != 0); };
  line.color_out = decide(STDOUT_FILENO);
  line.color_err = decide(STDERR_FILENO);
}

// The first verdict of the line that is a word of its own, in its colour.
void PaintFirst(std::string& line) {
  static const std::vector<std::pair<std::string, const char*>> kWords = {
      {"PASS", kGreen}, {"FAIL", kRed}, {"INCONCLUSIVE", kYellow}, {"NOT TESTED", kYellow}, {"DID NOT RUN", kYellow}};
  size_t first = std::string::npos;
  const std::pair<std::string, const char*>* found = nullptr;
  for (const auto& word : kWords) {
    const size_t at = line.find(absl::StrCat(" ", word.first));
    if (at == std::string::npos || at >= first) continue;
    const size_t end = at + 1 + word.first.size();
    if (end < line.size() && std::strchr(" ,:", line[end]) == nullptr) continue;
    first = at;
    found = &word;
  }
  if (found == nullptr) return;
  line.insert(first + 1 + found->first.size(), kNoColor);
  line.insert(first + 1, found->second);
}

constexpr int kRunIdBytes = 3;
constexpr int kRunTokenBytes = 16;

std::string RandomBytes(int count) {
  std::random_device random;
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random() & 0xffU));
  return bytes;
}

}  // namespace

int PrintError(CommandLine& line, const std::string& message, Exit exit) {
  std::string one_line = message;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  line.err << (line.color_err ? "\033[31mplimsoll:\033[0m " : "plimsoll: ") << SanitizeForTerminal(one_line) << '\n';
  return static_cast<int>(exit);
}

int PrintError(CommandLine& line, const absl::Status& status, Exit exit) {
  return PrintError(line, std::string(status.message()), exit);
}

int PrintErrors(CommandLine& line, const absl::Status& status, Exit exit) {
  for (const std::string& message : std::vector<std::string>(absl::StrSplit(std::string(status.message()), '\n'))) {
    PrintError(line, message, exit);
  }
  return static_cast<int>(exit);
}

absl::Status WithOption(const std::string& option, const absl::Status& status) {
  return {status.code(), absl::StrCat("--", option, ": ", std::string(status.message()))};
}

bool WroteOutput(CommandLine& line, const std::string& more) {
  line.out.flush();
  if (line.out) return true;
  // A pipe without a reader is in error; a full disk is not.
  pollfd output{STDOUT_FILENO, 0, 0};
  if (poll(&output, 1, 0) == 1 && (output.revents & (POLLERR | POLLHUP)) != 0) return true;
  if (!line.output_failed) PrintError(line, absl::StrCat("standard output could not be written", more), Exit::kOk);
  line.output_failed = true;
  return false;
}

int PrintFailure(CommandLine& line, const Failure& failure) {
  for (const std::string& message : failure.lines) PrintError(line, message, failure.code);
  return static_cast<int>(failure.code);
}

absl::Status LocalDirectoryError(const std::string& dir, std::error_code error, const std::string& option) {
  if (error == std::errc::no_such_file_or_directory) {
    return absl::NotFoundError(absl::StrCat(option, ": ", dir, " does not exist; create it or pass another ", option));
  }
  return PosixError(option, dir, error.value());
}

absl::StatusOr<std::string> LocalDirectory(const std::string& dir, const std::string& option) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::canonical(dir, error);
  if (error) return LocalDirectoryError(dir, error, option);
  if (!std::filesystem::is_directory(absolute, error)) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", dir, " is not a directory; pass another ", option));
  }
  return absolute.string();
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
  absl::StatusOr<std::vector<std::string>> prepared = PrepareWords(app, std::move(words));
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
  const int code = line.action();
  // Commands that have more to say about a full disk have said it.
  const bool unseen = code == static_cast<int>(Exit::kOk) && !line.output_failed && !WroteOutput(line);
  return unseen ? static_cast<int>(Exit::kWrong) : code;
}

void AddColorOption(CLI::App& app, CommandLine& line) {
  SetColors("auto", line);
  app.add_option_function<std::string>(
         kColorOption, [&line](const std::string& when) { SetColors(when, line); },
         "Colour verdicts, errors and the live table: auto (on a terminal, unless NO_COLOR is set), always or never; "
         "accepted anywhere on the command line")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
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
    // The last word has no value; the parser's error names it.
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

std::string PaintVerdicts(const std::string& report, bool color) {
  if (!color) return report;
  std::string painted;
  bool in_table = false;
  const std::vector<std::string> lines = absl::StrSplit(report, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string line = lines[i];
    if (absl::StartsWith(line, "Criteria") || line == "Requirements" || line == "Parts") {
      in_table = true;
    } else if (line.empty()) {
      in_table = false;
    } else if (in_table || absl::StartsWith(line, "Verdict ")) {
      PaintFirst(line);
    }
    absl::StrAppend(&painted, i > 0 ? "\n" : "", line);
  }
  return painted;
}

std::string NewRunId() {
  return absl::BytesToHexString(RandomBytes(kRunIdBytes));
}

std::string NewRunToken() {
  return RandomBytes(kRunTokenBytes);
}

}  // namespace plimsoll
