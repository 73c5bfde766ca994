#include "agent/writer/writer_tally.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agent/writer/commit_tally.h"

namespace plimsoll {
namespace {

// A write may start a little before it is due.
int64_t ResponseNs(const Sample& sample, int64_t due_ns) {
  return std::max<int64_t>(sample.end_ns() - due_ns, 0);
}

std::vector<uint64_t> SizesOf(const std::optional<SizeMix>& mix) {
  std::vector<uint64_t> sizes;
  if (!mix) return sizes;
  for (const SizeMix::Share& share : mix->shares()) sizes.push_back(share.bytes);
  return sizes;
}

}  // namespace

using google::protobuf::RepeatedPtrField;

WriterTally::WriterTally(const TallyParams& params, WriterState& state, const std::atomic<int64_t>& stop_trace_at_ns)
    : params_(params),
      state_(state),
      stop_trace_at_ns_(stop_trace_at_ns),
      interval_(params.times.first_interval()),
      interval_end_ns_(params.times.EndOf(interval_)),
      places_(params_.layout, params_.first_block, params_.access ? &*params_.access : nullptr),
      pause_(params.pause_percent),
      previous_end_ns_(params.times.start_ns()),
      main_(SizesOf(params.mix), params.measure_parts),
      parts_(params.measure_parts ? kSyncOperation : 0),
      stalls_(params.reported_from_ns > 0 ? params.reported_from_ns : params.stall_ns, params.schedule,
              params.times.interval_ns()) {
  if (params.access && params.access->read_operation() != kMainOperation) {
    read_.emplace(SizesOf(params.mix), /*parts=*/false);
  }
  if (params.commits) {
    commits_ = std::make_unique<CommitTally>(*params.commits, params.layout, params.times.start_ns());
  }
}

WriterTally::~WriterTally() = default;

void WriterTally::Poll(int64_t now_ns, RepeatedPtrField<v1::Frame>& frames, int64_t last_end_ns) {
  if (done_) return;
  // In this order: what was published before these were stored is then in the ring.
  const bool finished = state_.finished.load(std::memory_order_acquire);
  const int64_t mark = state_.mark.load(std::memory_order_acquire);
  Drain(now_ns, frames);
  if (!finished) {
    if (mark != WriterState::kReturned) CutOverdue(now_ns, std::max<int64_t>(mark, 0), frames);
    return;
  }
  WatchTheEnd();
  if (last_end_ns == kOthersRun) return CutOverdue(now_ns, std::nullopt, frames);
  const int64_t end_ns = std::max(state_.finished_ns, last_end_ns);
  CutWhatIsLeft(std::max(now_ns, end_ns), end_ns, frames);
}

void WriterTally::Drain(int64_t now_ns, RepeatedPtrField<v1::Frame>& frames) {
  const int32_t closing = params_.times.closing_interval();
  state_.ring.Drain([&](const Sample& sample) {
    // Its write follows, and ends with it.
    if (IsPart(sample.operation())) {
      sync_ = sample;
      return;
    }
    // The recorder may have lost its CPU since it read the clock: the sample knows better.
    while (interval_ < closing && sample.end_ns() >= interval_end_ns_) {
      Cut(std::max(now_ns, sample.end_ns()), sample.start_ns, frames);
    }
    Take(sample);
  });
}

void WriterTally::CutOverdue(int64_t now_ns, std::optional<int64_t> next_start_ns,
                             RepeatedPtrField<v1::Frame>& frames) {
  while (overdue(now_ns)) Cut(now_ns, next_start_ns, frames);
}

void WriterTally::CutWhatIsLeft(int64_t now_ns, int64_t last_end_ns, RepeatedPtrField<v1::Frame>& frames) {
  const int32_t closing = params_.times.closing_interval();
  // A step that was stopped ends with the interval in which its writer noticed.
  const int32_t last = std::min(params_.times.IntervalOf(last_end_ns), closing - 1);
  while (interval_ <= last) Cut(now_ns, std::nullopt, frames);
  // Regular intervals beyond the stop, and the closing one, only where an operation completed in them or there is a
  // stall to report.
  const bool any = main_.figures().count() > 0 || (read_ && read_->figures().count() > 0) ||
                   (commits_ && commits_->figures().count() > 0);
  if (any || stalls_.unreported()) Cut(now_ns, std::nullopt, frames);
  done_ = true;
}

// An operation is due when the schedule says so; in a closed loop, when the pause after the previous one ends. With
// group commit, a write is due as soon as commits wait.
int64_t WriterTally::DueAt(uint64_t number) const {
  if (params_.schedule) return params_.schedule->DueAt(number - 1);
  if (commits_) return commits_->NextStart();
  return number == 1 ? previous_end_ns_ : previous_end_ns_ + params_.delay_ns + pause_ns_;
}

void WriterTally::WatchTheEnd() {
  if (std::exchange(end_watched_, true)) return;
  const int64_t due_ns = DueAt(taken_ + 1);
  if (state_.end == LoopEnd::kFailed && state_.failure.start_ns != 0) {
    const int64_t start_ns = state_.failure.start_ns;
    stalls_.Take(taken_ + 1, {start_ns, static_cast<uint64_t>(state_.finished_ns - start_ns)}, due_ns);
    return stalls_.Finish(state_.finished_ns, state_.finished_ns);
  }
  // Nothing is due once the step is over.
  stalls_.Finish(due_ns, std::min(state_.finished_ns, params_.times.end_ns()));
}

void WriterTally::Take(const Sample& sample) {
  const uint64_t number = ++taken_;
  WholeTally::Taken taken{.sample = sample, .bytes = BytesOf(sample), .due_ns = DueAt(number), .warmup = interval_ < 0};
  if (commits_) [[unlikely]] {
    const CommitWalk::Write write = commits_->Take(sample);
    taken.place = write.place;
    taken.bytes = write.bytes;
  } else {
    taken.place = places_.Take(taken.bytes);
  }
  // Relaxed: nothing else is read through it.
  taken.traced = params_.trace && sample.end_ns() < stop_trace_at_ns_.load(std::memory_order_relaxed);
  stalls_.Take(number, sample, taken.due_ns);
  const int64_t measured_start_ns = params_.times.measured_start_ns();
  // What lies before the measured start belongs to the warm-up, so that the measured frames add up.
  const bool first_measured = previous_end_ns_ < measured_start_ns && sample.end_ns() >= measured_start_ns;
  between_ns_ += sample.start_ns - (first_measured ? measured_start_ns : previous_end_ns_);
  previous_end_ns_ = sample.end_ns();
  pause_ns_ = pause_.After(sample.operation() != kMainOperation, sample.latency_ns());

  // Only a step that reads and writes has samples of another whole operation.
  if (sample.operation() != kMainOperation) [[unlikely]] {
    return TakeRead(taken);
  }
  if (parts_.empty()) {
    main_.Take(taken);
  } else {
    const Sample call(sample.start_ns, static_cast<uint64_t>(sync_.start_ns - sample.start_ns), kWriteCallOperation);
    taken.call_ns = call.latency_ns();
    const uint64_t seq = main_.Take(taken);
    parts_[kWriteCallOperation - 1].Take(seq, call, taken.place, taken.due_ns);
    parts_[kSyncOperation - 1].Take(seq, sync_, taken.place, taken.due_ns);
  }
  if (params_.schedule) TakeResponse(taken, main_);
}

void WriterTally::TakeRead(const WholeTally::Taken& taken) {
  read_->Take(taken);
  if (params_.schedule) TakeResponse(taken, *read_);
}

void WriterTally::TakeResponse(const WholeTally::Taken& taken, WholeTally& tally) {
  // What a slow operation makes later ones wait for is in both ends: only what the writer itself lost is between them.
  prompt_end_ns_ = std::max(taken.due_ns, prompt_end_ns_) + static_cast<int64_t>(taken.sample.latency_ns());
  const auto delay_ns = static_cast<uint64_t>(std::max<int64_t>(taken.sample.end_ns() - prompt_end_ns_, 0));
  tally.TakeResponse(taken, ResponseNs(taken.sample, taken.due_ns), delay_ns);
}

void WriterTally::SetSample(const SlowestWrites::Entry& entry, v1::WriteSample& reported) const {
  reported.set_seq(entry.seq);
  reported.set_start_ns(entry.sample.start_ns);
  reported.set_latency_ns(entry.sample.latency_ns());
  reported.set_extent(params_.first_extent + entry.place.extent);
  reported.set_offset_bytes(params_.base_bytes + entry.place.offset_bytes);
  if (params_.schedule && !IsPart(entry.sample.operation())) {
    reported.set_response_ns(static_cast<uint64_t>(ResponseNs(entry.sample, entry.due_ns)));
  }
}

v1::Frame& WriterTally::AddFrame(const OperationTally& tally, uint32_t operation, int64_t now_ns,
                                 RepeatedPtrField<v1::Frame>& frames) const {
  v1::Frame& frame = *frames.Add();
  frame.set_step(params_.step);
  frame.set_qm(params_.qm);
  frame.set_operation(operation);
  frame.set_first_interval(interval_);
  frame.set_interval_count(1);
  frame.set_closing(interval_ == params_.times.closing_interval());
  tally.Report(frame);
  if (tally.count() > 0) SetSample(tally.slowest(), *frame.mutable_slowest());
  frame.set_cut_ns(now_ns);
  return frame;
}

void WriterTally::Cut(int64_t now_ns, std::optional<int64_t> next_start_ns, RepeatedPtrField<v1::Frame>& frames) {
  const auto set = [this](const SlowestWrites::Entry& entry, v1::WriteSample& reported) { SetSample(entry, reported); };
  v1::Frame& frame = AddFrame(main_.figures(), kMainOperation, now_ns, frames);
  const uint64_t writes = main_.figures().count();
  const uint64_t reads = read_ ? read_->figures().count() : 0;
  frame.set_between_ns(between_ns_);
  const auto set_phase = [this](const OperationTally& figures, v1::Frame& of) {
    if (!params_.schedule || figures.first_seq() != 1) return;
    of.set_first_phase_ns(figures.first_due_ns() - params_.times.start_ns());
  };
  set_phase(main_.figures(), frame);
  main_.Report(params_.schedule.has_value(), set, frame);
  stalls_.Report(frame.closing() ? std::numeric_limits<int64_t>::max() : interval_end_ns_, frame);
  if (next_start_ns) stalls_.ReportGrowing(interval_end_ns_, {taken_ + 1, DueAt(taken_ + 1), *next_start_ns}, frame);
  // Counted before the sample that waited was pushed: what a drained sample waited for is seen here.
  const uint64_t waits = state_.ring_full_waits.load(std::memory_order_relaxed);
  const uint64_t wait_ns = state_.ring_full_wait_ns.load(std::memory_order_relaxed);
  frame.set_ring_full_waits(waits - ring_full_waits_cut_);
  frame.set_ring_full_wait_ns(wait_ns - ring_full_wait_cut_ns_);
  ring_full_waits_cut_ = waits;
  ring_full_wait_cut_ns_ = wait_ns;
  frame.set_in_flight_since_ns(std::max<int64_t>(state_.mark.load(std::memory_order_relaxed), 0));
  const bool closing = frame.closing();
  for (uint32_t part = 0; part < parts_.size(); ++part) {
    // A closing frame only where a write completed then.
    if (!closing || writes > 0) AddFrame(parts_[part], part + 1, now_ns, frames);
  }
  if (read_ && (!closing || reads > 0)) {
    v1::Frame& read = AddFrame(read_->figures(), params_.access->read_operation(), now_ns, frames);
    set_phase(read_->figures(), read);
    read_->Report(params_.schedule.has_value(), set, read);
  }
  if (commits_ && (!closing || commits_->figures().count() > 0)) {
    commits_->Report(AddFrame(commits_->figures(), params_.commit_operation, now_ns, frames));
  }
  OpenNext();
}

void WriterTally::OpenNext() {
  ++interval_;
  interval_end_ns_ = params_.times.EndOf(interval_);
  for (OperationTally& part : parts_) part.Clear();
  between_ns_ = 0;
}

}  // namespace plimsoll
