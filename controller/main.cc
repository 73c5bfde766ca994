// plimsoll: the controller's command line.
#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "common/protocol.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/run/process.h"

int main(int argc, char** argv) {
  // A reader that goes away, or a file that may not grow, is an error of that write, not the end of the run.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  plimsoll::RaiseDescriptorLimit();
  CLI::App app("Benchmarks shared storage for IBM MQ recovery logs, from many hosts at once.", "plimsoll");
  plimsoll::WrapHelp(app);
  app.set_version_flag("--version", absl::StrCat("plimsoll ", plimsoll::kVersion));
  plimsoll::CommandLine line{{std::cout, std::cerr}};
  plimsoll::AddColorOption(app, line);
  for (const auto add_command : plimsoll::kCommands) add_command(app, line);
  plimsoll::AddHelpCommand(app);
  app.footer(
      "Exit codes: 0 ran and every criterion passed, 1 a criterion failed, 2 invalid input, 3 inconclusive,\n"
      "4 could not run, 130 exited after a second Ctrl-C. Each command has --help with an example.");
  // Not an option for users: how the build makes manual pages and completion.
  if (argc == 3 && std::string(argv[1]) == plimsoll::kManualOption) {
    const absl::Status written = plimsoll::WriteManual(app, argv[2]);
    return written.ok() ? 0 : plimsoll::PrintError(line, written, plimsoll::Exit::kCannotRun);
  }
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string name = std::filesystem::path(argv[0]).filename();
  if (name == "mqldt" || name == "xdisk") arguments.insert(arguments.begin(), name);
  return plimsoll::ParseAndRun(app, arguments, line);
}
