#include "controller/cli/run_command.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
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
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/judge.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/plan_flags.h"
#include "controller/fleet/agent_client.h"
#include "controller/journal/results.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_yaml.h"
#include "controller/render/json.h"
#include "controller/render/mqldt.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "controller/report/run_kind.h"
#include "controller/run/coordinator.h"
#include "controller/run/preparation.h"
#include "controller/run/process.h"
#include "controller/run/run_records.h"

namespace plimsoll {
std::string PartEnd::ErrorText() const {
  return errors.empty() ? "nothing was measured" : absl::StrJoin(errors, "; ");
}

bool IsInterruptPending() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
         sigismember(&pending, SIGHUP) == 1;
}

namespace {

struct RunFlags {
  // A run, or a search for the highest load.
  RunKind kind = RunKind::kRun;
  std::unique_ptr<PlanFlags> plan;
  std::string plan_file;
  std::string out;
  std::string csv_file;
  bool json = false;
  bool quiet = false;
  bool repeated = false;
  bool dry_run = false;
  ViewFlags view;
  AccessFlags access;
};

// Where the agent is on this machine a directory may be named from here.
void MakeDirectoriesAbsolute(v1::LogWorkload& workload, PlanPlaces& places) {
  const auto make_absolute = [&places](const char* option, const char* key, std::string& dir) {
    // The check of the plan names the empty one.
    if (dir.empty()) return;
    const absl::StatusOr<std::string> absolute = LocalDirectory(dir, option);
    if (!absolute.ok()) return places.AddProblem(std::string(absolute.status().message()), key);
    dir = *absolute;
  };
  if (workload.has_dir()) make_absolute("--dir", "workload.dir", *workload.mutable_dir());
  for (std::string& dir : *workload.mutable_qm_dirs()) make_absolute("--qm-dirs", "workload.qm_dirs", dir);
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
  if (search || acceptance) plan.mutable_limit();
  if (acceptance) plan.mutable_accept();
  PLIMSOLL_RETURN_IF_ERROR(change(plan));
  places.ForgetChanged(read, plan);
  if (plan.hosts().empty() && !places.IsUnreadable("hosts")) {
    MakeDirectoriesAbsolute(*plan.mutable_workload(), places);
  }
  FillDefaults(plan);
  PLIMSOLL_RETURN_IF_ERROR(CheckPlan(plan, places));
  return plan;
}

namespace {

// What a plan is checked for is what the analysis judges by.
static_assert(kSteadyRounds == kSteadyFigures);

// The plan as it runs: random arrivals need a seed, and the report names the one that was used.
v1::TestPlan WithSeed(v1::TestPlan plan) {
  bool random = false;
  for (int host = 0; host < std::max(1, plan.hosts_size()); ++host) {
    random = random || EffectiveWorkload(plan, host).arrival() == v1::ARRIVAL_POISSON;
  }
  if (random && !plan.has_seed()) plan.set_seed(std::random_device()());
  return plan;
}

// Everything that one run needs, in the order in which it comes into being.
class Run {
 public:
  // `events` gets the interrupts. `how`: of a part of something else; null for `plimsoll run`.
  Run(const RunFlags& flags, v1::TestPlan plan, AgentAccess access, CommandLine& line, const RunSurroundings& around,
      EventQueue& events, const PlanRun* how = nullptr)
      : flags_(flags),
        how_(how),
        request_(how != nullptr && how->finish ? how : nullptr),
        turn_(how != nullptr ? how->turn : nullptr),
        access_(std::move(access)),
        line_(line),
        make_client_(around.make_client),
        clock_(*around.clock),
        plan_(WithSeed(std::move(plan))),
        steps_(ExpandSteps(plan_)),
        run_id_(turn_ != nullptr ? turn_->run_id : NewRunId()),
        events_(events),
        progress_(around.progress, IsScreen(around.progress), flags.quiet) {
    if (around.catches_signals) interrupts_.emplace(events_);
    if (how != nullptr) progress_.ShowWhole(how->whole);
  }

  int Execute() {
    if (auto failure = Connect(); failure.has_value()) return Ended(Fail(*failure));
    if (flags_.dry_run) return Ended(DryRun());
    absl::StatusOr<OpenResults> opened = CreateResults(flags_.out, clock_.WallNow(), run_id_, plan_);
    if (!opened.ok()) return Ended(Fail({Exit::kWrong, {std::string(opened.status().message())}}));
    ResultsDirectory& results = opened->directory;
    if (!flags_.repeated) {
      for (const std::string& warning : Warnings(fleet_->hosts())) progress_.Warn(warning);
      for (const std::string& note : PlanNotes(plan_)) progress_.Warn(note);
      WarnOfSharedResults(results.path());
    }
    RunLog log(std::move(opened->journal), clock_);
    if (request_ != nullptr) {
      log.Watch(request_->watch);
      log.analyzer().SetStepListener(request_->on_step);
    } else if (flags_.view.interval_ns == 0) {
      progress_.ShowTable(line_.color_err);
    } else {
      progress_.LeaveOutRunningLines();
      intervals_ = std::make_unique<IntervalPrinter>(log.analyzer(), flags_.view.interval_ns,
                                                     [this](const std::string& text) { progress_.Line(text); });
      log.Watch([this](const v1::JournalRecord& /*record*/) { intervals_->Print(); });
    }
    log.OnJournalLoss([this](const absl::Status& status) {
      progress_.Warn(absl::StrCat("the journal cannot be written any more: ", std::string(status.message()),
                                  "; measuring continues, and the report is made from memory"));
    });
    std::optional<Failure> failure = Coordinate(log);
    progress_.Clear();
    EndAgents();
    if (left_) {
      log.FlushFor(kNsPerSecond);
      const std::string left =
          absl::StrCat("exited at once; the agents stop and clean up within ", FormatDuration(plan_.lease_ns()),
                       "; `plimsoll report ", ShellQuoted(results.path()), "` reports what there is");
      // The errors of a run that takes turns are shown by who gives them, who does not get to it.
      if (turn_ != nullptr) {
        progress_.Warn(left);
      } else {
        PrintError(line_, left, Exit::kLeft);
      }
      // Streams and threads are not waited for: a second Ctrl-C means exit at once.
      line_.err.flush();
      _exit(static_cast<int>(Exit::kLeft));
    }
    if (failure.has_value()) {
      results.Discard();
      return Fail(*failure);
    }
    return Report(results, log);
  }

 private:
  int Fail(const Failure& failure) {
    if (how_ != nullptr && how_->end != nullptr) how_->end->errors = failure.lines;
    return PrintFailure(line_, failure);
  }

  std::optional<Failure> Connect() {
    std::vector<AgentPlace> places;
    std::vector<std::vector<std::string>> directories;
    for (int i = 0; i < std::max(1, plan_.hosts_size()); ++i) {
      workloads_.push_back(EffectiveWorkload(plan_, i));
      directories.push_back(DirsOf(workloads_.back()));
      places.push_back({plan_.hosts().empty() ? "" : plan_.hosts(i).address(), {}});
      for (const std::string& directory : directories.back()) {
        places.back().roots.push_back({directory, DirectoryOption(workloads_.back())});
      }
    }
    auto launcher = LauncherFor(access_, !plan_.hosts().empty(), clock_, events_, [this](const std::string& text) {
      if (!flags_.quiet) progress_.Line(text);
    });
    if (!launcher.ok()) return Failure{Exit::kWrong, {std::string(launcher.status().message())}};
    launcher_ = *std::move(launcher);
    const std::vector<HostFailure> not_started = launcher_->Launch(
        places, flags_.dry_run ? std::vector<std::string>{kKeepLeftovers} : std::vector<std::string>{});
    if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was measured"}};
    if (!not_started.empty()) return AsFailure(not_started);
    fleet_ = std::make_unique<Fleet>(
        launcher_->Names(), plan_.max_slew_ppm(),
        [this](const std::string& address, AgentListener& listener) {
          return make_client_ ? make_client_(address, listener)
                              : MakeGrpcAgentClient(launcher_->Target(address), clock_, listener, access_.trust,
                                                    turn_ != nullptr ? turn_->beside_key : "");
        },
        clock_, events_);
    for (const auto& host : fleet_->hosts()) {
      host->directories = directories[host->index].size();
      host->launch = access_.launch.kind(!plan_.hosts().empty()).recorded;
    }
    fleet_->DescribeAll(directories, plan_.lease_ns());
    if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was measured"}};
    LabelHosts(fleet_->hosts());
    for (auto& host : fleet_->hosts()) {
      if (turn_ != nullptr && !turn_->beside_id.empty() && host->description.ok() &&
          host->description->holder().run_id() == turn_->beside_id) {
        host->description->clear_holder();
      }
    }
    if (auto failure = CheckHosts(fleet_->hosts(), workloads_, BlockSizesOf(plan_)); failure.has_value())
      return failure;
    if (auto failure = CheckPlanCaps(fleet_->hosts(), plan_, turn_); failure.has_value()) return failure;
    for (size_t i = 0; how_ != nullptr && i < how_->later.size(); ++i) {
      if (auto failure = CheckPlanCaps(fleet_->hosts(), how_->later[i]); failure.has_value()) return failure;
    }
    fleet_->FindQueueManagers(plan_.lease_ns());
    return std::nullopt;
  }

  std::optional<Failure> Coordinate(RunLog& log) {
    Coordinator::Options options;
    options.plan = plan_;
    options.steps = steps_;
    options.fleet = fleet_.get();
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.progress = &progress_;
    if (!ListsSteps(plan_) || plan_.until_steady_ns() > 0)
      options.next_step = [this, &log] { return NextStep(log.analyzer()); };
    if (turn_ != nullptr) {
      options.next_step = turn_->next_step;
      options.turn = [this, &log](uint32_t step) { return turn_->turn(step, log.analyzer()); };
      options.beside_key = turn_->own_key;
    }
    const std::string token = NewRunToken();
    for (const auto& host : fleet_->hosts()) {
      options.host_plans.push_back(
          MakeHostPlan(plan_, static_cast<int>(host->index), host->label, run_id_, token, kFrameIntervalNs));
    }
    Coordinator coordinator(std::move(options));
    std::optional<Failure> failure = coordinator.Run();
    left_ = coordinator.left();
    return failure;
  }

  static std::string RoundsText(const v1::TestPlan& plan) {
    if (plan.until_steady_ns() == 0) return "";
    return absl::StrCat(", in at least ", kSteadyRounds, " and at most ", MostRounds(plan),
                        " rounds until it is steady");
  }

  // Of a search, or of rounds: shows what the step before has shown, and what comes.
  std::optional<v1::LogStep> NextStep(const Analyzer& analyzer) {
    const std::string last = analyzer.LastStepText();
    if (!flags_.quiet && !last.empty()) progress_.Line(SanitizeForTerminal(last));
    if (const auto outlook = analyzer.NextStepOutlook()) progress_.ShowOutlook(outlook->text, outlook->left_ns);
    return analyzer.NextStep();
  }

  int Report(ResultsDirectory& results, RunLog& log) {
    const v1::Report report = log.analyzer().Finish();
    if (intervals_) intervals_->Print();
    if (how_ != nullptr && how_->end != nullptr) how_->end->report = report;
    absl::Status written = results.Restore();
    written.Update(WriteReportFiles(results, report));
    if (!flags_.csv_file.empty()) written.Update(WriteFile(flags_.csv_file, RenderMqldtCsv(report)));
    // Green only where the exit code is.
    if (written.ok() && log.journal_status().ok()) written.Update(WriteJUnit(flags_.view.junit, report));
    if (request_ != nullptr) written.Update(request_->finish(report, results.path()));
    const std::string text =
        request_ != nullptr ? ""
        : flags_.json       ? RenderJson(report)
        : !flags_.view.summary.empty()
            ? RenderMarkdown(report, results.path())
            : ReportText(report, flags_.view, {results.path()},
                         absl::StrSplit(plan_.keep_files() ? KeptFiles() : "", '\n', absl::SkipEmpty()));
    const std::vector<absl::Status> kept = {log.journal_status(), written};
    for (const absl::Status& status : kept) {
      if (status.ok() || how_ == nullptr || how_->end == nullptr) continue;
      how_->end->errors.emplace_back(status.message());
    }
    return PrintReport(line_, text, report, results.path(), kept);
  }

  int DryRun() {
    uint64_t total_bytes = 0;
    std::vector<std::vector<std::string>> rows = {{"host", "directory", "QMs", "files", "bytes"}};
    for (const auto& host : fleet_->hosts()) {
      for (const HostBytes& bytes : BytesOf(workloads_[host->index])) {
        total_bytes += bytes.bytes;
        rows.push_back({SanitizeForTerminal(host->label), SanitizeForTerminal(bytes.directory),
                        absl::StrCat(bytes.writers), FormatCount(bytes.files), FormatSizeForPeople(bytes.bytes)});
      }
    }
    for (const std::string& text : AlignColumns(rows, "llrrr")) line_.out << text << '\n';
    line_.out << "Each run makes and removes plimsoll-<run id>/<host>/qm<N>/active/ below these directories.\n"
              << FormatSizeForPeople(total_bytes) << " would be written to prepare; ";
    if (!ListsSteps(plan_)) {
      line_.out << "a search of at most " << FormatDuration(WritingTimeOf(plan_).ns) << ". Nothing was touched."
                << std::endl;
      return static_cast<int>(Exit::kOk);
    }
    line_.out << steps_.size() << (steps_.size() == 1 ? " step of " : " steps of ")
              << FormatDuration(plan_.duration_ns())
              << (plan_.warmup_ns() > 0 ? absl::StrCat(" after ", FormatDuration(plan_.warmup_ns()), " of warm-up")
                                        : "")
              << RoundsText(plan_) << ". Nothing was touched." << std::endl;
    if (HasPlacement(plan_)) {
      for (const std::string& text : DescribePlacement(plan_)) line_.out << SanitizeForTerminal(text) << '\n';
    }
    return static_cast<int>(Exit::kOk);
  }

  // With --keep-files: where they are, and the command that removes them.
  std::string KeptFiles() const {
    std::map<std::string, std::vector<std::string>> hosts;
    for (const auto& host : fleet_->hosts()) {
      for (const std::string& dir : DirsOf(workloads_[host->index])) hosts[dir].push_back(host->address);
    }
    std::string text;
    for (const auto& [dir, addresses] : hosts) {
      const std::string list =
          plan_.hosts().empty()
              ? ""
              : absl::StrCat(" --hosts ", ShellQuoted(absl::StrJoin(addresses, ",")), access_.launch.OnCommandLine());
      absl::StrAppend(
          &text, SanitizeForTerminal(absl::StrCat("Files kept in ", dir == "/" ? "" : dir, "/plimsoll-", run_id_, "/")),
          "\n",
          SanitizeForTerminal(absl::StrCat("Remove them with: plimsoll clean", list, " --dir ", ShellQuoted(dir),
                                           " --run ", run_id_, " --yes")),
          "\n");
    }
    return text;
  }

  // Those that were started for this run; one whose host was lost may hang for as long as its storage does.
  void EndAgents() {
    if (left_ || launcher_ == nullptr) return;
    std::set<std::string> lost;
    if (fleet_ != nullptr) {
      for (const auto& host : fleet_->hosts()) {
        if (host->lost()) lost.insert(host->address);
      }
    }
    for (const std::string& note : launcher_->End(lost)) progress_.Warn(note);
  }

  // Where nothing was measured: the exit code, once a host on which something may still run has been named.
  int Ended(int code) {
    EndAgents();
    return code;
  }

  // A child agent writes on this machine: the journal on the same file system would be measured too.
  void WarnOfSharedResults(const std::string& results) {
    struct stat ours{};
    struct stat theirs{};
    for (const v1::LogWorkload& workload : workloads_) {
      for (const std::string& dir : DirsOf(workload)) {
        if (stat(results.c_str(), &ours) == 0 && stat(dir.c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev) {
          progress_.Warn(absl::StrCat("the results (", results, ") are on the file system under test (", dir,
                                      "); put them elsewhere with --out"));
          return;
        }
      }
    }
  }

  const RunFlags& flags_;
  const PlanRun* const how_;
  // Of a command that shows the run in its own way; else null.
  const PlanRun* const request_;
  // Null: it takes no turns.
  const RunInTurn* const turn_;
  const AgentAccess access_;
  CommandLine& line_;
  const AgentClientFactory make_client_;
  const Clock& clock_;
  const v1::TestPlan plan_;
  const std::vector<v1::LogStep> steps_;
  const std::string run_id_;
  EventQueue& events_;
  std::optional<Interrupts> interrupts_;
  Progress progress_;
  std::unique_ptr<IntervalPrinter> intervals_;
  std::vector<v1::LogWorkload> workloads_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Fleet> fleet_;
  bool left_ = false;
};

int RunMain(RunFlags& flags, CommandLine& line, const RunSurroundings& around) {
  if (const absl::Status status = flags.view.Read(); !status.ok()) return PrintError(line, status, Exit::kWrong);
  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  absl::StatusOr<v1::TestPlan> plan =
      LoadRunPlan(flags.plan_file, flags.kind, [&flags](v1::TestPlan& read) { return flags.plan->ApplyTo(read); });
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  if (!flags.csv_file.empty() && HasPlacement(*plan)) {
    return PrintError(line,
                      "--csv-file: mqldt's columns are for one block size a step, which a placement does not have",
                      Exit::kWrong);
  }
  EventQueue events(*around.clock);
  return Run(flags, *std::move(plan), *std::move(access), line, around, events).Execute();
}

// Makes each step as long as so many of it.
void Repeat(uint32_t times, std::vector<v1::LogStep>& steps) {
  for (v1::LogStep& step : steps) {
    step.set_duration_ns(step.duration_ns() * times);
    step.set_warmup_ns(step.warmup_ns() * times);
  }
}

}  // namespace

std::optional<Failure> CheckPlanCaps(const std::vector<std::unique_ptr<Host>>& hosts, const v1::TestPlan& plan,
                                     const RunInTurn* turn) {
  std::vector<v1::LogWorkload> workloads;
  workloads.reserve(hosts.size());
  for (size_t i = 0; i < hosts.size(); ++i) workloads.push_back(EffectiveWorkload(plan, static_cast<int>(i)));
  std::vector<v1::LogStep> steps = ExpandSteps(plan);
  TimeInWords time;
  if (!ListsSteps(plan)) {
    const int64_t budget_ns = WritingTimeOf(plan).ns;
    steps.resize(1);
    steps.front().set_duration_ns(budget_ns);
    time = {absl::StrCat("has a search that takes at most ", FormatDuration(budget_ns)), "--budget"};
  } else if (plan.until_steady_ns() > 0) {
    Repeat(MostRounds(plan), steps);
    time = {absl::StrCat("has rounds that take at most ", FormatDuration(TotalStepNs({steps.begin(), steps.end()})),
                         " with warm-up"),
            "--until-steady or --warmup"};
  } else if (turn != nullptr) {
    Repeat(turn->turns, steps);
    steps.front().set_duration_ns(steps.front().duration_ns() + turn->others_ns);
    time = {absl::StrCat("has rounds that take at most ", FormatDuration(TotalStepNs({steps.begin(), steps.end()})),
                         " with warm-up, both sides together"),
            "--rounds, the time of a step or --warmup"};
  }
  return CheckCaps(hosts, workloads, steps, time);
}

int RunPlan(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, CommandLine& line,
            const RunSurroundings& around) {
  RunFlags flags;
  flags.out = how.out;
  flags.quiet = how.quiet;
  flags.repeated = how.repeated;
  flags.dry_run = how.dry_run;
  EventQueue own(*around.clock);
  EventQueue& events = how.turn != nullptr ? *how.turn->events : own;
  const int code = Run(flags, plan, access, line, around, events, &how).Execute();
  // The run and its agents have ended: an interrupt that came too late to cut anything short counts, too.
  if (how.end != nullptr) how.end->interrupted = events.interrupts() > 0;
  return code;
}

RunSurroundings OwnSurroundings() {
  static const SystemClock clock;
  RunSurroundings around;
  around.clock = &clock;
  around.progress = stderr;
  return around;
}

void AddRunCommand(CLI::App& app, CommandLine& line) {
  AddRunCommand(app, line, OwnSurroundings());
}

namespace {

// What a run and a search have in common.
void AddFlags(CLI::App* command, const std::shared_ptr<RunFlags>& flags, CommandLine& line,
              const RunSurroundings& around) {
  command->add_option("PLAN", flags->plan_file, "Plan in YAML (see `plimsoll plan example`); options override it");
  flags->plan = std::make_unique<PlanFlags>(*command, flags->kind);
  AddResultsOption(*command, flags->out);
  AddOutputFile(*command, "--csv-file,--csvFile", flags->csv_file, "Also write mqldt's CSV columns to this file");
  CLI::Option* json = command->add_flag("--json", flags->json, "Print the report as JSON instead of text");
  command->add_flag("--quiet,-q", flags->quiet, "Print no progress on standard error");
  flags->view.AddTo(*command, "on standard error instead of the progress");
  json->excludes("--histogram")->excludes("--full")->excludes("--summary");
  AddAccessFlags(*command, flags->access);
  command->add_flag("--dry-run", flags->dry_run, "Show hosts, directories, files and bytes; change nothing")
      ->excludes("--junit");
  command->callback(
      [flags, &line, around] { line.action = [flags, &line, around] { return RunMain(*flags, line, around); }; });
}

}  // namespace

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
  command->footer(
      "Examples:\n"
      "  plimsoll run --dir /mnt/mqlog --bsize 4k,64k --duration 30 --qm 2\n"
      "  plimsoll run --hosts node[1-4] --dir /mnt/mqlog --qm 3 --require 'p99<10ms'");
}

}  // namespace plimsoll
