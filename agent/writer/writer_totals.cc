// What writers counted themselves in a step, apart from the recorder.
#include <algorithm>

#include "agent/writer/commit_tally.h"
#include "agent/writer/rate_schedule.h"
#include "agent/writer/writer_tally.h"
#include "common/protocol.h"

namespace plimsoll {

v1::WriterTotals WriterTally::Totals(int64_t measured_end_ns) const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  v1::WriterTotals totals;
  totals.set_qm(params_.qm);
  totals.set_writes(state_.writes.load(kRelaxed));
  totals.set_bytes(state_.bytes.load(kRelaxed));
  totals.set_latency_sum_ns(state_.latency_sum_ns.load(kRelaxed));
  totals.set_latency_max_ns(state_.latency_max_ns.load(kRelaxed));
  totals.set_first_start_ns(state_.first_start_ns.load(kRelaxed));
  totals.set_last_end_ns(state_.last_end_ns.load(kRelaxed));
  totals.set_ring_full_waits(state_.ring_full_waits.load(kRelaxed));
  totals.set_ring_full_wait_ns(state_.ring_full_wait_ns.load(kRelaxed));
  totals.set_max_behind_writes(state_.max_behind_writes.load(kRelaxed));
  totals.set_max_behind_ns(state_.max_behind_ns.load(kRelaxed));
  if (params_.schedule) SetNotIssued(measured_end_ns, totals);
  return totals;
}

void WriterTally::AddMoreTotals(int64_t measured_end_ns, v1::StepDone& done) const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  if (read_) {
    v1::WriterTotals& reads = *done.add_writers();
    reads.set_qm(params_.qm);
    reads.set_operation(params_.access->read_operation());
    reads.set_writes(state_.reads.load(kRelaxed));
    reads.set_bytes(state_.read_bytes.load(kRelaxed));
    reads.set_latency_sum_ns(state_.read_latency_sum_ns.load(kRelaxed));
    reads.set_latency_max_ns(state_.read_latency_max_ns.load(kRelaxed));
    reads.set_first_start_ns(state_.read_first_start_ns.load(kRelaxed));
    if (params_.schedule) SetNotIssued(measured_end_ns, reads);
  }
  if (commits_) {
    v1::WriterTotals& commits = *done.add_writers();
    commits.set_qm(params_.qm);
    commits.set_operation(params_.commit_operation);
    commits.set_writes(state_.commits.commits.load(kRelaxed));
    commits.set_bytes(state_.commits.bytes.load(kRelaxed));
    commits.set_latency_sum_ns(state_.commits.latency_sum_ns.load(kRelaxed));
    commits.set_latency_max_ns(state_.commits.latency_max_ns.load(kRelaxed));
    commits.set_first_start_ns(state_.commits.first_start_ns.load(kRelaxed));
    *commits.mutable_not_issued_age() = commits_->WaitingAges(measured_end_ns);
    commits.set_not_issued(commits.not_issued_age().count());
  }
  if (!params_.measure_parts) return;
  for (const uint32_t part : {kWriteCallOperation, kSyncOperation}) {
    const WriterState::PartCount& count = part == kSyncOperation ? state_.sync : state_.write_call;
    v1::WriterTotals& own = *done.add_writers();
    own.set_qm(params_.qm);
    own.set_operation(part);
    own.set_writes(state_.writes.load(kRelaxed));
    own.set_latency_sum_ns(count.latency_sum_ns.load(kRelaxed));
    own.set_latency_max_ns(count.latency_max_ns.load(kRelaxed));
  }
}

void WriterTally::SetNotIssued(int64_t measured_end_ns, v1::WriterTotals& totals) const {
  const RateSchedule& schedule = *params_.schedule;
  const uint64_t completed =
      state_.writes.load(std::memory_order_relaxed) + state_.reads.load(std::memory_order_relaxed);
  // An operation that failed was started.
  const uint64_t started = completed + (state_.end == LoopEnd::kFailed ? 1 : 0);
  const uint64_t due_end = schedule.DueBefore(measured_end_ns);
  const uint64_t due_before = schedule.DueBefore(params_.times.measured_start_ns());
  const uint64_t first = std::max(started, due_before);
  const bool main = totals.operation() == kMainOperation;
  if (main) totals.set_due(due_end - std::min(due_before, due_end));
  SetNotIssuedOf(main, first, due_end, measured_end_ns, totals);
  // The first of them would have been started then; the others wait for no longer on the generator's account.
  int64_t prompt_start_ns = std::max(schedule.DueAt(first), prompt_end_ns_);
  if (state_.end == LoopEnd::kFailed && state_.failure.start_ns != 0) {
    // Until the write that failed was over, they waited for the storage.
    prompt_start_ns =
        std::max(schedule.DueAt(completed), prompt_end_ns_) + state_.finished_ns - state_.failure.start_ns;
  }
  v1::StartDelay& delay = *totals.mutable_start_delay();
  if (totals.not_issued() == 0) return;
  delay.set_max_ns(static_cast<uint64_t>(std::max<int64_t>(measured_end_ns - prompt_start_ns, 0)));
  if (delay.max_ns() > kPromptStartNs) delay.set_late_writes(totals.not_issued());
}

void WriterTally::SetNotIssuedOf(bool main, uint64_t from, uint64_t to, int64_t measured_end_ns,
                                 v1::WriterTotals& totals) const {
  const RateSchedule& schedule = *params_.schedule;
  if (read_) {
    const Access& access = *params_.access;
    const ChosenWrites chosen{[main, &access](uint64_t number) {
      const uint64_t reads = access.ReadsBelow(number);
      return main ? number - reads : reads;
    }};
    *totals.mutable_not_issued_age() = ChosenNotIssuedAges(schedule, from, to, measured_end_ns, chosen);
  } else {
    *totals.mutable_not_issued_age() = NotIssuedAges(schedule, from, to, measured_end_ns);
  }
  totals.set_not_issued(totals.not_issued_age().count());
}

}  // namespace plimsoll
