#include "controller/analysis/analyzer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// No run has more hosts; bounds what a damaged journal can make us hold.
constexpr size_t kMaxHosts = 100'000;

// How long a stall lasts by the plan; 0: it does not say.
int64_t StallOf(const v1::TestPlan& plan) {
  return plan.stall_ns() > 0 && IsSaneMoment(plan.stall_ns()) ? plan.stall_ns() : 0;
}

const char* RecordName(const v1::JournalRecord& record) {
  switch (record.record_case()) {
    case v1::JournalRecord::kRunBegin:
      return "run begin";
    case v1::JournalRecord::kHostJoined:
      return "host";
    case v1::JournalRecord::kProbes:
      return "clock probes";
    case v1::JournalRecord::kHostPrepared:
      return "preparation";
    case v1::JournalRecord::kStepAhead:
      return "step ahead";
    case v1::JournalRecord::kHostCommand:
      return "command";
    case v1::JournalRecord::kHostCommandDone:
      return "answer to a command";
    case v1::JournalRecord::kStepBegin:
      return "step begin";
    case v1::JournalRecord::kFrames:
      return "frames";
    case v1::JournalRecord::kStepDone:
      return "step totals";
    case v1::JournalRecord::kHostLost:
      return "loss";
    case v1::JournalRecord::kFault:
      return "fault";
    case v1::JournalRecord::kStepEnd:
      return "step end";
    case v1::JournalRecord::kNote:
      return "note";
    case v1::JournalRecord::kRunEnd:
      return "run end";
    case v1::JournalRecord::RECORD_NOT_SET:
      return "unknown";
  }
  return "unknown";
}

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
      return OnFrames(record.frames());
    case v1::JournalRecord::kStepDone:
      return OnStepDone(record.step_done());
    case v1::JournalRecord::kHostLost:
      return OnHostLost(record.host_lost());
    case v1::JournalRecord::kFault:
      return OnFault(record.fault());
    case v1::JournalRecord::kStepEnd:
      return OnStepEnd(record.step_end());
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
  const int64_t interval_ns = begin.frame_interval_ns();
  if (interval_ns < kNsPerMs || interval_ns > kNsPerSecond || kNsPerSecond % interval_ns != 0) {
    return absl::InvalidArgumentError("its frame interval does not divide one second; 250 ms are taken");
  }
  interval_ns_ = interval_ns;
  return absl::OkStatus();
}

absl::Status Analyzer::OnHostJoined(const v1::HostJoined& joined) {
  if (hosts_.size() >= kMaxHosts) return absl::InvalidArgumentError("too many hosts");
  const auto same = std::find_if(hosts_.begin(), hosts_.end(),
                                 [&](const auto& host) { return host.second.label() == joined.label(); });
  if (hosts_.contains(joined.host()) || same != hosts_.end())
    return absl::InvalidArgumentError("a host joins for the second time");
  hosts_[joined.host()].joined = joined;
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
    if (begin.step() >= static_cast<uint32_t>(run_->steps_size()))
      return absl::InvalidArgumentError("the run has no such step");
    if (begin.step() < (step_ ? step_->index() : least_step_)) return absl::InvalidArgumentError("the step was over");
    const v1::LogStep& asked = run_->steps(static_cast<int>(begin.step()));
    const StepShape shape{asked.block_size_bytes(), asked.duration_ns(), asked.warmup_ns(), interval_ns_,
                          StallOf(run_->plan())};
    if (shape.duration_ns <= 0 || !IsSaneMoment(shape.duration_ns) || !IsSaneMoment(shape.warmup_ns) ||
        shape.measured_intervals() > INT32_MAX || shape.warmup_intervals() > INT32_MAX) {
      return absl::InvalidArgumentError("its step has lengths that no run can have");
    }
    CloseStep();
    SetStorages();
    step_ = std::make_unique<StepStats>(begin.step(), asked, shape, KeepsSeconds(shape));
    step_ended_ = false;
  }
  return step_->Begin(begin, hosts_);
}

absl::Status Analyzer::OnFrames(const v1::HostFrames& frames) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(frames.host()));
  for (const v1::Frame& frame : frames.frames()) {
    absl::Status taken = CheckStep(frame.step());
    if (taken.ok()) {
      HostStep& part = step_->Host(frames.host(), hosts_.at(frames.host()).qms());
      taken = part.AddFrame(frame, step_->guard());
      if (!taken.ok()) part.NoteRefusal(frame.qm());
    }
    if (!taken.ok()) {
      Refuse(absl::StrCat("a frame of ", NameOf(frames.host()), "/qm", frame.qm(), ", step ",
                          uint64_t{frame.step()} + 1, ": ", std::string(taken.message())));
    } else if (on_frame_) {
      on_frame_(frames.host(), frame);
    }
  }
  if (step_) step_->ClosePassedSeconds(frames.host());
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
  return step_->AddSample(host, hosts_.at(host).qms(), sample, load_rows_left_);
}

absl::Status Analyzer::OnStepDone(const v1::HostStepDone& done) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(done.host()));
  PLIMSOLL_RETURN_IF_ERROR(CheckStep(done.done().step()));
  HostStep& part = step_->Host(done.host(), hosts_.at(done.host()).qms());
  for (const v1::WriterTotals& totals : done.done().writers()) {
    const absl::Status taken = part.SetTotals(totals, step_->guard());
    if (!taken.ok()) {
      part.NoteRefusal(totals.qm());
      Refuse(absl::StrCat("totals of ", NameOf(done.host()), "/qm", totals.qm(), ": ", std::string(taken.message())));
    }
  }
  part.SetDone(done.done().stopped());
  step_->Leave(done.host());
  return absl::OkStatus();
}

absl::Status Analyzer::OnHostLost(const v1::HostLost& lost) {
  PLIMSOLL_RETURN_IF_ERROR(CheckHost(lost.host()));
  HostFacts& facts = hosts_.at(lost.host());
  if (facts.lost) return absl::InvalidArgumentError("a host is lost for the second time");
  facts.lost = lost;
  facts.lost_at_ns = last_ns_;
  if (step_) step_->Leave(lost.host());
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
  step_ended_ = true;
  return absl::OkStatus();
}

void Analyzer::SetStorages() {
  if (!storages_set_) GroupStorages(hosts_);
  storages_set_ = true;
}

bool Analyzer::KeepsSeconds(const StepShape& shape) {
  // A step's last, begun second counts too.
  const int64_t seconds = (shape.duration_ns + kNsPerSecond - 1) / kNsPerSecond;
  if (seconds > kMaxDistributionSeconds || seconds > distribution_seconds_left_) return false;
  distribution_seconds_left_ -= seconds;
  return true;
}

void Analyzer::OnRunEnd(const v1::RunEnd& end) {
  run_end_ = end;
  for (const std::string& left : end.left_behind()) notes_.Add("left", absl::StrCat("Left behind: ", left));
}

void Analyzer::CloseStep() {
  if (!step_) return;
  SetStorages();
  const RunContext context{timeline_,         hosts_,
                           *judge_,           notes_,
                           reasons_,          loss_reasons_,
                           series_rows_,      series_rows_left_,
                           untold_rows_left_, distribution_buckets_left_};
  reports_.push_back(StepReporter(*step_, context).Make());
  const int64_t start_ns = step_->measured_start_ns();
  measured_.push_back({start_ns, start_ns + reports_.back().measured_ns()});
  least_step_ = step_->index() + 1;
  step_.reset();
  if (on_step_) on_step_(reports_.back());
}

}  // namespace plimsoll
