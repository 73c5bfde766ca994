// `plimsoll accept`: the parts of an acceptance in turn, and one verdict over them.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/accept/accept_parts.h"
#include "controller/accept/accept_report.h"
#include "controller/app/runs.h"
#include "controller/cli/accept_outlook.h"
#include "controller/cli/accept_record.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/compare_command.h"
#include "controller/cli/metrics_flags.h"
#include "controller/cli/outputs.h"
#include "controller/cli/plan_flags.h"
#include "controller/cli/result_list.h"
#include "controller/cli/run_command.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/fleet.h"
#include "controller/fsck/checks.h"
#include "controller/journal/digest.h"
#include "controller/journal/results.h"
#include "controller/mq/error_log.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "controller/render/json.h"
#include "controller/report/run_kind.h"
#include "controller/run/preparation.h"
#include "controller/run/process.h"
#include "controller/run/run_guard.h"
#include "controller/run/run_records.h"
#include "controller/storage/host_text.h"
#include "google/protobuf/util/time_util.h"

namespace plimsoll {
namespace {

constexpr char kInterruptedText[] = "interrupted";

struct AcceptFlags {
  std::string plan_file;
  std::unique_ptr<PlanFlags> plan;
  std::string out;
  bool quiet = false;
  bool dry_run = false;
  AccessFlags access;
  AcceptView view;
  MetricsFlags metrics;
  std::vector<std::string> logs;
  // Results of a watch; empty: none.
  std::string profile;
  bool allow_commands = false;
};

google::protobuf::Timestamp Moment(WallNs now) {
  return google::protobuf::util::TimeUtil::NanosecondsToTimestamp(now.value);
}

class Acceptance {
 public:
  Acceptance(AcceptFlags& flags, v1::TestPlan plan, AgentAccess access, CommandLine& line,
             const RunSurroundings& around)
      : flags_(flags), plan_(std::move(plan)), access_(std::move(access)), line_(line), around_(around) {
    std::vector<std::string> addresses;
    for (const v1::HostSpec& host : plan_.hosts()) addresses.push_back(host.address());
    agents_.hosts = absl::StrJoin(addresses, ",");
  }

  int Execute() {
    const absl::StatusOr<std::shared_ptr<RunGuard>> guarded = RunGuard::Make(plan_, *around_.clock);
    if (!guarded.ok()) return PrintError(line_, guarded.status(), Exit::kWrong);
    const std::shared_ptr<RunGuard>& guard = *guarded;
    if (guard != nullptr) {
      const std::string why = guard->MayNotBegin(AllPartsNs(plan_), around_.clock->Now());
      if (!why.empty()) return PrintError(line_, why + ": use a later time, or fewer parts", Exit::kWrong);
    }
    if (flags_.dry_run) return DryRun();
    flags_.metrics.Serve(MetricsFlags::Of::kPart);
    report_ = PlannedAcceptance(plan_);
    report_.set_id(NewRunId());
    report_.set_version(kVersion);
    report_.set_record_sha256(kRenewedSeal);
    if (around_.describe_controller) *report_.mutable_controller() = around_.describe_controller();
    const WallNs begin = around_.clock->WallNow();
    *report_.mutable_begin() = Moment(begin);
    absl::StatusOr<ResultsDirectory> results = flags_.out.empty() ? ResultsDirectory::CreateDefault(begin, report_.id())
                                                                  : ResultsDirectory::Create(flags_.out);
    if (!results.ok()) return PrintError(line_, results.status(), Exit::kWrong);
    path_ = results->path();
    absl::Status kept = results->Write("plan.yaml", WritePlan(plan_));
    kept.Update(WriteAcceptRecord(*results, report_));
    if (!kept.ok()) return PrintError(line_, kept, Exit::kWrong);
    for (const std::string& text : Outlook(plan_)) Say(text);

    for (int i = 0; i < report_.runs_size() && report_.cut_short().empty(); ++i) {
      v1::AcceptRun& run = *report_.mutable_runs(i);
      if (IsInterruptPending()) {
        report_.set_cut_short(kInterruptedText);
        break;
      }
      if (guard != nullptr) {
        const int64_t part_ns = PlannedNs(plan_, run.part());
        if (const std::string why = guard->MayNotBegin(part_ns, around_.clock->Now()); !why.empty()) {
          report_.set_cut_short(why);
          break;
        }
      }
      const MonotonicNs start = around_.clock->Now();
      whole_ = [this, i, start] { return Standing(i, around_.clock->Now() - start); };
      Say(whole_());
      run.set_began(true);
      *run.mutable_begin() = Moment(around_.clock->WallNow());
      // Its record begins before it does: a killed acceptance shows what was under way.
      kept.Update(WriteAcceptRecord(*results, report_));
      PartEnd end;
      const int code = Do(run, end);
      if (code == static_cast<int>(Exit::kLeft)) return code;
      run.set_duration_ns(around_.clock->Now() - start);
      SealRun(path_, end.report.has_value() ? end.report->run().id() : "", run);
      const bool nothing = code == static_cast<int>(Exit::kWrong) || code == static_cast<int>(Exit::kCannotRun);
      if (nothing && i == 0) return Discard(*results, code);
      // What the part measured stands; nothing else begins.
      if (end.interrupted && (!run.complete() || i + 1 < report_.runs_size())) {
        report_.set_cut_short(kInterruptedText);
      } else if (!end.guarded.empty()) {
        report_.set_cut_short(end.guarded);
      }
      JudgeAcceptance(report_);
      kept.Update(WriteAcceptRecord(*results, report_));
      if (run.part() == v1::ACCEPT_PART_STORAGE && run.outcome() == v1::OUTCOME_FAIL && report_.cut_short().empty()) {
        report_.set_cut_short("the storage check failed");
      }
      if (!flags_.quiet) ShowResult(run);
    }
    *report_.mutable_end() = Moment(around_.clock->WallNow());
    report_.set_ended(true);
    JudgeAcceptance(report_);
    kept.Update(results->Restore());
    std::string digest;
    kept.Update(WriteAcceptFiles(*results, Seal::kReplace, report_, &digest));
    if (kept.ok()) kept.Update(flags_.metrics.ShowEnd(report_.outcome(), RenderAcceptMetrics(report_)));
    return PrintAcceptance(report_, {path_, digest}, flags_.view, kept, line_);
  }

 private:
  void Say(const std::string& text) const {
    if (!flags_.quiet) line_.err << "plimsoll: " << SanitizeForTerminal(text) << std::endl;
  }

  // "part 3 of 8: load, run 2, about 12m 30s left", so long after that part began. A part that has run takes as long
  // again; another one as long as planned.
  std::string Standing(int current, int64_t elapsed_ns) const {
    int64_t left_ns = 0;
    for (int i = current; i < report_.runs_size(); ++i) {
      int64_t each_ns = PlannedNs(plan_, report_.runs(i).part());
      for (int before = 0; before < current; ++before) {
        const v1::AcceptRun& done = report_.runs(before);
        if (done.part() == report_.runs(i).part() && done.complete()) each_ns = done.duration_ns();
      }
      left_ns += i == current ? std::max<int64_t>(each_ns - elapsed_ns, 0) : each_ns;
    }
    return absl::StrCat("part ", current + 1, " of ", report_.runs_size(), ": ", RunName(report_.runs(current)),
                        ", about ", FormatWholeSeconds(left_ns), " left");
  }

  void ShowResult(const v1::AcceptRun& run) const {
    Say(absl::StrCat(RunName(run), ": ", OutcomeText(run.outcome()), ": ", run.result()));
  }

  // The first part could not begin: the line that shows why is printed.
  static int Discard(const ResultsDirectory& results, int code) {
    std::error_code ignored;
    for (const char* name : {"accept.json", "plan.yaml"}) {
      std::filesystem::remove(std::filesystem::path(results.path()) / name, ignored);
    }
    results.Discard();
    return code;
  }

  // One run of a part, into its report. Returns the exit code that the part alone would have.
  int Do(v1::AcceptRun& run, PartEnd& end) {
    switch (run.part()) {
      case v1::ACCEPT_PART_STORAGE:
        return CheckStorage(run, end);
      case v1::ACCEPT_PART_FSCK:
        return CheckFiles(run, end);
      default:
        return Measure(PlanOfRun(plan_, run.part(), run.run()), run, end);
    }
  }

  std::string PathOf(const v1::AcceptRun& run) const {
    return (std::filesystem::path(path_) / DirectoryOf(run)).string();
  }

  // Writes the files of a part that keeps none itself.
  void WritePart(const std::vector<std::pair<std::string, std::string>>& files, v1::AcceptRun& run) const {
    const absl::StatusOr<ResultsDirectory> directory = ResultsDirectory::Create(PathOf(run));
    absl::Status written = directory.status();
    std::vector<std::string> names;
    for (const auto& [name, text] : files) {
      if (directory.ok()) written.Update(directory->Write(name, text));
      names.push_back(name);
    }
    if (written.ok()) written.Update(SealResults(*directory, Seal::kReplace, names).status());
    if (directory.ok()) run.set_directory(DirectoryOf(run));
    if (written.ok()) return;
    PrintError(line_, written, Exit::kInconclusive);
    run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    run.add_reasons(absl::StrCat("its results could not be kept: ", std::string(written.message())));
  }

  int Fail(const Failure& failure, v1::AcceptRun& run) {
    PrintFailure(line_, failure);
    TakeFailure(absl::StrJoin(failure.lines, "; "), run);
    return static_cast<int>(failure.code);
  }

  int CheckStorage(v1::AcceptRun& run, PartEnd& end) {
    EventQueue events(*around_.clock);
    const int code = AskAboutStorage(events, run);
    // Its agents have ended by now: an interrupt that came meanwhile counts, too.
    end.interrupted = events.interrupts() > 0;
    return code;
  }

  int AskAboutStorage(EventQueue& events, v1::AcceptRun& run) {
    const Interrupts interrupts(events);
    AskedAgents agents(*around_.clock, events, line_.err, flags_.quiet);
    std::vector<std::string> directories;
    for (const v1::LogWorkload& workload : EffectiveWorkloads(plan_)) directories.push_back(workload.dir());
    if (const auto failure = agents.Connect(agents_, flags_.access, directories, {kKeepLeftovers}))
      return Fail(*failure, run);
    // With an agent missing, the others' places in the plan are not those in the fleet.
    if (!agents.not_started().empty()) return Fail(AsFailure(agents.not_started()), run);
    Fleet& fleet = agents.fleet();
    std::vector<std::vector<std::string>> asked;
    asked.reserve(directories.size());
    for (const std::string& directory : directories) asked.push_back({directory});
    if (const auto failure = agents.Describe(asked, kAskTimeoutNs, kInterruptedText)) {
      TakeFailure(kInterruptedText, run);
      return static_cast<int>(failure->code);
    }
    if (const auto failure = agents.CheckAnswers()) return Fail(*failure, run);
    for (const v1::TestPlan& plan : MeasuringPlans()) {
      if (const auto failure = CheckPlanCaps(fleet.hosts(), plan)) return Fail(*failure, run);
    }
    std::vector<StorageHost> hosts;
    std::vector<HostDirectory> shown;
    JsonWriter json;
    json.BeginArray();
    for (const auto& host : fleet.hosts()) {
      hosts.push_back({host->label, *host->description});
      shown.push_back({host->label, host->description->directories(0)});
      json.BeginObject();
      json.Key("host").String(host->label);
      WriteJson(host->description->directories(0), json.Key("directory"));
      json.EndObject();
    }
    json.EndArray();
    TakeStorage(hosts, LargestWriteOf(plan_), run, report_);
    WritePart({{"storage.txt", absl::StrCat(absl::StrJoin(TextOfStorages(shown, LargestWriteOf(plan_)), "\n"), "\n")},
               {"storage.json", json.Take()}},
              run);
    return static_cast<int>(Exit::kOk);
  }

  int CheckFiles(v1::AcceptRun& run, PartEnd& end) {
    FsckRun checks;
    checks.agents = agents_;
    checks.access = flags_.access;
    checks.directory = EffectiveWorkload(plan_, 0).dir();
    checks.lease_ns = plan_.lease_ns();
    checks.quiet = flags_.quiet;
    checks.end = &end;
    checks.finish = [&](const v1::CheckReport& found) {
      TakeChecks(found, run, report_);
      WritePart(
          {{"fsck.txt", RenderFsckText(found)}, {"fsck.json", RenderJson(found)}, {"fsck.xml", RenderJUnit(found)}},
          run);
      return true;
    };
    const int code = RunFsck(checks, line_);
    if (run.outcome() == v1::OUTCOME_UNSPECIFIED) {
      TakeFailure(end.ErrorText(), run);
      return code;
    }
    return static_cast<int>(Exit::kOk);
  }

  // Plans of load, search and load under disturbances, as far as the acceptance has them.
  std::vector<v1::TestPlan> MeasuringPlans() const {
    std::vector<v1::TestPlan> plans;
    if (HasPart(plan_, v1::ACCEPT_PART_LOAD)) plans.push_back(LoadPlanOf(plan_));
    if (HasPart(plan_, v1::ACCEPT_PART_LIMIT)) plans.push_back(SearchPlanOf(plan_));
    if (HasPart(plan_, v1::ACCEPT_PART_DISTURB)) plans.push_back(DisturbPlanOf(plan_));
    return plans;
  }

  int Measure(v1::TestPlan plan, v1::AcceptRun& run, PartEnd& end) {
    const RunKind kind = RunKindOf(plan);
    if (!plan.has_seed() && (kind == RunKind::kHa || kind == RunKind::kRestart)) plan.set_seed(std::random_device()());
    PlanRun how;
    how.out = PathOf(run);
    how.quiet = flags_.quiet;
    how.repeated = warned_;
    warned_ = true;
    // AcceptMain asked for it.
    how.allow_commands = flags_.allow_commands;
    how.later = MeasuringPlans();
    how.whole = whole_;
    how.end = &end;
    flags_.metrics.Show(MetricsFlags::Of::kPart, how);
    const auto run_it = kind == RunKind::kHa ? RunDrill : kind == RunKind::kRestart ? RunRestart : RunPlan;
    const int code = run_it(plan, how, access_, line_, around_);
    if (code == static_cast<int>(Exit::kLeft)) return code;
    if (!end.report.has_value()) {
      TakeFailure(end.ErrorText(), run);
      return code;
    }
    run.set_directory(DirectoryOf(run));
    TakeRun(*end.report, run, report_);
    // It measured, and could not keep what it reports.
    if (code == static_cast<int>(Exit::kInconclusive) &&
        (run.outcome() == v1::OUTCOME_PASS || run.outcome() == v1::OUTCOME_DONE)) {
      run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
      run.add_reasons(end.ErrorText());
    }
    return static_cast<int>(Exit::kOk);
  }

  int DryRun() {
    PlanRun how;
    how.dry_run = true;
    how.quiet = true;
    how.later = MeasuringPlans();
    const bool drills = HasPart(plan_, v1::ACCEPT_PART_HA);
    const bool restarts = HasPart(plan_, v1::ACCEPT_PART_RESTART_TIME);
    // Its commands are shown unless the only plan has them.
    const bool disturbs = HasPart(plan_, v1::ACCEPT_PART_DISTURB) && how.later.size() > 1;
    int code = static_cast<int>(Exit::kOk);
    if (!how.later.empty() || !(drills || restarts)) {
      code = RunPlan(how.later.empty() ? LoadPlanOf(plan_) : how.later.front(), how, access_, line_, around_);
    }
    how.later.clear();
    if (code == static_cast<int>(Exit::kOk) && disturbs) {
      code = RunPlan(DisturbPlanOf(plan_), how, access_, line_, around_);
    }
    if (code == static_cast<int>(Exit::kOk) && drills) {
      code = RunDrill(DrillPlanOf(plan_, v1::HA_FENCE_EXTENTS), how, access_, line_, around_);
    }
    if (code == static_cast<int>(Exit::kOk) && restarts) {
      code = RunRestart(RestartPlanOf(plan_), how, access_, line_, around_);
    }
    if (code != static_cast<int>(Exit::kOk)) return code;
    for (const std::string& text : Outlook(plan_)) line_.out << SanitizeForTerminal(text) << '\n';
    line_.out << std::flush;
    return code;
  }

  AcceptFlags& flags_;
  const v1::TestPlan plan_;
  const AgentAccess access_;
  CommandLine& line_;
  const RunSurroundings around_;
  AgentList agents_;
  v1::AcceptReport report_;
  std::string path_;
  // Where the acceptance stands.
  std::function<std::string()> whole_;
  // A part has given the plan's warnings.
  bool warned_ = false;
};

// Whether the watch whose results lie there saw locks on extents. INVALID_ARGUMENT where it has no profile.
absl::StatusOr<bool> ReadProfile(const std::string& path) {
  const absl::StatusOr<v1::Report> report = LoadReport(path);
  if (!report.ok()) return WithContext("--profile", report.status());
  if (!report->plan().watch().profile()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--profile: ", path, " is not the result of `plimsoll watch --profile`"));
  }
  return ShowsExtentLocks(report->watch());
}

int AcceptMain(AcceptFlags& flags, CommandLine& line, const RunSurroundings& around) {
  if (const absl::Status status = flags.metrics.Open(line); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.view.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  RestartLog log;
  if (!flags.logs.empty()) {
    absl::StatusOr<RestartLog> read = ReadRestarts(flags.logs);
    if (!read.ok()) return PrintError(line, read.status(), Exit::kWrong);
    log = *std::move(read);
    for (const std::string& note : log.notes) line.err << "plimsoll: " << SanitizeForTerminal(note) << '\n';
  }
  absl::StatusOr<bool> locks_extents = false;
  if (!flags.profile.empty()) {
    locks_extents = ReadProfile(flags.profile);
    if (!locks_extents.ok()) return PrintError(line, locks_extents.status(), Exit::kWrong);
    line.err << "plimsoll: " << SanitizeForTerminal(flags.profile)
             << (*locks_extents ? " shows locks on the extents: no drill is made without them\n"
                                : " shows no lock on an extent: drills are made with and without\n");
  }
  absl::StatusOr<v1::TestPlan> plan =
      LoadRunPlan(flags.plan_file, RunKind::kAccept, [&](v1::TestPlan& read) -> absl::Status {
        if (!flags.profile.empty()) read.mutable_accept()->set_locks_extents(*locks_extents);
        for (const v1::RealRestart& restart : log.restarts) *read.mutable_restart_time()->add_real() = restart;
        return flags.plan->ApplyTo(read);
      });
  if (!plan.ok()) return PrintErrors(line, plan.status(), Exit::kWrong);
  const bool limits_restart = std::ranges::any_of(
      plan->criteria(), [](const std::string& text) { return ParseRestartCriterion(text).has_value(); });
  if (limits_restart && !log.doubts.empty()) {
    return PrintError(line,
                      absl::StrCat("--restart-log: restarts that are not whole in it may have taken longer than the "
                                   "criterion for restart allows: ",
                                   log.doubts[0],
                                   "; add the logs before, take out what is not a restart, or leave the "
                                   "criterion out"),
                      Exit::kWrong);
  }
  if (!plan->disturb().empty() && !flags.allow_commands && !flags.dry_run) {
    return PrintError(line,
                      "the disturbances run commands on this machine (disturb): read them, and pass --allow-commands",
                      Exit::kWrong);
  }
  const auto& faults = plan->ha().faults();
  const bool commands =
      std::ranges::any_of(faults, [](int fault) { return NeedsCommands(static_cast<v1::HaFaultKind>(fault)); });
  if (commands && !flags.allow_commands && !flags.dry_run) {
    return PrintError(line,
                      "the drills' faults run commands on this machine (ha.commands): read them, and pass "
                      "--allow-commands",
                      Exit::kWrong);
  }
  absl::StatusOr<AgentAccess> access = LoadAccess(flags.access);
  if (!access.ok()) return PrintError(line, access.status(), Exit::kWrong);
  return Acceptance(flags, *std::move(plan), *std::move(access), line, around).Execute();
}

}  // namespace

void AddAcceptCommand(CLI::App& app, CommandLine& line) {
  const RunSurroundings around = OwnSurroundings();
  auto flags = std::make_shared<AcceptFlags>();
  CLI::App* command =
      app.add_subcommand("accept", "Run an acceptance test (storage, fsck, load, limit, ha) with one verdict");
  command->add_option("PLAN", flags->plan_file,
                      "Plan in YAML (see `plimsoll plan example --accept`); options override it");
  flags->plan = std::make_unique<PlanFlags>(*command, RunKind::kAccept);
  AddResultsOption(*command, flags->out)
      ->description("Directory for the results of all parts (default: plimsoll-results/<UTC time>-<id>)");
  CLI::Option* json = AddJsonFlag(*command, flags->view.json);
  command->add_flag("--quiet,-q", flags->quiet, "Print no progress on standard error");
  CLI::Option* full = AddFullFlag(*command, flags->view.full)
                          ->description(
                              "Print everything, as accept.txt has it (default: what matters most, in at "
                              "most 40 lines)")
                          ->excludes(json);
  AddSummaryFlag(*command, flags->view.summary)->excludes(json)->excludes(full);
  AddJUnitFlag(*command, flags->view.junit)
      ->description(
          "Also write the verdict as JUnit XML: a test case for each run of each part, and for each "
          "criterion of its steps");
  command
      ->add_option("--restart-log", flags->logs,
                   "Error log of a real queue manager (AMQERR01.LOG) for the part restart-time; repeat for several")
      ->type_name("FILE")
      ->type_size(1)
      ->expected(1)
      ->take_all();
  NamesResults(AddValue(*command, "--profile", "DIR", flags->profile,
                        "Results of plimsoll watch --profile: whether the drills need locks on the extents"));
  flags->metrics.AddTo(*command);
  command->add_flag("--allow-commands", flags->allow_commands,
                    "Run the commands of the drills' faults and of the disturbances on this machine");
  AddAccessFlags(*command, flags->access);
  flags->plan->FindHostsBy(flags->access.launch);
  command->add_flag("--dry-run", flags->dry_run, "Show hosts, directories, files, bytes and duration; change nothing")
      ->excludes("--junit")
      ->excludes("--metrics-file");
  command->footer(
      "Exit codes: 0 every part passed; 1 a part FAILs; 2 invalid input; 3 a part is inconclusive or did\n"
      "not run; 4 an agent could not be reached, and nothing ran.\n"
      "Examples:\n"
      "  plimsoll plan example --ready nfs > accept.yaml\n"
      "  plimsoll accept accept.yaml --hosts node[1-4] --dir /mnt/mqha --rate 200\n"
      "  plimsoll accept --dir /mnt/mqlog --require 'p99<10ms' --require 'max<500ms' --runs 1 \\\n"
      "    --budget 3m --parts storage,load,limit");
  command->callback(
      [flags, &line, around] { line.action = [flags, &line, around] { return AcceptMain(*flags, line, around); }; });
}

}  // namespace plimsoll
