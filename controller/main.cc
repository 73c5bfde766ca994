// plimsoll: the controller's command line.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "controller/cli/hosts_command.h"
#include "controller/cli/plan_command.h"
#include "controller/cli/report_command.h"
#include "controller/cli/run_command.h"
#include "controller/run/exit_code.h"

namespace plimsoll {
namespace {

int Main(int argc, char** argv) {
  // A reader that goes away is an error of that write, not the end of the run.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Plimsoll marks the log load that shared storage carries safely.", "plimsoll");
  app.set_version_flag("--version", absl::StrCat("plimsoll ", kVersion));
  app.require_subcommand(1);
  std::function<int()> action;
  AddRunCommand(app, action);
  AddHostsCommand(app, action);
  AddReportCommand(app, action);
  AddPlanCommand(app, action);
  app.footer("Exit codes: 0 ran and every criterion passed, 1 a criterion failed, 2 wrong input, 3 inconclusive,\n"
             "4 could not run, 130 left after a second Ctrl-C. Each command has --help with an example.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "plimsoll: %s (see --help)\n", error.what());
    return static_cast<int>(Exit::kWrong);
  }
  return action();
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) { return plimsoll::Main(argc, argv); }
