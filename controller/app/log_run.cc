#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/whole_run.h"
#include "controller/app/file_checks.h"
#include "controller/app/planned_run.h"
#include "controller/app/protection.h"
#include "controller/app/recording.h"
#include "controller/app/run_length.h"
#include "controller/live/views.h"
#include "controller/plan/disturb_plan.h"
#include "controller/plan/placement.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/sweep.h"
#include "controller/render/plain_text.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/run/disturber.h"
#include "controller/run/fold_choice.h"
#include "controller/run/journal_size.h"
#include "controller/run/preparation.h"
#include "controller/run/process.h"
#include "controller/run/run_guard.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

// What a plan is checked for is what the analysis judges by.
static_assert(kSteadyRounds == kSteadyFigures);

// The plan as it runs: random arrivals, sizes and accesses need a seed, and the report names the one that was used.
v1::TestPlan WithSeed(v1::TestPlan plan) {
  const bool arrivals = std::ranges::any_of(
      EffectiveWorkloads(plan), [](const auto& workload) { return workload.arrival() == v1::ARRIVAL_POISSON; });
  const bool operations = plan.access() == v1::ACCESS_RANDOM || ReadsAndWrites(plan.read_percent());
  const bool clients = plan.has_group_commit() && !PlaysPattern(plan);
  if ((arrivals || operations || plan.has_block_size_mix() || clients) && !plan.has_seed())
    plan.set_seed(std::random_device()());
  return plan;
}

class LogRun final : public PlannedRun {
 public:
  // `recording`: the file that the plan plays, which outlives the object; null: none.
  LogRun(v1::TestPlan plan, const PlanRun& how, const AgentAccess& access, Console& console,
         const RunSurroundings& around, EventQueue& events, const PatternFile* recording)
      : PlannedRun(WithSeed(std::move(plan)), how, access, console, around, events,
                   {"nothing was measured", "measuring continues", IsScreen(around.progress), /*table=*/true},
                   how.beside.run_id.empty() ? NewRunId() : how.beside.run_id, how.beside.beside_key),
        steps_(ExpandSteps(plan_)),
        workloads_(EffectiveWorkloads(plan_)),
        fold_(around.fold),
        recording_(recording) {}

  // What its disturbances did and nothing has undone, a line each.
  const std::vector<std::string>& not_undone() const { return not_undone_; }

 private:
  std::vector<AgentPlace> Places() const override { return LogPlaces(plan_); }

  // Whether the run starts its agent on this machine.
  bool StartsChild() const {
    return plan_.hosts().empty() && &access_.launch.kind(/*hosts_named=*/false) == &kChildLauncher;
  }

  std::vector<std::string> AgentOptions() const override {
    return UsesPaths(plan_.workload()) && StartsChild() ? PermissionsOfFiles(plan_) : std::vector<std::string>{};
  }

  std::vector<std::vector<std::string>> Directories(const std::vector<AgentPlace>& /*places*/) const override {
    std::vector<std::vector<std::string>> directories;
    for (const v1::LogWorkload& workload : workloads_) directories.push_back(DirsOf(workload));
    return directories;
  }

  std::vector<std::vector<std::string>> Files() const override {
    std::vector<std::vector<std::string>> files;
    if (!UsesPaths(plan_.workload())) return files;
    for (const v1::LogWorkload& workload : workloads_) files.push_back(UsedFiles(workload));
    return files;
  }

  std::optional<Failure> Check() override {
    if (auto failure = SetGuard()) return failure;
    files_.resize(workloads_.size());
    for (const auto& host : fleet().hosts()) {
      if (host->description.ok()) {
        auto& described = *host->description->mutable_files();
        files_[host->index].assign(described.begin(), described.end());
        // Nothing is measured in the directory of devices.
        if (!described.empty() && std::ranges::all_of(described, &v1::FileDescription::block_device)) {
          for (v1::DirectoryDescription& directory : *host->description->mutable_directories()) {
            directory.clear_caveat();
            directory.clear_fs_type();
            directory.clear_fs_source();
          }
        }
      }
      host->directories = DirsOf(workloads_[host->index]).size();
      if (!how_.beside.beside_id.empty() && host->description.ok() &&
          host->description->holder().run_id() == how_.beside.beside_id) {
        host->description->clear_holder();
      }
    }
    // The problem of a file is reported before those of its directory, which follow from it.
    const bool all_described =
        std::ranges::all_of(fleet().hosts(), [](const auto& host) { return host->description.ok(); });
    auto of_files = all_described ? CheckFiles(plan_, fleet().hosts(), files_, StartsChild()) : std::nullopt;
    if (of_files) return of_files;
    if (auto failure = CheckHosts(fleet().hosts(), workloads_, BlockSizesOf(plan_))) return failure;
    // The journal has the files in the plan.
    for (const auto& host : fleet().hosts()) host->description->clear_files();
    if (auto failure = CheckPlanCaps(fleet().hosts(), plan_, how_.turn)) return failure;
    for (const v1::TestPlan& later : how_.later) {
      if (auto failure = CheckPlanCaps(fleet().hosts(), later)) return failure;
    }
    fleet().FindQueueManagers(plan_.lease_ns());
    return std::nullopt;
  }

  std::vector<std::string> Notes(const std::string& results) const override {
    std::vector<std::string> notes = PlanNotes(plan_);
    if (guard_ != nullptr && guard_->end().has_value()) {
      notes.push_back(absl::StrCat("the run ends, and its files are removed, by ", guard_->end()->text));
    }
    if (how_.protection != nullptr) notes.push_back(how_.protection->BaselineText());
    if (recording_ != nullptr) {
      for (std::string& note : RecordingNotes(recording_->header(), plan_, workloads_))
        notes.push_back(std::move(note));
    }
    if (std::string shared = SharedResults(results); !shared.empty()) notes.push_back(std::move(shared));
    if (std::string shared = SharedCommand(); !shared.empty()) notes.push_back(std::move(shared));
    return notes;
  }

  std::optional<Failure> Course(RunLog& log) override {
    Coordinator::Options options;
    options.plan = plan_;
    options.controller = Controller();
    options.steps = steps_;
    options.fleet = &fleet();
    options.events = &events_;
    options.clock = &clock_;
    options.log = &log;
    options.feed = &feed_;
    options.guard = guard_.get();
    options.fold = fold_;
    if (guard_ != nullptr && plan_.has_journal_limit_bytes()) {
      guard_->Ask([&log, limit_bytes = plan_.journal_limit_bytes()](MonotonicNs /*now*/) {
        return OverJournalLimit(log.journal_bytes(), limit_bytes);
      });
    }
    const std::unique_ptr<CommandRunner> commands = MakeCommandRunner();
    std::optional<Disturber> disturber;
    if (!plan_.disturb().empty()) {
      options.disturber = &disturber.emplace(Disturber::Options{plan_, commands.get(), &clock_, &log, &feed_,
                                                                [this](const std::string& text) { Say(text); }});
    }
    if (!ListsSteps(plan_) || plan_.until_steady_ns() > 0)
      options.next_step = [this, &log] { return NextStep(log.analyzer()); };
    if (how_.turn != nullptr) {
      options.next_step = how_.turn->next_step;
      options.turn = [this, &log](uint32_t step) { return how_.turn->turn(step, log.analyzer()); };
    }
    options.beside_key = how_.beside.own_key;
    const std::string token = NewRunToken();
    for (const auto& host : fleet().hosts()) {
      options.host_plans.push_back(
          MakeHostPlan(plan_, static_cast<int>(host->index), host->label, run_id_, token, kFrameIntervalNs));
    }
    if (recording_ != nullptr) GiveRecording(options);
    Coordinator coordinator(std::move(options));
    std::optional<Failure> failure = coordinator.Run();
    left_ = coordinator.left();
    if (disturber.has_value()) not_undone_ = disturber->not_undone();
    if (guard_ != nullptr && how_.end != nullptr) how_.end->guarded = guard_->MustStop(clock_.Now());
    return failure;
  }

  // What guards the run, unless it cannot end in time.
  std::optional<Failure> SetGuard() {
    absl::StatusOr<std::shared_ptr<RunGuard>> guard = RunGuard::Make(plan_, clock_);
    if (!guard.ok()) return Failure{Exit::kWrong, {std::string(guard.status().message())}};
    guard_ = *std::move(guard);
    if (how_.protection != nullptr) guard_ = WithProtection(guard_, *how_.protection);
    if (guard_ == nullptr) return std::nullopt;
    int64_t length_ns = RunLengthNs(plan_);
    if (how_.turn != nullptr) length_ns += WritingTimeOf(plan_).ns * (how_.turn->turns - 1) + how_.turn->others_ns;
    if (std::string why = guard_->MayNotBegin(length_ns, clock_.Now()); !why.empty()) {
      return Failure{Exit::kWrong, {absl::StrCat(why, ": use a later time, or shorter or fewer steps")}};
    }
    feed_.Add(guard_);
    return std::nullopt;
  }

  // Each host's writers play their streams of the recording.
  void GiveRecording(Coordinator::Options& options) const {
    const std::vector<HostRecording> hosts = ShareRecording(recording_->header(), workloads_);
    for (size_t host = 0; host < hosts.size(); ++host) {
      *options.host_plans[host].mutable_log()->mutable_pattern() = hosts[host].parts;
      options.pattern.streams.push_back(hosts[host].streams);
    }
    options.pattern.read = [this](const std::set<uint32_t>& streams, const PatternSource::Take& take) {
      return recording_->Read(streams, take);
    };
    options.notes = RecordingNotes(recording_->header(), plan_, workloads_);
  }

  std::string LeftText(const std::string& results) const override {
    return absl::StrCat(absl::StrJoin(not_undone_, "; "), not_undone_.empty() ? "" : "; ",
                        "the agents stop and clean up within ", FormatDuration(plan_.lease_ns()), "; `plimsoll report ",
                        ShellQuoted(results), "` reports what there is");
  }

  static std::string RoundsText(const v1::TestPlan& plan) {
    if (plan.until_steady_ns() == 0) return "";
    return absl::StrCat(", in at least ", kSteadyRounds, " and at most ", MostRounds(plan),
                        " rounds until it is steady");
  }

  // Shows, in a search or in rounds, what the step before has shown, and what comes.
  std::optional<v1::LogStep> NextStep(const Analyzer& analyzer) {
    const std::string last = analyzer.LastStepText();
    if (!last.empty()) Say(SanitizeForTerminal(last));
    if (const auto outlook = analyzer.NextStepOutlook()) feed_.ShowOutlook(outlook->text, outlook->left_ns);
    return analyzer.NextStep();
  }

  // Shows what the run would make and write to prepare.
  void ShowPreparing() {
    uint64_t total_bytes = 0;
    const bool files = UsesFiles(plan_.workload());
    std::vector<std::vector<std::string>> rows = {{"host", "directory", files ? "threads" : "QMs", "files", "bytes"}};
    for (const auto& host : fleet().hosts()) {
      for (const HostBytes& bytes : BytesOf(workloads_[host->index])) {
        total_bytes += bytes.bytes;
        rows.push_back({SanitizeForTerminal(host->label), SanitizeForTerminal(bytes.directory),
                        absl::StrCat(bytes.writers), FormatCount(bytes.files), FormatSizeForPeople(bytes.bytes)});
      }
    }
    for (const std::string& text : AlignColumns(rows, "llrrr")) console_.out << text << '\n';
    console_.out << "Each run makes and removes plimsoll-<run id>/<host>/" << (files ? "files/" : "qm<N>/active/")
                 << " below these directories.\n"
                 << FormatSizeForPeople(total_bytes) << " would be written to prepare; ";
  }

  // What the run's journal would take, as a line.
  std::string JournalText() const {
    const uint64_t rounds = plan_.until_steady_ns() > 0 ? MostRounds(plan_) : 1;
    std::vector<v1::LogStep> steps = steps_;
    if (!ListsSteps(plan_)) {
      steps.assign(1, v1::LogStep());
      steps.front().set_duration_ns(WritingTimeOf(plan_).ns);
    }
    uint64_t bytes = 0;
    bool rates_known = true;
    for (const v1::LogStep& step : steps) {
      const bool folds = fold_ && FoldsFrames(plan_, step, *fold_);
      for (const v1::LogWorkload& workload : workloads_) {
        const double rate = step.has_rate_per_second() ? step.rate_per_second() : workload.rate_per_second();
        rates_known = rates_known && rate > 0;
        bytes += rounds * JournalBytesOf({.writers = step.qm() > 0 ? std::min(step.qm(), workload.qm()) : workload.qm(),
                                          .writes_per_second = rate > 0 ? rate : kUsualWritesPerSecond,
                                          .warmup_ns = step.warmup_ns(),
                                          .measured_ns = step.duration_ns(),
                                          .interval_ns = kFrameIntervalNs,
                                          .fold = folds ? fold_ : std::nullopt});
      }
    }
    std::string text = absl::StrCat("The journal would take some ", FormatSizeForPeople(bytes));
    if (!rates_known)
      absl::StrAppend(&text, " (at ", kUsualWritesPerSecond, " writes/s for each writer without a rate)");
    if (plan_.trace() == v1::TOGGLE_ON) {
      absl::StrAppend(&text, ", and up to ", FormatSizeForPeople(plan_.trace_limit_bytes()),
                      " of traces (--trace-limit)");
    }
    return text + ".";
  }

  void DryRun() override {
    if (recording_ != nullptr) {
      for (const std::string& text : DescribeRecording(*recording_, fleet().hosts(), workloads_)) {
        console_.out << text << '\n';
      }
    }
    if (!UsesPaths(plan_.workload())) {
      ShowPreparing();
    } else {
      for (const std::string& text : DescribeFiles(plan_, fleet().hosts(), files_)) console_.out << text << '\n';
    }
    const std::string journal_text = JournalText();
    if (!ListsSteps(plan_)) {
      console_.out << "a search of at most " << FormatDuration(WritingTimeOf(plan_).ns) << ". Nothing was touched."
                   << '\n'
                   << journal_text << std::endl;
      return;
    }
    console_.out << steps_.size() << (steps_.size() == 1 ? " step of " : " steps of ")
                 << (plan_.workload().one_pass() ? "one pass, at most " : "") << FormatDuration(plan_.duration_ns())
                 << (plan_.warmup_ns() > 0 ? absl::StrCat(" after ", FormatDuration(plan_.warmup_ns()), " of warm-up")
                                           : "")
                 << RoundsText(plan_) << ". Nothing was touched.\n"
                 << journal_text << std::endl;
    if (HasPlacement(plan_)) {
      for (const std::string& text : DescribePlacement(plan_)) console_.out << SanitizeForTerminal(text) << '\n';
    }
    for (const std::string& text : DescribeSweep(plan_)) console_.out << text << '\n';
    for (const std::string& text : DescribeDisturbances(plan_)) console_.out << SanitizeForTerminal(text) << '\n';
  }

  std::vector<std::string> KeptFiles(const v1::Report& report) const override {
    if (plan_.workload().create()) {
      return {SanitizeForTerminal(absl::StrCat("Files created and kept: ", ShortenFiles(workloads_.front()),
                                               UnfilledFiles(report).empty() ? "" : "; not all are full"))};
    }
    if (!plan_.keep_files() || UsesPaths(plan_.workload())) return {};
    std::map<std::string, std::vector<std::string>> hosts;
    for (const auto& host : fleet().hosts()) {
      for (const std::string& dir : DirsOf(workloads_[host->index])) hosts[dir].push_back(host->address);
    }
    std::vector<std::string> lines;
    for (const auto& [dir, addresses] : hosts) {
      const std::string list =
          plan_.hosts().empty()
              ? ""
              : absl::StrCat(" --hosts ", ShellQuoted(absl::StrJoin(addresses, ",")), access_.launch.OnCommandLine());
      lines.push_back(
          SanitizeForTerminal(absl::StrCat("Files kept in ", dir == "/" ? "" : dir, "/plimsoll-", run_id_, "/")));
      lines.push_back(SanitizeForTerminal(absl::StrCat("Remove them with: plimsoll clean", list, " --dir ",
                                                       ShellQuoted(dir), " --run ", run_id_, " --yes")));
    }
    return lines;
  }

  // What to know where the results are on the file system under test; empty: they are not. A child agent writes on
  // this machine: the journal on the same file system would be measured too.
  std::string SharedResults(const std::string& results) const {
    struct stat ours{};
    struct stat theirs{};
    for (const v1::LogWorkload& workload : workloads_) {
      for (const std::string& dir : DirsOf(workload)) {
        if (stat(results.c_str(), &ours) == 0 && stat(dir.c_str(), &theirs) == 0 && ours.st_dev == theirs.st_dev) {
          return absl::StrCat("the results (", results, ") are on the file system under test (", dir,
                              "); put them elsewhere with --out");
        }
      }
    }
    return "";
  }

  // What to know where a program that disturbs the storage, or undoes that, is on it; empty where no such program is
  // known. Programs without a path are those of the system.
  std::string SharedCommand() const {
    if (!plan_.hosts().empty()) return "";
    struct stat program{};
    struct stat tested{};
    for (const v1::Disturbance& one : plan_.disturb()) {
      for (const auto* const list : {&one.do_(), &one.undo()}) {
        const bool known =
            !list->empty() && absl::StrContains(list->Get(0), "/") && stat(list->Get(0).c_str(), &program) == 0;
        for (const std::string& dir : known ? DirsOf(workloads_.front()) : std::vector<std::string>{}) {
          if (stat(dir.c_str(), &tested) != 0 || tested.st_dev != program.st_dev) continue;
          return absl::StrCat(list->Get(0), " is on the file system under test (", dir,
                              "), and may not start while that is disturbed; put it elsewhere");
        }
      }
    }
    return "";
  }

  const std::vector<v1::LogStep> steps_;
  const std::vector<v1::LogWorkload> workloads_;
  const std::optional<v1::StepFoldRules> fold_;
  const PatternFile* const recording_;
  std::vector<std::string> not_undone_;
  // Null: the plan has neither conditions nor a time to end by.
  std::shared_ptr<RunGuard> guard_;
  // The descriptions of the agents, by host; empty if the plan names no paths.
  std::vector<HostFiles> files_;
};

// Makes each step as long as so many of it.
void Repeat(uint32_t times, std::vector<v1::LogStep>& steps) {
  for (v1::LogStep& step : steps) {
    step.set_duration_ns(step.duration_ns() * times);
    step.set_warmup_ns(step.warmup_ns() * times);
  }
}

}  // namespace

std::vector<AgentPlace> LogPlaces(const v1::TestPlan& plan) {
  std::vector<AgentPlace> places;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) {
    const int host = static_cast<int>(places.size());
    places.push_back({plan.hosts().empty() ? "" : plan.hosts(host).address(), {}});
    if (UsesPaths(workload)) {
      places.back().roots = RootsOfFiles(workload);
      continue;
    }
    for (const std::string& directory : DirsOf(workload)) {
      places.back().roots.push_back({directory, DirectoryOption(workload)});
    }
  }
  return places;
}

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

int RunPlan(const v1::TestPlan& plan, const PlanRun& how, const AgentAccess& access, Console& console,
            const RunSurroundings& around) {
  if (const std::string why = ForbiddenCommands(plan); !why.empty() && !how.allow_commands && !how.dry_run) {
    if (how.end != nullptr) how.end->errors = {why};
    return PrintError(console, why, Exit::kWrong);
  }
  if (plan.has_protect() && how.protection == nullptr && !how.dry_run) {
    return RunProtected(plan, how, access, console, around);
  }
  const absl::StatusOr<std::optional<PatternFile>> recording = OpenRecording(plan);
  if (!recording.ok()) {
    if (how.end != nullptr) how.end->errors = {std::string(recording.status().message())};
    return PrintError(console, recording.status(), Exit::kWrong);
  }
  v1::TestPlan played = plan;
  if (recording->has_value()) played.mutable_group_commit()->set_pattern_sha256((*recording)->sha256());
  EventQueue own(*around.clock);
  EventQueue& events = how.events != nullptr ? *how.events : own;
  const PatternFile* const file = recording->has_value() ? &**recording : nullptr;
  int code = 0;
  {
    LogRun run(std::move(played), how, access, console, around, events, file);
    code = run.Execute();
    // Last, so that nothing hides it.
    for (const std::string& line : run.not_undone()) PrintError(console, line, Exit::kInconclusive);
  }
  // The run and its agents have ended: an interrupt that came too late to cut anything short counts, too.
  if (how.end != nullptr) how.end->interrupted = events.interrupts() > 0;
  return code;
}

TurnRun::TurnRun(Options options)
    : options_(std::move(options)), steps_(ExpandSteps(options_.plan)), events_(*options_.around.clock) {
  beside_.run_id = NewRunId();
  beside_.own_key = NewRunToken();
  if (options_.beside != nullptr) {
    beside_.beside_id = options_.beside->beside_.run_id;
    beside_.beside_key = options_.beside->beside_.own_key;
  }
  turn_.turns = options_.turns;
  turn_.others_ns = options_.others_ns;
  turn_.turn = [this](uint32_t step, const Analyzer& analyzer) { return TurnOf(step, analyzer); };
  turn_.next_step = [this] { return NextStep(); };
  thread_ = std::thread([this] { Run(); });
}

TurnRun::~TurnRun() {
  Join();
}

void TurnRun::Run() {
  PlanRun how = options_.how;
  how.end = &end_;
  how.turn = &turn_;
  how.beside = beside_;
  how.events = &events_;
  // Interrupts come from who gives the turns.
  RunSurroundings around = options_.around;
  around.catches_signals = false;
  Console console{report_, errors_};
  code_ = RunPlan(options_.plan, how, options_.access, console, around);
  MutexLock lock(mutex_);
  over_ = true;
}

void TurnRun::Join() {
  if (thread_.joinable()) thread_.join();
}

bool TurnRun::waiting() const {
  MutexLock lock(mutex_);
  return !over_ && asked_step_ == granted_steps_;
}

bool TurnRun::over() const {
  MutexLock lock(mutex_);
  return over_;
}

void TurnRun::Grant() {
  MutexLock lock(mutex_);
  granted_steps_ += steps_per_turn();
}

v1::Report TurnRun::LastTurn() const {
  MutexLock lock(mutex_);
  return last_turn_;
}

void TurnRun::Finish() {
  MutexLock lock(mutex_);
  finished_ = true;
}

Coordinator::Turn TurnRun::TurnOf(uint32_t step, const Analyzer& analyzer) {
  MutexLock lock(mutex_);
  if (asked_step_ != step) {
    asked_step_ = step;
    if (step > 0 && step % steps_per_turn() == 0) last_turn_ = analyzer.SoFar(step - steps_per_turn());
  }
  if (step < granted_steps_) return Coordinator::Turn::kBegin;
  return finished_ ? Coordinator::Turn::kNever : Coordinator::Turn::kWait;
}

std::optional<v1::LogStep> TurnRun::NextStep() const {
  MutexLock lock(mutex_);
  const uint32_t step = *asked_step_;
  v1::LogStep next = steps_[step % steps_per_turn()];
  next.set_repetition(step / steps_per_turn());
  return next;
}

}  // namespace plimsoll
