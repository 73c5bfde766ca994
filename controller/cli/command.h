// How a command of `plimsoll` hooks into the command line: one file a command, each with one AddXCommand function.
//
//   CommandLine line{std::cout, std::cerr, {}};
//   AddPlanCommand(app, line);
//   AddRunCommand(app, line);
//   return ParseAndRun(app, args, line);
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace plimsoll {

// Exit codes of `plimsoll`.
enum ExitCode : int {
  kExitOk = 0,            // ran, and every criterion passed
  kExitFailed = 1,        // a criterion, a drill or a check failed
  kExitBadInput = 2,      // wrong in itself or against what the agents report
  kExitInconclusive = 3,  // a host was lost, the run was interrupted, the measurement was too weak
  kExitCannotRun = 4,     // an agent cannot be reached, is busy, of another version, not trusted
  kExitAborted = 130,     // a second Ctrl-C
};

// What the commands share. Parsing only chooses: a subcommand's callback sets `action`, and ParseAndRun calls it once
// the whole line has been found good.
struct CommandLine {
  // Results.
  std::ostream& out;
  // Progress and errors.
  std::ostream& err;
  // The chosen command; returns its exit code.
  std::function<int()> action;
};

// Writes "plimsoll: <message>" as one line and returns `exit_code`.
int PrintError(CommandLine& line, const std::string& message, int exit_code);

// PrintError with the status' message.
int PrintError(CommandLine& line, const absl::Status& status, int exit_code);

// Breaks the description of an option between words, so that --help stays within 100 columns.
std::string WrapHelp(const std::string& text);

// Parses `args` (without the program's name) and runs the command that they choose. --help and --version print and are
// kExitOk; a bad command line prints one line and is kExitBadInput.
int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line);

}  // namespace plimsoll
