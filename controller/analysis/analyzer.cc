#include "controller/analysis/analyzer.h"

#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "controller/analysis/clock_check.h"
#include "controller/analysis/kind_analysis.h"
#include "controller/analysis/mq_log_report.h"
#include "controller/analysis/record_name.h"
#include "controller/analysis/step_folding.h"
#include "controller/analysis/verdict_cause.h"
#include "controller/analysis/watch_report.h"
#include "controller/analysis/whole_run.h"
#include "controller/report/run_kind.h"
#include "controller/report/scopes.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {
namespace {

// No run has more hosts; bounds what a damaged journal can make us hold.
constexpr size_t kMaxHosts = 100'000;

}  // namespace

Analyzer::Analyzer(uint64_t series_rows) : series_rows_(series_rows) {}
Analyzer::~Analyzer() = default;

void Analyzer::Refuse(const std::string& what) {
  reasons_.Add("malformed", absl::StrCat("Left out: ", what, "."));
}

std::string Analyzer::NameOf(uint32_t host) const {
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? absl::StrCat("host number ", host) : found->second.label();
}

bool Analyzer::Add(const v1::JournalRecord& record) {
  const absl::Status taken = Take(record);
  if (!taken.ok()) Refuse(absl::StrCat("a record (", RecordName(record), "): ", std::string(taken.message())));
  return taken.ok();
}

absl::Status Analyzer::Take(const v1::JournalRecord& record) {
  if (!IsSaneMoment(record.time_ns())) return absl::InvalidArgumentError("a time that no clock shows");
  if (!run_ && record.record_case() != v1::JournalRecord::kRunBegin)
    return absl::InvalidArgumentError("it comes before the run's begin");
  if (run_) last_ns_ = std::max(last_ns_, record.time_ns());
  if (section_) PLIMSOLL_RETURN_IF_ERROR(section_->Take(record, timeline_));
  if (disturb_) PLIMSOLL_RETURN_IF_ERROR(disturb_->Take(record, timeline_));
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      if (run_) return absl::InvalidArgumentError("the run begins for the second time");
      begin_ns_ = last_ns_ = record.time_ns();
      return OnRunBegin(record.run_begin());
    case v1::JournalRecord::kHostJoined:
      return OnHostJoined(record.host_joined());
    case v1::JournalRecord::kProbes:
      PLIMSOLL_RETURN_IF_ERROR(CheckHost(record.probes().host()));
      timeline_.AddProbes(record.probes());
      return absl::OkStatus();
    case v1::JournalRecord::kHostPrepared:
      return OnPrepared(record.host_prepared());
    case v1::JournalRecord::kStepBegin:
      return OnStepBegin(record.step_begin());
    case v1::JournalRecord::kStepAhead:
      if (step_ended_) CloseStep();
      return absl::OkStatus();
    case v1::JournalRecord::kHostCommand:
      return CheckHost(record.host_command().host());
    case v1::JournalRecord::kHostCommandDone:
      return CheckHost(record.host_command_done().host());
    case v1::JournalRecord::kFrames:
      return IsDrill() ? CheckHost(record.frames().host()) : OnFrames(record.frames());
    case v1::JournalRecord::kStepDone:
      return OnStepDone(record.step_done());
    case v1::JournalRecord::kMinutesSettled:
      return OnMinutesSettled(record.minutes_settled());
    case v1::JournalRecord::kHostLost:
      return OnHostLost(record.host_lost());
    case v1::JournalRecord::kFault:
      return OnFault(record.fault());
    case v1::JournalRecord::kStepEnd:
      return OnStepEnd(record.step_end());
    case v1::JournalRecord::kHa:
      if (!IsDrill()) return absl::InvalidArgumentError("the run is not a drill");
      if (record.ha().has_host_away()) timeline_.MayHaveRestarted(record.ha().host_away().host());
      return absl::OkStatus();
    case v1::JournalRecord::kRestart:
      return IsDrill() ? absl::OkStatus() : absl::InvalidArgumentError("the run measures no restart I/O");
    case v1::JournalRecord::kDisturb:
      return disturb_ ? absl::OkStatus() : absl::InvalidArgumentError("the run disturbs nothing");
    case v1::JournalRecord::kNote:
      notes_.Add("run", record.note().text());
      return absl::OkStatus();
    case v1::JournalRecord::kRunEnd:
      OnRunEnd(record.run_end());
      return absl::OkStatus();
    case v1::JournalRecord::RECORD_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("its kind is not known here");
}

void Analyzer::AddDamage(const std::string& sentence) {
  reasons_.Add("damage", sentence);
}

absl::Status Analyzer::OnRunBegin(const v1::RunBegin& begin) {
  run_ = begin;
  timeline_.Begin(begin_ns_, begin.wall_clock_ns(), begin.plan().max_slew_ppm());
  judge_ = std::make_unique<Judge>(begin.plan(), begin.verdict_rules());
  section_ = MakeSectionAnalysis(begin.plan(), begin.verdict_rules());
  if (RunKindOf(begin.plan()) == RunKind::kDisturb) disturb_.emplace(begin);
  // A section has rounds of its own, or none.
  if (begin.plan().until_steady_ns() > 0 && !section_) rounds_.emplace(begin.steps(), begin.plan().until_steady_ns());
  const int64_t interval_ns = begin.frame_interval_ns();
  if (interval_ns < kNsPerMs || interval_ns > kNsPerSecond || kNsPerSecond % interval_ns != 0) {
    return absl::InvalidArgumentError("its frame interval does not divide one second; 250 ms are taken");
  }
  interval_ns_ = interval_ns;
  return absl::OkStatus();
}

absl::Status Analyzer::OnHostJoined(const v1::HostJoined& joined) {
  if (hosts_.size() >= kMaxHosts) return absl::InvalidArgumentError("too many hosts");
  const bool same =
      std::ranges::any_of(hosts_, [&](const auto& each) { return each.second.label() == joined.label(); });
  if (hosts_.contains(joined.host()) || same) return absl::InvalidArgumentError("a host joins for the second time");
  hosts_[joined.host()].joined = joined;
  if (joined.same_clock()) timeline_.ShareClock(joined.host());
  return absl::OkStatus();
}

absl::Status Analyzer::CheckHost(uint32_t host) const {
  return hosts_.contains(host) ? absl::OkStatus()
                               : absl::InvalidArgumentError(absl::StrCat("host number ", host, " did not join"));
}

absl::Status Analyzer::CheckStep(uint32_t step) const {
  if (!step_ || step_->index() != step)
    return absl::InvalidArgumentError(absl::StrCat("step ", uint64_t{step} + 1, " was not running"));
  return absl::OkStatus();
}

absl::Status Analyzer::OnPrepared(const v1::HostPrepared& prepared) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(prepared.host()));
  hosts_.at(prepared.host()).prepared = prepared.prepared();
  storages_set_ = false;
  return absl::OkStatus();
}

absl::Status Analyzer::OnStepBegin(const v1::StepBegin& begin) {
  const bool again = step_ && step_->index() == begin.step();
  if (again && step_ended_) return absl::InvalidArgumentError("the step begins for the second time");
  if (!again) {
    const v1::LogStep* const spec = SpecOf(*run_, begin);
    if (spec == nullptr) return absl::InvalidArgumentError("the run has no such step");
    if (begin.step() < (step_ ? step_->index() : least_step_)) return absl::InvalidArgumentError("the step was over");
    const v1::LogStep& asked = *spec;
    const bool rated = std::any_of(hosts_.begin(), hosts_.end(),
                                   [&](const auto& host) { return host.second.rate_per_second(asked) > 0; });
    StepShape shape{
        asked.block_size_bytes(), asked.duration_ns(), asked.warmup_ns(), interval_ns_, StallOf(run_->plan()), rated};
    shape.watched = run_->plan().has_watch();
    shape.one_pass = shape.watched || IsOnePass(run_->plan().workload());
    if (shape.duration_ns <= 0 || !IsSaneMoment(shape.duration_ns) || !IsSaneMoment(shape.warmup_ns) ||
        shape.measured_intervals() > INT32_MAX || shape.warmup_intervals() > INT32_MAX) {
      return absl::InvalidArgumentError("its step has lengths that no run can have");
    }
    if (static_cast<uint32_t>(asked.operations_size()) > kMaxOperations)
      return absl::InvalidArgumentError("its step has more operations than any run can have");
    CloseStep();
    SetStorages();
    step_ = std::make_unique<StepStats>(begin.step(), asked, shape, seconds_budget_.Take(shape));
    step_ended_ = false;
    if (rows_) rows_->Begin(*run_, *step_, hosts_);
  }
  PLIMSOLL_RETURN_IF_ERROR(step_->Begin(begin, hosts_));
  return BeginFold(begin);
}

bool Analyzer::TakeFrame(uint32_t host, const v1::Frame& frame, bool may_be_folded) {
  absl::Status taken = CheckStep(frame.step());
  if (taken.ok()) {
    HostStep& part = step_->Host(host, hosts_.at(host));
    taken = frame.has_aged() && !may_be_folded ? absl::InvalidArgumentError("folded, as no agent sends it")
                                               : part.AddFrame(frame, step_->guard());
    if (!taken.ok()) part.NoteRefusal(frame.qm());
  }
  if (taken.ok()) return true;
  Refuse(absl::StrCat("a frame of ", hosts_.at(host).WriterName(frame.qm()), ", step ", uint64_t{frame.step()} + 1,
                      ": ", std::string(taken.message())));
  return false;
}

absl::Status Analyzer::OnFrames(const v1::HostFrames& frames) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(frames.host()));
  if (fold_) {
    OnFramesToFold(frames);
  } else {
    if (frames.settled()) return absl::InvalidArgumentError("folded frames of a step that folds none");
    for (const v1::Frame& frame : frames.frames()) {
      if (!TakeFrame(frames.host(), frame, /*may_be_folded=*/false)) continue;
      if (on_frame_) on_frame_(frames.host(), frame);
      const bool of_write = frame.operation() == kMainOperation;
      if (disturb_ && of_write) disturb_->OnFrame(frames.host(), frame, timeline_);
      if (section_) {
        const auto place = static_cast<int>(frame.operation());
        section_->OnFrame(frames.host(), frame, of_write ? "" : step_->step().operations(place).name());
      }
      // Interval rows are about whole writes.
      if (rows_ && of_write) rows_->Add(*step_, hosts_.at(frames.host()), frame);
    }
    if (step_) step_->ClosePassedSeconds(frames.host());
    if (step_ && rows_) rows_->GivePassed(*step_);
  }
  if (frames.has_sample()) {
    const absl::Status taken = OnSample(frames.host(), frames.sample());
    if (!taken.ok()) {
      Refuse(absl::StrCat("a sample of ", NameOf(frames.host()), ", step ", uint64_t{frames.sample().step()} + 1, ": ",
                          std::string(taken.message())));
    }
  }
  return absl::OkStatus();
}

absl::Status Analyzer::OnSample(uint32_t host, const v1::HostSample& sample) {
  PLIMSOLL_RETURN_IF_ERROR(CheckStep(sample.step()));
  return step_->AddSample(host, hosts_.at(host), sample, load_rows_left_);
}

absl::Status Analyzer::OnStepDone(const v1::HostStepDone& done) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(done.host()));
  PLIMSOLL_RETURN_IF_ERROR(CheckStep(done.done().step()));
  if (fold_) {
    fold_->Leave(done.host());
    dones_to_take_.push_back(done);
    TakeStepDone(done, *live_step_, false);
  } else {
    TakeStepDone(done, *step_, true);
  }
  if (done.done().has_watch())
    TakeWatchDone(done.done().watch(), run_->plan(), hosts_.at(done.host()), reasons_, notes_);
  if (rows_) rows_->GivePassed(*LiveStepStats());
  return absl::OkStatus();
}

absl::Status Analyzer::OnHostLost(const v1::HostLost& lost) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(lost.host()));
  HostFacts& facts = hosts_.at(lost.host());
  if (facts.lost) return absl::InvalidArgumentError("a host is lost for the second time");
  facts.lost = lost;
  facts.lost_at_ns = last_ns_;
  if (!step_) return absl::OkStatus();
  if (fold_) {
    fold_->Leave(lost.host());
    hosts_to_leave_.push_back(lost.host());
  }
  LiveStepStats()->Leave(lost.host());
  if (rows_) rows_->GivePassed(*LiveStepStats());
  return absl::OkStatus();
}

absl::Status Analyzer::OnFault(const v1::HostFault& fault) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(fault.host()));
  constexpr size_t kMaxFaults = 100;
  std::vector<HostFacts::Fault>& faults = hosts_.at(fault.host()).faults;
  if (faults.size() < kMaxFaults) faults.push_back({last_ns_, fault});
  return absl::OkStatus();
}

absl::Status Analyzer::OnStepEnd(const v1::StepEnd& end) {
  PLIMSOLL_RETURN_IF_ERROR(CheckStep(end.step()));
  step_->End(end.cut_short());
  if (live_step_) live_step_->End(end.cut_short());
  step_ended_ = true;
  if (rows_) rows_->End(*LiveStepStats());
  return absl::OkStatus();
}

void Analyzer::SetStorages() {
  if (!storages_set_) GroupStorages(hosts_);
  storages_set_ = true;
}

void Analyzer::OnRunEnd(const v1::RunEnd& end) {
  run_end_ = end;
  for (const std::string& left : end.left_behind()) notes_.Add("left", absl::StrCat("Not removed: ", left));
  SetReleased(end, hosts_);
}

LiveSnapshot Analyzer::Live(int64_t now_ns, int64_t after_second) const {
  if (!run_) return {};
  if (!step_) return MakeIdleSnapshot(*run_, hosts_);
  return MakeLiveSnapshot(*run_, *LiveStepStats(), hosts_, timeline_, now_ns, after_second);
}

std::vector<LiveCriterion> Analyzer::LiveCriteria() const {
  return judge_ ? MakeLiveCriteria(*judge_, step_.get(), hosts_, timeline_) : std::vector<LiveCriterion>();
}

void Analyzer::CloseStep() {
  if (!step_) return;
  if (rows_) rows_->End(*LiveStepStats());
  FinishFold();
  SetStorages();
  const RunContext context{timeline_,
                           hosts_,
                           *judge_,
                           notes_,
                           reasons_,
                           loss_reasons_,
                           series_rows_,
                           series_rows_left_,
                           unreported_rows_left_,
                           distribution_buckets_left_,
                           operation_rows_left_,
                           operation_buckets_left_,
                           wrong_speeds_ppm_};
  reports_.push_back(StepReporter(*step_, context).Make());
  seconds_budget_.End(step_->shape(), reports_.back().measured_ns());
  const int64_t start_ns = step_->measured_start_ns();
  measured_.push_back({start_ns, start_ns + reports_.back().measured_ns()});
  least_step_ = step_->index() + 1;
  step_.reset();
  if (on_step_) on_step_(reports_.back());
  if (rounds_) rounds_->OnStep(reports_.back());
  if (!section_) return;
  std::vector<v1::CriterionReport> criteria;
  for (Judge::SoFar& each : judge_->CriteriaSoFar()) criteria.push_back(std::move(each.report));
  section_->OnStep(reports_.back(), criteria, last_ns_);
}

namespace {

// Moments of a step at which a clock's error bound is looked at.
constexpr int64_t kClockSamples = 64;
// Wall clocks that differ by more are worth a note: logs of two hosts are then hard to read side by side.
constexpr int64_t kWallClockNoteNs = kNsPerSecond;
// An agent that was not let run between the readings of its two clocks seems to have been set by as long.
constexpr int64_t kWallClockSetNoteNs = kNsPerSecond;

}  // namespace

v1::Report Analyzer::Finish() {
  const bool mid_step = step_ && !step_ended_;
  CloseStep();
  v1::Report report;
  report.set_format(1);
  SetRun(report);
  if (run_) *report.mutable_plan() = run_->plan();
  for (v1::StorageReport& storage : GroupStorages(hosts_)) *report.add_storages() = std::move(storage);
  for (v1::StepReport& step : reports_) *report.add_steps() = std::move(step);
  std::vector<std::string> wrong_clocks;
  if (IsDrill()) {
    std::vector<HostClockChange> clocks;
    for (const auto& [number, clock] : ClocksOfDrill(timeline_, hosts_, begin_ns_, last_ns_)) {
      clocks.push_back(clock);
      if (IsWrongPace(clock.change)) wrong_speeds_ppm_[number] = PacePpm(clock.change);
    }
    wrong_clocks = WrongClocks(clocks);
    if (!wrong_clocks.empty() && section_) section_->DistrustClocks(absl::StrJoin(wrong_clocks, "; "));
  }
  SetHosts(report);
  AddHostNotes(report);
  for (const std::string& note : UnfilledFiles(report)) report.add_notes(note);
  for (const std::string& note : notes_.Sentences()) report.add_notes(note);

  Judge& judge = judge_ ? *judge_ : *(judge_ = std::make_unique<Judge>(v1::TestPlan(), 0U));
  judge.ObserveRun(report);
  std::vector<Reason> reasons =
      RunReasons(report, run_ ? &*run_ : nullptr, run_end_ ? &*run_end_ : nullptr, mid_step).Entries();
  NoteBook losses;
  for (const auto& [number, facts] : hosts_) {
    for (const HostFacts::Fault& fault : facts.faults) {
      const uint32_t qm = fault.fault.fault().qm();
      losses.Add("fault", absl::StrCat(qm == 0 ? facts.label() : facts.WriterName(qm),
                                       " failed: ", Sentence(fault.fault.fault().message())));
    }
  }
  for (const auto& [number, facts] : hosts_) {
    if (facts.lost) losses.Add("lost", absl::StrCat(facts.label(), " was lost: ", Sentence(facts.lost->reason())));
  }
  for (const std::string& what : wrong_clocks) reasons.push_back({kClockPaceReason, what + "."});
  const bool accepted = judge.AcceptsLosses();
  for (const NoteBook* const book : {&losses, &loss_reasons_}) {
    for (Reason& reason : book->Entries()) {
      if (accepted) report.add_notes(reason.sentence);
      if (!accepted) reasons.push_back(std::move(reason));
    }
  }
  for (Reason& reason : reasons_.Entries()) reasons.push_back(std::move(reason));
  std::vector<std::string> own_reasons;
  if (rounds_) {
    std::vector<std::string> notes;
    rounds_->Finish(notes, own_reasons);
    for (const std::string& note : notes) report.add_notes(note);
  }
  const auto label_of = [this](uint32_t host) { return NameOf(host); };
  if (section_) section_->Finish(timeline_, label_of, report, own_reasons);
  if (disturb_) disturb_->Finish(timeline_, label_of, report, own_reasons);
  for (std::string& sentence : own_reasons) reasons.push_back({"", std::move(sentence)});
  OrderReasons(reasons);
  std::vector<std::string> sentences;
  for (const Reason& reason : reasons) sentences.push_back(reason.sentence);
  v1::VerdictReport& verdict = *report.mutable_verdict();
  verdict = section_ ? section_->Judge(sentences) : judge.Finish(sentences);
  if (disturb_) disturb_->AddTo(verdict);
  if (verdict.outcome() == v1::OUTCOME_INCONCLUSIVE) {
    for (std::string& sentence : SuspendedHosts(report)) reasons.push_back({kSuspendedReason, std::move(sentence)});
    OrderReasons(reasons);
    verdict.clear_reasons();
    for (const Reason& reason : reasons) verdict.add_reasons(reason.sentence);
  }
  for (std::string& warning : VerdictWarnings(report)) verdict.add_warnings(std::move(warning));
  if (RunKindOf(report.plan()) == RunKind::kPlacement) {
    *report.mutable_placement() = MakePlacementReport(report, run_->steps());
  }
  if (report.plan().has_mq_log()) *report.mutable_mq_log() = MakeMqLogReport(report);
  if (report.plan().has_watch()) *report.mutable_watch() = MakeWatchReport(report, hosts_);
  return report;
}

v1::Report Analyzer::SoFar(size_t first_step) const {
  v1::Report report;
  SetRun(report);
  if (run_) *report.mutable_plan() = run_->plan();
  for (size_t i = first_step; i < reports_.size(); ++i) *report.add_steps() = reports_[i];
  SetHosts(report);
  return report;
}

void Analyzer::SetRun(v1::Report& report) const {
  v1::RunReport& run = *report.mutable_run();
  run.set_state(v1::RUN_STATE_CUT_OFF);
  if (!run_) {
    run.set_state_reason("the journal ends before the run began");
    return;
  }
  run.set_id(run_->run_id());
  run.set_name(run_->plan().name());
  run.set_version(run_->version());
  *run.mutable_begin() = timeline_.ToUtc(begin_ns_);
  *run.mutable_end() = timeline_.ToUtc(last_ns_);
  run.set_hosts(static_cast<uint32_t>(hosts_.size()));
  for (const auto& [number, facts] : hosts_) run.set_queue_managers(run.queue_managers() + facts.qms());
  // The queue managers of a placement have files on two hosts each.
  if (HasPlacement(run_->plan())) run.set_queue_managers(static_cast<uint32_t>(run_->plan().placement_size()));
  run.set_frame_interval_ns(interval_ns_);
  if (run_->has_controller()) *run.mutable_controller() = run_->controller();
  if (!run_end_) {
    run.set_state_reason("the journal ends before the run does");
    return;
  }
  run.set_state_reason(run_end_->cut_short());
  run.set_state(run_end_->cut_short().empty() ? v1::RUN_STATE_COMPLETE
                : IsInterrupted(*run_end_)    ? v1::RUN_STATE_INTERRUPTED
                                              : v1::RUN_STATE_ABORTED);
}

void Analyzer::SetHosts(v1::Report& report) const {
  for (const auto& [number, facts] : hosts_) {
    v1::HostReport& host = *report.add_hosts();
    host = MakeHostReport(facts);
    *host.mutable_clock() = ClockOf(facts);
    if (facts.lost) SetLoss(facts, report, host);
    for (const HostFacts::Fault& fault : facts.faults) {
      v1::FaultReport& line = *host.add_faults();
      *line.mutable_at() = timeline_.ToUtc(fault.at_ns);
      line.set_step(fault.fault.step() < 0 ? 0 : static_cast<uint32_t>(fault.fault.step()) + 1);
      line.set_qm(fault.fault.fault().qm());
      line.set_message(fault.fault.fault().message());
    }
  }
}

void Analyzer::SetLoss(const HostFacts& facts, const v1::Report& report, v1::HostReport& host) const {
  v1::LossReport& loss = *host.mutable_lost();
  *loss.mutable_at() = timeline_.ToUtc(facts.lost_at_ns);
  loss.set_reason(facts.lost->reason());
  if (std::string command = CleanupCommandLine(facts.joined); !command.empty()) {
    loss.set_cleanup_command(std::move(command));
  }
  if (facts.lost->step() < 0) return;
  loss.set_step(static_cast<uint32_t>(facts.lost->step()) + 1);
  for (const v1::StepReport& step : report.steps()) {
    if (step.number() != loss.step()) continue;
    for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) {
      if (scope.host() != facts.label() || !scope.has_data_until()) continue;
      if (scope.measured_ns() > 0) *loss.mutable_data_until() = scope.data_until();
    }
  }
}

v1::ClockReport Analyzer::ClockOf(const HostFacts& facts) const {
  const uint32_t number = facts.joined.host();
  v1::ClockReport clock = timeline_.MakeClockReport(number, measured_.empty() ? last_ns_ : measured_.back().to_ns);
  for (const MeasuredTime& measured : measured_) {
    for (int64_t i = 0; i <= kClockSamples; ++i) {
      const int64_t moment_ns = measured.from_ns + (measured.to_ns - measured.from_ns) / kClockSamples * i;
      const std::optional<int64_t> error_ns = timeline_.ErrorAt(number, moment_ns);
      if (error_ns) clock.set_error_ns(std::max(clock.error_ns(), *error_ns));
    }
  }
  if (const auto speed = wrong_speeds_ppm_.find(number); speed != wrong_speeds_ppm_.end()) {
    clock.set_drift_ppm(speed->second);
  }
  const v1::HostDescription& description = facts.joined.description();
  clock.set_time_synchronized(description.time_synchronized());
  clock.set_time_error_ns(description.time_error_ns());
  if (description.has_time_estimated_error_ns()) {
    clock.set_time_estimated_error_ns(description.time_estimated_error_ns());
  }
  if (description.has_time_service()) clock.set_time_service(description.time_service());
  clock.set_source(description.clock_source());
  clock.set_resolution_ns(description.clock_resolution_ns());
  clock.set_read_ns(description.clock_read_ns());
  return clock;
}

void Analyzer::AddHostNotes(const v1::Report& report) {
  for (const v1::HostReport& host : report.hosts()) {
    std::vector<v1::MountReport> mounts = {host.mount()};
    mounts.insert(mounts.end(), host.more_mounts().begin(), host.more_mounts().end());
    std::set<std::string> caveats;
    for (const v1::MountReport& mount : mounts) {
      const uint32_t read_percent = report.plan().read_percent();
      const bool reads = read_percent > 0;
      const char* const operations = !reads ? "writes" : read_percent < kOnlyReads ? "reads and writes" : "reads";
      if (!mount.direct_refused().empty()) {
        notes_.Add("direct", absl::StrCat(host.label(), ": O_DIRECT was refused (", mount.direct_refused(), "); the ",
                                          operations, " went through the page cache."));
      }
      // A read that the page cache served shows nothing of the storage: a run with such reads passes no criterion.
      if (reads && !mount.direct() && hosts_.at(host.number()).prepared) {
        NoteBook& book = report.plan().criteria().empty() ? notes_ : reasons_;
        book.Add("page cache", absl::StrCat(host.label(),
                                            ": its reads went through the page cache, and may show the host's "
                                            "memory in place of the storage."));
      }
      if (mount.caveat().empty() || !caveats.insert(mount.caveat()).second) continue;
      notes_.Add("caveat", absl::StrCat(host.label(), ": ", Sentence(mount.caveat())));
    }
    if (const std::string& ours = report.run().version(); !host.version().empty() && host.version() != ours) {
      notes_.Add("version", absl::StrCat(host.label(), ": its agent is version ", host.version(), ", the controller ",
                                         ours, "; both speak the same protocol."));
    }
    const v1::ClockReport& clock = host.clock();
    if (report.steps_size() > 0 && clock.probes() == 0) {
      notes_.Add("unmapped", absl::StrCat(host.label(), ": no clock probe was answered; its moments are not known."));
    }
    // A clock at the wrong speed steps from each probe to the next, and has its own note.
    if (clock.steps_size() > 0 && !wrong_speeds_ppm_.contains(host.number())) {
      notes_.Add("clock", absl::StrCat(host.label(), ": its clock stepped ", clock.steps_size(),
                                       " times during the run; each interval between them is mapped on its own."));
    }
    const int64_t difference_ns = clock.wall_clock_difference_ns();
    if (difference_ns > kWallClockNoteNs || difference_ns < -kWallClockNoteNs) {
      notes_.Add("wall", absl::StrFormat("%s: its wall clock differs from the controller's by %.3f s (display only; "
                                         "nothing here depends on it).",
                                         host.label(), static_cast<double>(difference_ns) / 1e9));
    }
  }
  const auto mixed = [](const auto& host) { return host.second.mixed_storage; };
  if (hosts_.size() > 1 && std::any_of(hosts_.begin(), hosts_.end(), mixed)) {
    notes_.Add("directories",
               "Queue managers of a host have directories of their own: hosts that share any of these count as one "
               "storage, with all of them, and stalls of one host are not compared with those of others.");
  }
  for (const auto& [number, facts] : hosts_) {
    const int64_t set_ns = timeline_.WallClockSetNs(number);
    if (set_ns <= kWallClockSetNoteNs) continue;
    notes_.Add("wall set",
               absl::StrFormat("%s: its wall clock was set by %.3f s during the run (display only; nothing here "
                               "depends on it).",
                               facts.label(), static_cast<double>(set_ns) / 1e9));
  }
}

}  // namespace plimsoll
