// How a command of `plimsoll` hooks into the command line: one file a command, each with one AddXCommand function.
//
//   CommandLine line{std::cout, std::cerr, {}};
//   AddPlanCommand(app, line);
//   AddRunCommand(app, line);
//   AddHelpCommand(app);
//   return ParseAndRun(app, args, line);
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "controller/run/exit_code.h"

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
};

// Writes "plimsoll: <message>" as one line and returns the exit code.
int PrintError(CommandLine& line, const std::string& message, Exit exit);

// PrintError with the status' message.
int PrintError(CommandLine& line, const absl::Status& status, Exit exit);

// The same for a status with several lines, such as the problems of a plan: PrintError for each of them.
int PrintErrors(CommandLine& line, const absl::Status& status, Exit exit);

// PrintError for each line of a failure; returns its exit code.
int PrintFailure(CommandLine& line, const Failure& failure);

// Why a directory of this machine, given with --dir, cannot be used.
absl::Status LocalDirectoryError(const std::string& dir, std::error_code error);

// Breaks the description of an option between words, so that --help stays within 100 columns.
std::string WrapHelp(const std::string& text);

// `plimsoll help [command ...]`: what the command's --help prints.
void AddHelpCommand(CLI::App& app);

// Parses `args` (without the program's name) and runs the command that they choose. --help and --version print and are
// Exit::kOk; a bad command line prints one line and is Exit::kWrong.
int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line);

}  // namespace plimsoll
