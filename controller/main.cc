// plimsoll: the controller's command line.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "controller/cli/clean_command.h"
#include "controller/cli/command.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/export_command.h"
#include "controller/cli/fsck_command.h"
#include "controller/cli/hosts_command.h"
#include "controller/cli/plan_command.h"
#include "controller/cli/report_command.h"
#include "controller/cli/run_command.h"
#include "controller/cli/storage_command.h"
#include "controller/cli/tls_command.h"
#include "controller/run/descriptor_limit.h"

int main(int argc, char** argv) {
  // A reader that goes away, or a file that may not grow, is an error of that write, not the end of the run.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  plimsoll::RaiseDescriptorLimit();
  CLI::App app("Plimsoll marks the log load that shared storage carries safely.", "plimsoll");
  app.set_version_flag("--version", absl::StrCat("plimsoll ", plimsoll::kVersion));
  plimsoll::CommandLine line{std::cout, std::cerr, {}};
  plimsoll::AddRunCommand(app, line);
  plimsoll::AddHostsCommand(app, line);
  plimsoll::AddReportCommand(app, line);
  plimsoll::AddCompareCommand(app, line);
  plimsoll::AddExportCommand(app, line);
  plimsoll::AddPlanCommand(app, line);
  plimsoll::AddCleanCommand(app, line);
  plimsoll::AddFsckCommand(app, line);
  plimsoll::AddTlsCommand(app, line);
  plimsoll::AddStorageCommand(app, line);
  app.footer(
      "Exit codes: 0 ran and every criterion passed, 1 a criterion failed, 2 wrong input, 3 inconclusive,\n"
      "4 could not run, 130 left after a second Ctrl-C. Each command has --help with an example.");
  return plimsoll::ParseAndRun(app, std::vector<std::string>(argv + 1, argv + argc), line);
}
