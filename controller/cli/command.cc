#include "controller/cli/command.h"

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/command_line.h"
#include "common/posix.h"
#include "common/text.h"
#include "controller/cli/color.h"

namespace plimsoll {
namespace {

// 100 columns less the 30 in which the parser prints an option's names.
constexpr size_t kHelpWidth = 70;
constexpr char kHelp[] = "help";

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

int PrintFailure(CommandLine& line, const Failure& failure) {
  for (const std::string& message : failure.lines) PrintError(line, message, failure.code);
  return static_cast<int>(failure.code);
}

absl::Status LocalDirectoryError(const std::string& dir, std::error_code error) {
  if (error == std::errc::no_such_file_or_directory) {
    return absl::NotFoundError(absl::StrCat("--dir: ", dir, " does not exist"));
  }
  return PosixError("--dir", dir, error.value());
}

std::string WrapHelp(const std::string& text) {
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
    const CLI::App* command = &app;
    for (const std::string& word : words) {
      const auto found = command->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
      if (found.empty()) return PrintError(line, UnknownCommand(*command, word), Exit::kWrong);
      command = found.front();
    }
    words.emplace_back("--help");
  }
  try {
    // The parser takes its arguments from the back.
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    // Help and version are thrown as errors of code 0.
    if (error.get_exit_code() == 0) return app.exit(error, line.out, line.err);
    return PrintError(line, CommandLineError(app, error), Exit::kWrong);
  }
  if (!line.action) return PrintError(line, "no command; see plimsoll --help", Exit::kWrong);
  return line.action();
}

}  // namespace plimsoll
