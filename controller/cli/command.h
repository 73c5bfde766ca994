// How a command of `plimsoll` hooks into the command line: one file a command, each with one AddXCommand function.
//
//   CommandLine line{std::cout, std::cerr, {}};
//   AddPlanCommand(app, line);
//   AddRunCommand(app, line);
//   AddHelpCommand(app);
//   return ParseAndRun(app, args, line);
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/fleet/exit_code.h"

namespace plimsoll {

// What the commands share. Parsing only chooses: a subcommand's callback sets `action`, and ParseAndRun calls it once
// the whole line has been found good.
struct CommandLine {
  // Results.
  std::ostream& out;
  // Progress and errors.
  std::ostream& err;
  // The chosen command; returns its exit code.
  std::function<int()> action;
  // Whether colours go to standard output and standard error.
  bool color_out = false;
  bool color_err = false;
  // Whether WroteOutput has reported a failure.
  bool output_failed = false;
};

// Writes "plimsoll: <message>" as one line and returns the exit code.
int PrintError(CommandLine& line, const std::string& message, Exit exit);

// PrintError with the status' message.
int PrintError(CommandLine& line, const absl::Status& status, Exit exit);

// The same for a status with several lines, such as the problems of a plan: PrintError for each of them.
int PrintErrors(CommandLine& line, const absl::Status& status, Exit exit);

// The status with "--<option>: " before its message.
absl::Status WithOption(const std::string& option, const absl::Status& status);

// Flushes standard output; false where it took not everything, which is reported once, with what `more` adds. A reader
// that went away, such as `| head`, has seen enough: nothing failed then.
bool WroteOutput(CommandLine& line, const std::string& more = "");

// PrintError for each line of a failure; returns its exit code.
int PrintFailure(CommandLine& line, const Failure& failure);

// Why a directory of this machine, given as `option`, cannot be used.
absl::Status LocalDirectoryError(const std::string& dir, std::error_code error, const std::string& option = "--dir");

// The absolute path of a directory of this machine, given as `option`, without links: as an agent, which may run
// elsewhere, sees it. An error where there is no such directory.
absl::StatusOr<std::string> LocalDirectory(const std::string& dir, const std::string& option = "--dir");

// `plimsoll help [command ...]`: what the command's --help prints.
void AddHelpCommand(CLI::App& app);

// Parses `args` (without the program's name) and runs the command that they choose. --help and --version print and are
// Exit::kOk; a bad command line prints one line and is Exit::kWrong.
int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line);

// Adds --color to the program; it may be anywhere on the line (ColorFirst). Sets the line's colours for standard
// output and standard error, which are those of a terminal until it is parsed.
void AddColorOption(CLI::App& app, CommandLine& line);

// The arguments with --color in front, where the program's own options are read.
std::vector<std::string> ColorFirst(const std::vector<std::string>& args);
// How many of them, in that order, are --color and its value.
size_t ColorWords(const std::vector<std::string>& args);

// The report with its verdicts, as words of their own in the verdict's line and the table of criteria, in colour.
std::string PaintVerdicts(const std::string& report, bool color);

// A new run id: six lower-case hexadecimal digits.
std::string NewRunId();

// 16 random bytes, for the stamps and markers of a run.
std::string NewRunToken();

}  // namespace plimsoll
