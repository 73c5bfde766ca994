#include "controller/cli/run_command.h"

#include <memory>
#include <string>

#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/app/file_checks.h"
#include "controller/app/runs.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/journal/results.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_yaml.h"
#include "controller/render/mqldt.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

struct RunFlags {
  // A run, or a search for the highest load.
  RunKind kind = RunKind::kRun;
  std::unique_ptr<PlanFlags> plan;
  std::string plan_file;
  PlanRun how;
  std::string csv_file;
  ViewFlags view;
  AccessFlags access;
};

void MakeAbsolute(const char* option, const char* key, PlanPlaces& places, std::string& dir) {
  // The check of the plan names the empty one.
  if (dir.empty()) return;
  const absl::StatusOr<std::string> absolute = LocalDirectory(dir, option);
  if (!absolute.ok()) return places.AddProblem(std::string(absolute.status().message()), key);
  dir = *absolute;
}

// Where the agent is on this machine a directory may be named from here.
void MakeDirectoriesAbsolute(v1::LogWorkload& workload, PlanPlaces& places) {
  // Paths stay as they are written: links in them are for the agent to refuse.
  if (UsesPaths(workload)) {
    const absl::Status found = CheckLocalDirectoriesOf(workload);
    if (!found.ok()) places.AddProblem(std::string(found.message()), "workload.files");
    return;
  }
  if (workload.has_dir()) MakeAbsolute("--dir", "workload.dir", places, *workload.mutable_dir());
  for (std::string& dir : *workload.mutable_qm_dirs()) MakeAbsolute("--qm-dirs", "workload.qm_dirs", places, dir);
}

}  // namespace

absl::StatusOr<v1::TestPlan> LoadRunPlan(const std::string& file, RunKind kind,
                                         const std::function<absl::Status(v1::TestPlan&)>& change) {
  v1::TestPlan plan;
  PlanPlaces places;
  if (!file.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(plan, ReadPlanFile(file, &places));
    PLIMSOLL_RETURN_IF_ERROR(CheckPlanKind(plan, kind, file));
  }
  const v1::TestPlan read = plan;
  const bool search = kind == RunKind::kLimit;
  const bool acceptance = kind == RunKind::kAccept;
  const bool drill = kind == RunKind::kHa;
  if (search || acceptance) plan.mutable_limit();
  if (kind == RunKind::kWatch) plan.mutable_watch();
  if (kind == RunKind::kRestart) plan.mutable_restart_time();
  if (acceptance) plan.mutable_accept();
  PLIMSOLL_RETURN_IF_ERROR(change(plan));
  places.ForgetChanged(read, plan);
  // The pairs of a drill name its hosts.
  if (!drill && plan.hosts().empty() && !places.IsUnreadable("hosts")) {
    MakeDirectoriesAbsolute(*plan.mutable_workload(), places);
    if (plan.watch().has_log_dir())
      MakeAbsolute("--log-dir", "watch.log_dir", places, *plan.mutable_watch()->mutable_log_dir());
  }
  FillDefaults(plan);
  PLIMSOLL_RETURN_IF_ERROR(CheckPlan(plan, places));
  return plan;
}

namespace {

// Why mqldt's columns do not fit the plan; empty: they do.
std::string CsvFileProblem(const v1::TestPlan& plan) {
  if (HasPlacement(plan) || plan.has_block_size_mix() || plan.has_group_commit()) {
    return absl::StrCat("mqldt's columns are for one block size a step, which a ",
                        HasPlacement(plan)        ? "placement"
                        : PlaysPattern(plan)      ? "recording"
                        : plan.has_group_commit() ? "run with clients"
                                                  : "mix",
                        " does not have; use report.csv");
  }
  if (plan.has_sweep()) {
    return "mqldt's columns do not show what a list of --rate or --qm gives to a step; leave it out and use "
           "report.csv, or give one value";
  }
  if (plan.read_percent() > 0) {
    return absl::StrCat("mqldt's columns are for writes, and --read-percent ", plan.read_percent(),
                        " reads; use report.csv");
  }
  return "";
}

int RunMain(RunFlags& flags, CommandLine& line, const RunSurroundings& around) {
  if (const absl::Status status = flags.view.Read(); !status.ok()) return PrintError(line, status, Exit::kWrong);
  if (const absl::Status status = flags.view.metrics.Open(line); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  absl::StatusOr<v1::TestPlan> plan =
      LoadRunPlan(flags.plan_file, flags.kind, [&flags](v1::TestPlan& read) { return flags.plan->ApplyTo(read); });
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  if (const std::string problem = CsvFileProblem(*plan); !flags.csv_file.empty() && !problem.empty()) {
    return PrintError(line, absl::StrCat("--csv-file: ", problem), Exit::kWrong);
  }
  PlanRun how = flags.view.Applied(flags.how);
  how.finish = [&flags](const v1::Report& report, const std::string& /*results*/) {
    return flags.csv_file.empty() ? absl::OkStatus() : WriteFile(flags.csv_file, RenderMqldtCsv(report));
  };
  return RunPlan(*plan, how, *access, line, around);
}

// What a run and a search have in common.
void AddFlags(CLI::App* command, const std::shared_ptr<RunFlags>& flags, CommandLine& line,
              const RunSurroundings& around) {
  command->add_option("PLAN", flags->plan_file, "Plan in YAML (see `plimsoll plan example`); options override it");
  flags->plan = std::make_unique<PlanFlags>(*command, flags->kind);
  AddResultsOption(*command, flags->how.out);
  AddOutputFile(*command, "--csv-file,--csvFile", flags->csv_file, "Also write mqldt's CSV columns to this file");
  CLI::Option* json = AddJsonFlag(*command, flags->view.json);
  command->add_flag("--quiet,-q", flags->how.quiet, "Print no progress on standard error");
  flags->view.AddTo(*command, "on standard error instead of the progress");
  flags->view.metrics.AddTo(*command);
  json->excludes("--histogram")->excludes("--full")->excludes("--summary");
  AddAccessFlags(*command, flags->access);
  flags->plan->FindHostsBy(flags->access.launch);
  command->add_flag("--dry-run", flags->how.dry_run, "Show hosts, directories, files and bytes; change nothing")
      ->excludes("--junit")
      ->excludes("--metrics-file");
  command->callback(
      [flags, &line, around] { line.action = [flags, &line, around] { return RunMain(*flags, line, around); }; });
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandLine& line) {
  AddRunCommand(app, line, OwnSurroundings());
}

void AddLimitCommand(CLI::App& app, CommandLine& line) {
  const RunSurroundings around = OwnSurroundings();
  auto flags = std::make_shared<RunFlags>();
  flags->kind = RunKind::kLimit;
  CLI::App* command = app.add_subcommand("limit", "Find the highest load that meets the criteria");
  AddFlags(command, flags, line, around);
  command->footer(
      "Example:\n"
      "  plimsoll limit --hosts node[1-6] --dir /mnt/mqlog --qm 4 --bsize 16k --require 'p99<5ms'");
}

void AddRunCommand(CLI::App& app, CommandLine& line, const RunSurroundings& around) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command = app.add_subcommand("run", "Measure log writes on one host or on many at once");
  AddFlags(command, flags, line, around);
  command->add_flag("--allow-commands", flags->how.allow_commands,
                    "Run the commands of the plan's `disturb` on this machine (docs/disturb.md)");
  command->footer(
      "Examples:\n"
      "  plimsoll run --dir /mnt/mqlog --bsize 4k,64k --duration 30 --qm 2\n"
      "  plimsoll run --hosts node[1-4] --dir /mnt/mqlog --qm 3 --require 'p99<10ms'\n"
      "  plimsoll run --dir /mnt/mqdata --files F... --qm 8 --access random --read-percent 50");
}

}  // namespace plimsoll
