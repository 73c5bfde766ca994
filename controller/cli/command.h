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
};

// Writes "plimsoll: <message>" as one line and returns the exit code.
int PrintError(CommandLine& line, const std::string& message, Exit exit);

// PrintError with the status' message.
int PrintError(CommandLine& line, const absl::Status& status, Exit exit);

// Breaks the description of an option between words, so that --help stays within 100 columns.
std::string WrapHelp(const std::string& text);

// Parses `args` (without the program's name) and runs the command that they choose. --help and --version print and are
// Exit::kOk; a bad command line prints one line and is Exit::kWrong.
int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line);

}  // namespace plimsoll
