#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/app/runs.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/run_command.h"
#include "controller/launch/launcher.h"
#include "controller/run/held_program.h"

namespace plimsoll {
namespace {

constexpr char kWatch[] = "watch";
// As the ProbeVue script has it whose lines these are.
constexpr int64_t kLineIntervalNs = 10 * kNsPerSecond;
// A program ends by itself.
constexpr int64_t kProgramNs = 24 * 3600 * kNsPerSecond;

struct WatchFlags {
  std::unique_ptr<PlanFlags> plan;
  std::string plan_file;
  PlanRun how;
  ViewFlags view;
  AccessFlags access;
  // Behind "--": a program and its arguments. `separated`: there was a "--".
  bool separated = false;
  std::vector<std::string> program;
};

// Why the program cannot be watched with these options; empty: it can.
std::string ProgramProblem(const v1::TestPlan& plan, const AgentAccess& access) {
  if (plan.watch().has_pid() || !plan.watch().queue_managers().empty()) {
    return "a program behind -- and --pid or --queue-manager are both given: watch one of them";
  }
  if (!plan.hosts().empty() || &access.launch.kind(/*hosts_named=*/false) != &kChildLauncher) {
    return "a program behind -- is started on this machine: leave out --hosts and --launch, or start it there and give "
           "--pid";
  }
  return "";
}

int WatchMain(WatchFlags& flags, CommandLine& line) {
  if (const absl::Status status = flags.view.Read(); !status.ok()) return PrintError(line, status, Exit::kWrong);
  if (const absl::Status status = flags.view.metrics.Open(line); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (flags.separated && flags.program.empty()) {
    return PrintError(line, "-- is followed by no program; name one with its arguments", Exit::kWrong);
  }
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  std::unique_ptr<HeldProgram> program;
  absl::StatusOr<v1::TestPlan> plan =
      LoadRunPlan(flags.plan_file, RunKind::kWatch, [&](v1::TestPlan& read) -> absl::Status {
        absl::Status applied = flags.plan->ApplyTo(read);
        if (!applied.ok() || flags.program.empty()) return applied;
        if (const std::string why = ProgramProblem(read, *access); !why.empty()) {
          return absl::InvalidArgumentError(why);
        }
        // Before any thread of this process.
        absl::StatusOr<std::unique_ptr<HeldProgram>> started = HeldProgram::Start(flags.program);
        if (!started.ok()) return started.status();
        program = *std::move(started);
        read.mutable_watch()->set_pid(static_cast<uint32_t>(program->pid()));
        if (!read.has_duration_ns()) read.set_duration_ns(kProgramNs);
        return absl::OkStatus();
      });
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  PlanRun how = flags.view.Applied(flags.how);
  if (how.interval_ns == 0) how.interval_ns = kLineIntervalNs;
  how.histogram_rows = flags.view.histogram_rows;
  return RunWatch(*plan, how, *access, line, OwnSurroundings(), program.get());
}

}  // namespace

void AddWatchCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<WatchFlags>();
  CLI::App* command = app.add_subcommand(kWatch, "Watch the log writes and MQ calls of programs that run");
  command->add_option("PLAN", flags->plan_file, "Plan in YAML with a `watch` section; options override it");
  flags->plan = std::make_unique<PlanFlags>(*command, RunKind::kWatch);
  AddResultsOption(*command, flags->how.out);
  CLI::Option* json = AddJsonFlag(*command, flags->view.json);
  command->add_flag("--quiet,-q", flags->how.quiet, "Print no lines on standard error");
  flags->view.AddTo(*command, "on standard error (default: 10s)");
  flags->view.metrics.AddTo(*command);
  json->excludes("--histogram")->excludes("--full")->excludes("--summary");
  AddAccessFlags(*command, flags->access);
  flags->plan->FindHostsBy(flags->access.launch);
  command->add_flag("--dry-run", flags->how.dry_run, "Show what would be watched; attach to nothing")
      ->excludes("--junit")
      ->excludes("--metrics-file");
  command->footer(
      "Behind --, a program with its arguments: it is started on this machine, and watched until it ends.\n"
      "Examples:\n"
      "  plimsoll watch --hosts node[1-2] -m QM1 --duration 60 --profile\n"
      "  plimsoll watch --pid 4711 --calls MQPUT,MQGET,MQCMIT --until-idle\n"
      "  plimsoll watch --calls MQPUT --histogram -- amqsblst QM1 Q1 -W -c 100000");
  line.own_words[kWatch] = [flags](const std::vector<std::string>& words) {
    const auto end = std::ranges::find(words, "--");
    flags->separated = end != words.end();
    if (flags->separated) flags->program.assign(end + 1, words.end());
    return std::vector<std::string>(words.begin(), end);
  };
  command->callback([flags, &line] { line.action = [flags, &line] { return WatchMain(*flags, line); }; });
}

}  // namespace plimsoll
