#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/restart_log.h"
#include "controller/cli/run_command.h"
#include "controller/mq/error_log.h"

namespace plimsoll {
namespace {

struct RestartFlags {
  std::unique_ptr<PlanFlags> plan;
  std::string plan_file;
  std::string vary;
  std::vector<std::string> logs;
  PlanRun how;
  ViewFlags view;
  AccessFlags access;
};

// Puts the directories of --vary dir=A,B over the plan's.
absl::Status ApplyVary(const std::string& vary, v1::TestPlan& plan) {
  if (vary.empty()) return absl::OkStatus();
  absl::string_view values = absl::StripPrefix(vary, "--");
  if (!absl::ConsumePrefix(&values, "dir=")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--vary: ", Quoted(vary), " is not dir=A,B: restart-time compares directories"));
  }
  v1::LogWorkload& workload = *plan.mutable_workload();
  workload.clear_dir();
  workload.clear_qm();
  workload.clear_qm_dirs();
  for (const absl::string_view value : absl::StrSplit(values, ',')) {
    const absl::string_view dir = absl::StripAsciiWhitespace(value);
    if (dir.empty())
      return absl::InvalidArgumentError(absl::StrCat("--vary: ", Quoted(vary), " names an empty directory"));
    workload.add_qm_dirs(std::string(dir));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::TestPlan> LoadRestart(const RestartFlags& flags, CommandLine& line) {
  RestartLog log;
  if (!flags.logs.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(log, ReadRestarts(flags.logs));
    for (const std::string& note : log.notes) line.err << "plimsoll: " << SanitizeForTerminal(note) << '\n';
  }
  PLIMSOLL_ASSIGN_OR_RETURN(v1::TestPlan plan,
                            LoadRunPlan(flags.plan_file, RunKind::kRestart, [&](v1::TestPlan& read) -> absl::Status {
                              PLIMSOLL_RETURN_IF_ERROR(flags.plan->ApplyTo(read));
                              PLIMSOLL_RETURN_IF_ERROR(ApplyVary(flags.vary, read));
                              for (const v1::RealRestart& restart : log.restarts)
                                *read.mutable_restart_time()->add_real() = restart;
                              return absl::OkStatus();
                            }));
  if (!plan.has_seed()) plan.set_seed(std::random_device()());
  return plan;
}

int RestartMain(RestartFlags& flags, CommandLine& line) {
  if (const absl::Status status = flags.view.metrics.Open(line); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  const absl::StatusOr<v1::TestPlan> plan = LoadRestart(flags, line);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  const absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  return RunRestart(*plan, flags.view.Applied(flags.how), *access, line, OwnSurroundings());
}

}  // namespace

void AddRestartCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<RestartFlags>();
  CLI::App* command = app.add_subcommand("restart-time", "Measure the storage's share of a queue manager's restart");
  command->add_option("PLAN", flags->plan_file, "Plan in YAML with a `restart_time` section; options override it");
  AddValue(*command, "--vary", "dir=A,B,...", flags->vary, "Directories to compare, in turn")->group("Restart");
  command
      ->add_option("--restart-log", flags->logs,
                   "Error log of a real queue manager (AMQERR01.LOG), shown beside; repeat for several")
      ->type_name("FILE")
      ->type_size(1)
      ->expected(1)
      ->take_all()
      ->group("Restart");
  flags->plan = std::make_unique<PlanFlags>(*command, RunKind::kRestart);
  AddResultsOption(*command, flags->how.out);
  CLI::Option* json = AddJsonFlag(*command, flags->view.json);
  AddSummaryFlag(*command, flags->view.summary)->excludes(json);
  AddFullFlag(*command, flags->view.full)->excludes(json)->excludes("--summary");
  CLI::Option* junit = AddJUnitFlag(*command, flags->view.junit);
  flags->view.metrics.AddTo(*command);
  command->add_flag("--quiet,-q", flags->how.quiet, "Print no progress on standard error");
  AddAccessFlags(*command, flags->access);
  flags->plan->FindHostsBy(flags->access.launch);
  command->add_flag("--dry-run", flags->how.dry_run, "Show directories, bytes and measurements; change nothing")
      ->excludes(junit)
      ->excludes("--metrics-file");
  command->footer(
      "Examples:\n"
      "  plimsoll restart-time --vary dir=/mnt/san,/mnt/nfs1,/mnt/nfs2 --records 500,1k,2k --rounds 5\n"
      "  plimsoll restart-time from-log AMQERR01.LOG AMQERR02.LOG AMQERR03.LOG");
  AddRestartLogCommand(*command, line);
  command->callback([flags, &line, command] {
    if (!command->get_subcommands().empty()) return;
    line.action = [flags, &line] { return RestartMain(*flags, line); };
  });
}

}  // namespace plimsoll
