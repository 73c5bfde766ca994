#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/command_line/command_line.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/judge.h"
#include "controller/cli/asked_agents.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/plan_flags.h"
#include "controller/drill/drill.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/agent_trust.h"
#include "controller/ha/ha_analysis.h"
#include "controller/journal/results.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/run/cleaner.h"
#include "controller/run/preparation.h"
#include "controller/run/process.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

struct HaFlags {
  std::unique_ptr<PlanFlags> plan;
  std::string plan_file;
  std::string out;
  // File of the JUnit XML; empty: none.
  std::string junit;
  // Format of the summary in place of the text; empty: none.
  std::string summary;
  bool json = false;
  bool full = false;
  bool quiet = false;
  bool dry_run = false;
  bool allow_commands = false;
  std::vector<std::string> dos;
  std::vector<std::string> undos;
  AccessFlags access;
};

// The plan of file and options, checked, with every default and a seed.
absl::StatusOr<v1::TestPlan> LoadDrill(const HaFlags& flags) {
  v1::TestPlan plan;
  PlanPlaces places;
  if (!flags.plan_file.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(plan, ReadPlanFile(flags.plan_file, &places));
    PLIMSOLL_RETURN_IF_ERROR(CheckPlanKind(plan, RunKind::kHa, flags.plan_file));
  }
  const v1::TestPlan read = plan;
  plan.mutable_ha();
  PLIMSOLL_RETURN_IF_ERROR(flags.plan->ApplyTo(plan));
  if (!flags.plan_file.empty() && !read.has_ha() && plan.ha().pairs().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.plan_file,
                     " is the plan of a run: run it with `plimsoll run`, or make it a drill with --pairs, such as "
                     "--pairs node1+node2"));
  }
  for (const auto& [option, texts] : {std::pair("--do", &flags.dos), std::pair("--undo", &flags.undos)}) {
    for (const std::string& text : *texts) {
      const absl::Status taken = SetCommand(text, texts == &flags.undos, *plan.mutable_ha());
      if (!taken.ok()) return absl::InvalidArgumentError(absl::StrCat(option, ": ", std::string(taken.message())));
    }
  }
  places.ForgetChanged(read, plan);
  FillDefaults(plan);
  PLIMSOLL_RETURN_IF_ERROR(CheckPlan(plan, places));
  const auto& faults = plan.ha().faults();
  const bool commands = std::any_of(faults.begin(), faults.end(),
                                    [](int fault) { return NeedsCommands(static_cast<v1::HaFaultKind>(fault)); });
  if (commands && !flags.allow_commands && !flags.dry_run) {
    return absl::InvalidArgumentError(
        "the faults run commands on this machine (--do, --undo, ha.commands): read them (--dry-run shows "
        "them), and pass --allow-commands");
  }
  if (!plan.has_seed()) plan.set_seed(std::random_device()());
  return plan;
}

// One drill, in the order in which its parts come into being.
class HaRun {
 public:
  HaRun(const HaFlags& flags, v1::TestPlan plan, AgentAccess access, CommandLine& line)
      : flags_(flags),
        plan_(std::move(plan)),
        access_(std::move(access)),
        line_(line),
        run_id_(NewRunId()),
        interrupts_(events_),
        progress_(stderr, isatty(STDERR_FILENO) != 0, flags.quiet) {}

  int Execute() {
    if (const auto failure = Connect(); failure.has_value()) return Ended(PrintFailure(line_, *failure));
    if (flags_.dry_run) return Ended(DryRun());
    absl::StatusOr<OpenResults> opened = CreateResults(flags_.out, clock_.WallNow(), run_id_, plan_);
    if (!opened.ok()) return Ended(PrintError(line_, opened.status(), Exit::kWrong));
    ResultsDirectory& results = opened->directory;
    for (const std::string& warning : Warnings(fleet_->hosts())) progress_.Warn(warning);
    if (const std::string shared = SharedKernels(); !shared.empty() && !plan_.ha().one_kernel()) {
      progress_.Warn(shared);
    }
    RunLog log(std::move(opened->journal), clock_);
    log.OnJournalLoss([this](const absl::Status& status) {
      progress_.Warn(absl::StrCat("the journal cannot be written any more: ", std::string(status.message()),
                                  "; the drill continues, and the report is made from memory"));
    });
    const std::optional<Failure> failure = RunDrill(log);
    progress_.Clear();
    if (left_) {
      log.FlushFor(kNsPerSecond);
      PrintError(
          line_,
          absl::StrCat("exited at once; the instances end within ", FormatDuration(plan_.lease_ns()),
                       ", and a fault that was caused may not be undone; `plimsoll report ",
                       ShellQuoted(results.path()), "` reports what there is, ", CleanCommands(), " removes the files"),
          Exit::kLeft);
      line_.err.flush();
      _exit(static_cast<int>(Exit::kLeft));
    }
    if (failure.has_value()) {
      results.Discard();
      return PrintFailure(line_, *failure);
    }
    return Report(results, log);
  }

 private:
  std::optional<Failure> Connect() {
    std::vector<AgentPlace> places;
    std::vector<std::vector<std::string>> directories;
    std::vector<v1::LogWorkload> workloads;
    for (int host = 0; host < plan_.hosts_size(); ++host) {
      workloads.push_back(HaFilledWorkload(plan_, static_cast<size_t>(host)));
      directories.push_back({workloads.back().dir()});
      places.push_back({plan_.hosts(host).address(), {{workloads.back().dir()}}});
      if (!plan_.ha().data_dir().empty()) {
        directories.back().push_back(plan_.ha().data_dir());
        places.back().roots.push_back({plan_.ha().data_dir(), "--data-dir"});
      }
    }
    auto launcher = LauncherFor(access_, true, clock_, events_, [this](const std::string& text) {
      if (!flags_.quiet) progress_.Line(text);
    });
    if (!launcher.ok()) return Failure{Exit::kWrong, {std::string(launcher.status().message())}};
    launcher_ = *std::move(launcher);
    const std::vector<HostFailure> not_started = launcher_->Launch(
        places, flags_.dry_run ? std::vector<std::string>{kKeepLeftovers} : std::vector<std::string>{});
    if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was done"}};
    if (!not_started.empty()) return AsFailure(not_started);
    fleet_ = std::make_unique<Fleet>(
        launcher_->Names(), plan_.max_slew_ppm(),
        [this](const std::string& address, AgentListener& listener) {
          return MakeGrpcAgentClient(launcher_->Target(address), clock_, listener, access_.trust);
        },
        clock_, events_);
    for (const auto& host : fleet_->hosts()) {
      host->launch = access_.launch.kind().recorded;
    }
    fleet_->DescribeAll(directories, std::min(plan_.lease_ns(), 10 * kNsPerSecond));
    if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was done"}};
    LabelHosts(fleet_->hosts());
    if (auto failure = CheckHosts(fleet_->hosts(), workloads, {plan_.block_size_bytes(0)}); failure.has_value()) {
      return failure;
    }
    Failure missing{Exit::kWrong, {}};
    for (const auto& host : fleet_->hosts()) {
      for (const v1::DirectoryDescription& directory : host->description->directories()) {
        if (directory.path() == plan_.ha().data_dir() && !directory.error().empty()) {
          missing.lines.push_back(DirectoryInWords(host->label, directory.error(), "--data-dir"));
        }
      }
    }
    if (!missing.lines.empty()) return missing;
    fleet_->FindQueueManagers(10 * kNsPerSecond);
    return std::nullopt;
  }

  std::optional<Failure> RunDrill(RunLog& log) {
    Drill::Options options;
    options.plan = plan_;
    options.fleet = fleet_.get();
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.progress = &progress_;
    const std::unique_ptr<CommandRunner> commands = MakeCommandRunner();
    options.commands = commands.get();
    options.say = [this](const std::string& text) {
      if (!flags_.quiet) progress_.Line(text);
    };
    std::vector<std::string> labels;
    for (const auto& host : fleet_->hosts()) labels.push_back(host->label);
    const std::string token = NewRunToken();
    for (size_t host = 0; host < labels.size(); ++host) {
      options.host_plans.push_back(MakeHaHostPlan(plan_, host, labels, run_id_, token, kFrameIntervalNs));
    }
    Drill drill(std::move(options));
    std::optional<Failure> failure = drill.Run();
    left_ = drill.left();
    if (!left_ && !plan_.keep_files() && !drill.AbsentHosts().empty()) CleanForOthers();
    if (!left_) EndAgents();
    return failure;
  }

  // Those that were started for this drill.
  void EndAgents() {
    if (launcher_ == nullptr) return;
    std::set<std::string> lost;
    if (fleet_ != nullptr) {
      for (const auto& host : fleet_->hosts()) {
        if (host->lost()) lost.insert(host->address);
      }
    }
    for (const std::string& note : launcher_->End(lost)) progress_.Warn(note);
  }

  // Where there was no drill: the exit code, once a host on which something may still run has been named.
  int Ended(int code) {
    EndAgents();
    return code;
  }

  // What removes the drill's files, one command for each directory.
  std::string CleanCommands() const {
    std::vector<std::string> addresses;
    for (const auto& host : fleet_->hosts()) addresses.push_back(host->address);
    std::vector<std::string> commands;
    for (const std::string& dir : {plan_.workload().dir(), plan_.ha().data_dir()}) {
      if (dir.empty()) continue;
      commands.push_back(absl::StrCat("`plimsoll clean --run ", run_id_, " --hosts ",
                                      ShellQuoted(absl::StrJoin(addresses, ",")), access_.launch.OnCommandLine(),
                                      " --dir ", ShellQuoted(dir), " --yes`"));
    }
    return absl::StrJoin(commands, " and ");
  }

  // The files of hosts that are gone are removed by one that is there.
  void CleanForOthers() {
    std::vector<size_t> there;
    for (const auto& host : fleet_->hosts()) {
      if (host->phase == Host::Phase::kGone) there.push_back(host->index);
    }
    for (const size_t host : there) {
      for (const std::string& dir : {plan_.workload().dir(), plan_.ha().data_dir()}) {
        if (dir.empty()) continue;
        for (const CleanAnswer& answer : CleanHosts(*fleet_, {host}, dir, run_id_, absl::StrCat(run_id_, "c"),
                                                    10 * kNsPerSecond, clock_, events_)) {
          for (const v1::CleanedDirectory& cleaned : answer.cleaned) {
            if (!cleaned.left().empty()) progress_.Warn(absl::StrCat(cleaned.path(), " is left: ", cleaned.left()));
          }
        }
      }
    }
    if (there.empty()) {
      progress_.Warn(absl::StrCat("no host is left to remove the files; ", CleanCommands(), " does it later"));
    }
  }

  int Report(ResultsDirectory& results, RunLog& log) {
    const v1::Report report = log.analyzer().Finish();
    absl::Status written = results.Restore();
    written.Update(WriteReportFiles(results, report));
    // Green only where the exit code is.
    if (written.ok() && log.journal_status().ok()) written.Update(WriteJUnit(flags_.junit, report));
    ViewFlags view;
    view.full = flags_.full;
    const std::string text = flags_.json               ? RenderJson(report)
                             : !flags_.summary.empty() ? RenderMarkdown(report, results.path())
                                                       : ReportText(report, view, {results.path()});
    return PrintReport(line_, text, report, results.path(), {log.journal_status(), written});
  }

  // Pairs whose agents have, or may have, one kernel, and what that means; empty: there are none.
  std::string SharedKernels() const {
    std::vector<std::string> shared;
    for (const HaPair& pair : HaPairs(plan_)) {
      const Host& first = fleet_->host(pair.first);
      const Host& second = fleet_->host(pair.second);
      const std::string text =
          OneKernelText({first.label, first.description->boot_id()}, {second.label, second.description->boot_id()});
      if (!text.empty()) shared.push_back(text);
    }
    if (shared.empty()) return "";
    return absl::StrCat(absl::StrJoin(shared, "; "), ": locks between hosts are not tested",
                        plan_.ha().one_kernel() ? "" : "; without --one-kernel the drill does not PASS");
  }

  int DryRun() {
    for (const HaPair& pair : HaPairs(plan_)) {
      line_.out << SanitizeForTerminal(absl::StrCat(fleet_->host(pair.first).label, " + ",
                                                    fleet_->host(pair.second).label, ": qm", pair.first_qm))
                << (pair.qms > 1 ? absl::StrCat(" to qm", pair.first_qm + pair.qms - 1) : "") << "\n";
    }
    for (const std::string& text : DescribeCommands(plan_.ha())) line_.out << SanitizeForTerminal(text) << '\n';
    for (const std::string& text : DescribeDrill(plan_)) line_.out << SanitizeForTerminal(text) << "\n";
    if (const std::string shared = SharedKernels(); !shared.empty()) {
      line_.out << SanitizeForTerminal(shared) << "\n";
    }
    line_.out << plan_.ha().rounds() << " rounds. Nothing was touched." << std::endl;
    return static_cast<int>(Exit::kOk);
  }

  const HaFlags& flags_;
  const v1::TestPlan plan_;
  const AgentAccess access_;
  CommandLine& line_;
  const SystemClock clock_;
  const std::string run_id_;
  EventQueue events_{clock_};
  Interrupts interrupts_;
  Progress progress_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Fleet> fleet_;
  bool left_ = false;
};

int HaMain(const HaFlags& flags, CommandLine& line) {
  if (const absl::Status status = WriteUnfinishedJUnit(flags.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  absl::StatusOr<v1::TestPlan> plan = LoadDrill(flags);
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  const auto& faults = plan->ha().faults();
  const bool reboots = std::any_of(faults.begin(), faults.end(), [](int fault) {
    return fault == v1::HA_FAULT_KIND_REBOOT || fault == v1::HA_FAULT_KIND_POWEROFF;
  });
  if (const LauncherKind& kind = access->launch.kind(); !kind.survives_reboot && reboots) {
    return PrintError(line,
                      absl::StrCat("--fault reboot and poweroff end an agent that --launch ", kind.name,
                                   " has started, and nothing starts it again: install agents as a service for them"),
                      Exit::kWrong);
  }
  return HaRun(flags, *std::move(plan), *std::move(access), line).Execute();
}

}  // namespace

void AddHaCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<HaFlags>();
  CLI::App* command = app.add_subcommand("ha", "Run takeover drills on HA pairs: lost writes, length of the outage");
  command->add_option("PLAN", flags->plan_file, "Plan in YAML with an `ha` section; options override it");
  flags->plan = std::make_unique<PlanFlags>(*command, RunKind::kHa);
  AddResultsOption(*command, flags->out);
  // Each takes one value, so that it does not swallow what follows it.
  const auto add_commands = [command](const char* name, std::vector<std::string>& texts, const char* help) {
    command->add_option(name, texts, help)->type_name("FAULT=COMMAND")->type_size(1)->expected(1)->take_all();
  };
  add_commands("--do", flags->dos, "Command that causes a fault; {host} is the victim");
  add_commands("--undo", flags->undos, "Command that ends the fault; both run without a shell; quotes group words");
  command->add_flag("--allow-commands", flags->allow_commands, "Run the fault commands on this machine");
  CLI::Option* json = command->add_flag("--json", flags->json, "Print the report as JSON instead of text");
  AddSummaryFlag(*command, flags->summary)->excludes(json);
  AddFullFlag(*command, flags->full)->excludes(json)->excludes("--summary");
  CLI::Option* junit = AddJUnitFlag(*command, flags->junit);
  command->add_flag("--quiet,-q", flags->quiet, "Print no progress on standard error");
  AddAccessFlags(*command, flags->access);
  command
      ->add_flag("--dry-run", flags->dry_run, "Show pairs, directory, bytes, faults, commands and time; change nothing")
      ->excludes(junit);
  command->footer(
      "Example:\n"
      "  plimsoll ha --pairs node1+node2,node3+node4 --dir /mnt/mqlog --rounds 10 --fault kill,freeze \\\n"
      "    --do 'freeze=virsh suspend {host}' --undo 'freeze=virsh resume {host}' --allow-commands");
  command->callback([flags, &line] { line.action = [flags, &line] { return HaMain(*flags, line); }; });
}

}  // namespace plimsoll
