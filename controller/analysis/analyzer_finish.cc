// The end of Analyzer: what the report says of the run and of its hosts.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "controller/analysis/analyzer.h"

namespace plimsoll {
namespace {

// Moments of a step at which a clock's error bound is looked at.
constexpr int64_t kClockSamples = 64;
// Wall clocks that differ by more are worth a note: logs of two hosts are then hard to read side by side.
constexpr int64_t kWallClockNoteNs = kNsPerSecond;
// An agent that was not let run between the readings of its two clocks seems to have been set by as long.
constexpr int64_t kWallClockSetNoteNs = kNsPerSecond;

constexpr char kInterrupted[] = "interrupted";

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
  SetHosts(report);
  AddHostNotes(report);
  for (const std::string& note : notes_.Sentences()) report.add_notes(note);

  Judge& judge = judge_ ? *judge_ : *(judge_ = std::make_unique<Judge>(v1::TestPlan(), 0U));
  judge.ObserveRun(report);
  std::vector<std::string> reasons = RunReasons(report, mid_step).Sentences();
  NoteBook losses;
  for (const auto& [number, facts] : hosts_) {
    for (const HostFacts::Fault& fault : facts.faults) {
      const uint32_t qm = fault.fault.fault().qm();
      losses.Add("fault", absl::StrCat(facts.label(), qm == 0 ? "" : absl::StrCat("/qm", qm),
                                       " failed: ", Sentence(fault.fault.fault().message())));
    }
  }
  for (const auto& [number, facts] : hosts_) {
    if (facts.lost) losses.Add("lost", absl::StrCat(facts.label(), " was lost: ", Sentence(facts.lost->reason())));
  }
  const bool accepted = judge.AcceptsLosses();
  const auto add = [&](const std::vector<std::string>& more, bool is_reason) {
    for (const std::string& sentence : more) {
      if (is_reason) {
        reasons.push_back(sentence);
      } else {
        report.add_notes(sentence);
      }
    }
  };
  add(losses.Sentences(), !accepted);
  add(loss_reasons_.Sentences(), !accepted);
  add(reasons_.Sentences(), true);
  *report.mutable_verdict() = judge.Finish(reasons);
  return report;
}

NoteBook Analyzer::RunReasons(const v1::Report& report, bool mid_step) const {
  NoteBook reasons;
  if (!run_) {
    reasons.Add("run", "The journal ends before the run began.");
  } else if (!run_end_) {
    reasons.Add("run", mid_step ? absl::StrCat("The journal ends in step ", report.steps().rbegin()->number(), " of ",
                                               run_->steps_size(), ".")
                                : "The journal ends before the run does.");
  } else if (!run_end_->cut_short().empty()) {
    reasons.Add("run", absl::StrCat("The run ended early: ", Sentence(run_end_->cut_short())));
  } else if (report.steps_size() < run_->steps_size()) {
    reasons.Add("run", absl::StrCat("Only ", report.steps_size(), " of ", run_->steps_size(), " steps ran."));
  }
  for (const v1::StepReport& step : report.steps()) {
    // The run mostly ends for the same reason, and has said so.
    if (!step.cut_short().empty() && !(run_end_ && run_end_->cut_short() == step.cut_short())) {
      reasons.Add("step", absl::StrCat("Step ", step.number(), " ended early: ", Sentence(step.cut_short())));
    }
  }
  return reasons;
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
  run.set_frame_interval_ns(interval_ns_);
  if (!run_end_) {
    run.set_state_reason("the journal ends before the run does");
    return;
  }
  run.set_state_reason(run_end_->cut_short());
  run.set_state(run_end_->cut_short().empty()                       ? v1::RUN_STATE_COMPLETE
                : run_end_->cut_short().rfind(kInterrupted, 0) == 0 ? v1::RUN_STATE_INTERRUPTED
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
  if (facts.lost->step() < 0) return;
  loss.set_step(static_cast<uint32_t>(facts.lost->step()) + 1);
  for (const v1::StepReport& step : report.steps()) {
    if (step.number() != loss.step()) continue;
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() != v1::SCOPE_KIND_HOST || scope.host() != facts.label() || !scope.has_data_until()) continue;
      if (scope.measured_ns() > 0) *loss.mutable_data_until() = scope.data_until();
    }
  }
}

v1::ClockReport Analyzer::ClockOf(const HostFacts& facts) const {
  const uint32_t number = facts.joined.host();
  v1::ClockReport clock = timeline_.MakeClockReport(number, measured_.empty() ? last_ns_ : measured_.back().to_ns);
  for (const Stretch& stretch : measured_) {
    for (int64_t i = 0; i <= kClockSamples; ++i) {
      const int64_t moment_ns = stretch.from_ns + (stretch.to_ns - stretch.from_ns) / kClockSamples * i;
      const std::optional<int64_t> error_ns = timeline_.ErrorAt(number, moment_ns);
      if (error_ns) clock.set_error_ns(std::max(clock.error_ns(), *error_ns));
    }
  }
  const v1::HostDescription& description = facts.joined.description();
  clock.set_time_synchronized(description.time_synchronized());
  clock.set_time_error_ns(description.time_error_ns());
  clock.set_source(description.clock_source());
  clock.set_resolution_ns(description.clock_resolution_ns());
  clock.set_read_ns(description.clock_read_ns());
  return clock;
}

void Analyzer::AddHostNotes(const v1::Report& report) {
  for (const v1::HostReport& host : report.hosts()) {
    const v1::MountReport& mount = host.mount();
    if (!mount.direct_refused().empty()) {
      notes_.Add("direct", absl::StrCat(host.label(), ": O_DIRECT was refused (", mount.direct_refused(),
                                        "); the writes went through the page cache."));
    }
    if (!mount.caveat().empty()) notes_.Add("caveat", absl::StrCat(host.label(), ": ", Sentence(mount.caveat())));
    const v1::ClockReport& clock = host.clock();
    if (report.steps_size() > 0 && clock.probes() == 0) {
      notes_.Add("unmapped", absl::StrCat(host.label(), ": no clock probe was answered; its moments are not known."));
    }
    if (clock.steps_size() > 0) {
      notes_.Add("clock", absl::StrCat(host.label(), ": its clock stepped ", clock.steps_size(),
                                       " times during the run; each stretch is mapped on its own."));
    }
    const int64_t difference_ns = clock.wall_clock_difference_ns();
    if (difference_ns > kWallClockNoteNs || difference_ns < -kWallClockNoteNs) {
      notes_.Add("wall", absl::StrFormat("%s: its wall clock differs from the controller's by %.3f s (display only; "
                                         "nothing here depends on it).",
                                         host.label(), static_cast<double>(difference_ns) / 1e9));
    }
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
