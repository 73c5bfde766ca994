#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/run_command.h"
#include "controller/plan/ha_plan.h"

namespace plimsoll {
namespace {

struct HaFlags {
  std::unique_ptr<PlanFlags> plan;
  std::string plan_file;
  PlanRun how;
  // Without --interval and --histogram.
  ViewFlags view;
  bool allow_commands = false;
  std::vector<std::string> dos;
  std::vector<std::string> undos;
  AccessFlags access;
};

// The plan of file and options, checked, with every default and a seed.
absl::StatusOr<v1::TestPlan> LoadDrill(const HaFlags& flags) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      v1::TestPlan plan, LoadRunPlan(flags.plan_file, RunKind::kHa, [&](v1::TestPlan& read) -> absl::Status {
        const bool is_drill = read.has_ha();
        read.mutable_ha();
        PLIMSOLL_RETURN_IF_ERROR(flags.plan->ApplyTo(read));
        if (!flags.plan_file.empty() && !is_drill && read.ha().pairs().empty()) {
          return absl::InvalidArgumentError(absl::StrCat(
              flags.plan_file,
              " is the plan of a run: run it with `plimsoll run`, or make it a drill with --pairs, such as "
              "--pairs node1+node2"));
        }
        for (const auto& [option, texts] : {std::pair("--do", &flags.dos), std::pair("--undo", &flags.undos)}) {
          for (const std::string& text : *texts) {
            const absl::Status taken = SetCommand(text, texts == &flags.undos, *read.mutable_ha());
            if (taken.ok()) continue;
            return absl::InvalidArgumentError(absl::StrCat(option, ": ", std::string(taken.message())));
          }
        }
        return absl::OkStatus();
      }));
  const auto& faults = plan.ha().faults();
  const bool commands =
      std::ranges::any_of(faults, [](int fault) { return NeedsCommands(static_cast<v1::HaFaultKind>(fault)); });
  if (commands && !flags.allow_commands && !flags.how.dry_run) {
    return absl::InvalidArgumentError(
        "the faults run commands on this machine (--do, --undo, ha.commands): read them (--dry-run shows "
        "them), and pass --allow-commands");
  }
  if (!plan.has_seed()) plan.set_seed(std::random_device()());
  return plan;
}

int HaMain(HaFlags& flags, CommandLine& line) {
  if (const absl::Status status = flags.view.metrics.Open(line); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  absl::StatusOr<v1::TestPlan> plan = LoadDrill(flags);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  const auto& faults = plan->ha().faults();
  const bool reboots = std::ranges::any_of(
      faults, [](int fault) { return fault == v1::HA_FAULT_KIND_REBOOT || fault == v1::HA_FAULT_KIND_POWEROFF; });
  if (const LauncherKind& kind = access->launch.kind(); !kind.survives_reboot && reboots) {
    return PrintError(line,
                      absl::StrCat("--fault reboot and poweroff end an agent that --launch ", kind.name,
                                   " has started, and nothing starts it again: install agents as a service for them"),
                      Exit::kWrong);
  }
  return RunDrill(*plan, flags.view.Applied(flags.how), *access, line, OwnSurroundings());
}

}  // namespace

void AddHaCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<HaFlags>();
  CLI::App* command = app.add_subcommand("ha", "Run takeover drills on HA pairs: lost writes, length of the outage");
  command->add_option("PLAN", flags->plan_file, "Plan in YAML with an `ha` section; options override it");
  flags->plan = std::make_unique<PlanFlags>(*command, RunKind::kHa);
  AddResultsOption(*command, flags->how.out);
  // Each takes one value, so that it does not swallow what follows it.
  const auto add_commands = [command](const char* name, std::vector<std::string>& texts, const char* help) {
    AddValue(*command, name, "FAULT=COMMAND", texts, help)->type_size(1)->expected(1)->take_all();
  };
  add_commands("--do", flags->dos, "Command that causes a fault; {host} is the victim");
  add_commands("--undo", flags->undos, "Command that ends the fault; both run without a shell; quotes group words");
  command->add_flag("--allow-commands", flags->allow_commands, "Run the fault commands on this machine");
  CLI::Option* json = AddJsonFlag(*command, flags->view.json);
  AddSummaryFlag(*command, flags->view.summary)->excludes(json);
  AddFullFlag(*command, flags->view.full)->excludes(json)->excludes("--summary");
  CLI::Option* junit = AddJUnitFlag(*command, flags->view.junit);
  flags->view.metrics.AddTo(*command);
  command->add_flag("--quiet,-q", flags->how.quiet, "Print no progress on standard error");
  AddAccessFlags(*command, flags->access);
  command
      ->add_flag("--dry-run", flags->how.dry_run,
                 "Show pairs, directory, bytes, faults, commands and time; change nothing")
      ->excludes(junit)
      ->excludes("--metrics-file");
  command->footer(
      "Example:\n"
      "  plimsoll ha --pairs node1+node2,node3+node4 --dir /mnt/mqlog --rounds 10 --fault kill,freeze \\\n"
      "    --do 'freeze=virsh suspend {host}' --undo 'freeze=virsh resume {host}' --allow-commands");
  command->callback([flags, &line] { line.action = [flags, &line] { return HaMain(*flags, line); }; });
}

}  // namespace plimsoll
