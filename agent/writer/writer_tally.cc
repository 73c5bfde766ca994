#include "agent/writer/writer_tally.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/commit_tally.h"
#include "agent/writer/rate_schedule.h"
#include "common/protocol.h"
#include "common/units.h"

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

StallWatch::StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns)
    : stall_ns_(stall_ns > 0 ? stall_ns : std::numeric_limits<int64_t>::max()), schedule_(schedule) {
  // Stall intervals of a writer are disjoint; one may have begun before the frame, and one may be reported late.
  over_.reserve(std::min(static_cast<size_t>(interval_ns / stall_ns_) + 3, kMostStalls));
}

void StallWatch::TakeLate(uint64_t seq, const Sample& sample, int64_t due_ns) {
  const int64_t begin_ns = std::min(due_ns, sample.start_ns);
  const auto latency_ns = static_cast<int64_t>(sample.latency_ns());
  const int64_t stalled_ns = std::max(latency_ns, sample.start_ns - due_ns);
  const bool stalled = stalled_ns >= stall_ns_;
  if (growing_ && begin_ns >= open_.end_ns) Close();
  if (growing_) {
    ++writes_since_;
    in_flight_since_ns_ += latency_ns;
    if (stalled) {
      open_.end_ns = sample.end_ns();
      open_.writes += writes_since_;
      open_.in_flight_ns += in_flight_since_ns_;
      open_.longest_ns = std::max(open_.longest_ns, stalled_ns);
      writes_since_ = 0;
      in_flight_since_ns_ = 0;
    }
  } else if (stalled) {
    // Where the write was due before the one before it had ended, the writer was behind and wrote without a pause.
    open_ = {begin_ns,  sample.end_ns(), seq, 1, latency_ns + std::max<int64_t>(previous_end_ns_ - begin_ns, 0),
             stalled_ns};
    growing_ = true;
  }
  previous_end_ns_ = sample.end_ns();
  // The next write cannot overlap what was over when it was due.
  if (growing_ && (!schedule_ || schedule_->DueAt(seq) >= open_.end_ns)) Close();
}

void StallWatch::Finish(int64_t due_ns, int64_t until_ns) {
  if (until_ns - due_ns >= stall_ns_) {
    if (growing_ && due_ns < open_.end_ns) {
      open_.end_ns = std::max(open_.end_ns, until_ns);
      open_.writes += writes_since_;
      // The step's last write may have ended after it.
      const int64_t beyond_ns = std::clamp<int64_t>(previous_end_ns_ - open_.end_ns, 0, in_flight_since_ns_);
      open_.in_flight_ns += in_flight_since_ns_ - beyond_ns;
      open_.longest_ns = std::max(open_.longest_ns, until_ns - due_ns);
    } else {
      if (growing_) Close();
      open_ = {due_ns,           until_ns, 0, 0, std::clamp<int64_t>(previous_end_ns_ - due_ns, 0, until_ns - due_ns),
               until_ns - due_ns};
      growing_ = true;
    }
  }
  if (growing_) Close();
}

void StallWatch::Close() {
  if (over_.size() < kMostStalls) {
    over_.push_back(open_);
  } else {
    ++left_out_;
  }
  growing_ = false;
  writes_since_ = 0;
  in_flight_since_ns_ = 0;
}

void StallWatch::Set(const StallInterval& found, v1::StalledInterval& stall) {
  stall.set_begin_ns(found.begin_ns);
  stall.set_end_ns(found.end_ns);
  stall.set_first_seq(found.first_seq);
  stall.set_writes(found.writes);
  stall.set_in_flight_ns(found.in_flight_ns);
  stall.set_longest_ns(found.longest_ns);
}

void StallWatch::Report(int64_t until_ns, v1::Frame& frame) {
  size_t closed = 0;
  for (; closed < over_.size() && over_[closed].end_ns <= until_ns; ++closed) Set(over_[closed], *frame.add_stalls());
  over_.erase(over_.begin(), over_.begin() + static_cast<std::ptrdiff_t>(closed));
  // They came after all that were kept.
  if (!over_.empty()) return;
  frame.set_stalls_left_out(left_out_);
  left_out_ = 0;
}

void StallWatch::ReportGrowing(int64_t until_ns, const Pending& next, v1::Frame& frame) const {
  // On a schedule the next write was due before the stall interval was over: else it would not be growing.
  StallInterval found = open_;
  // A start that was read before the last write was taken may be that one's.
  const bool started = next.start_ns != 0 && next.start_ns >= previous_end_ns_ && next.start_ns < until_ns;
  const int64_t start_ns = started ? next.start_ns : until_ns;
  const int64_t stalled_ns = std::max(start_ns - next.due_ns, until_ns - start_ns);
  const bool stalled = stalled_ns >= stall_ns_;
  if (!growing_ && !stalled) return;
  if (stalled) {
    const int64_t begin_ns = std::min(next.due_ns, start_ns);
    if (!growing_) {
      found = {begin_ns, until_ns, started ? next.seq : 0, 0, std::max<int64_t>(previous_end_ns_ - begin_ns, 0), 0};
    } else {
      found.writes += writes_since_;
      found.in_flight_ns += in_flight_since_ns_;
    }
    found.end_ns = std::max(found.end_ns, until_ns);
    if (started) ++found.writes;
    found.in_flight_ns += until_ns - start_ns;
    found.longest_ns = std::max(found.longest_ns, stalled_ns);
  }
  Set(found, *frame.mutable_growing_stall());
}

void OperationTally::Report(v1::Frame& frame) const {
  *frame.mutable_latency() = latency_.ToProto();
  if (latency_.count() == 0) return;
  frame.set_first_seq(first_seq_);
  frame.set_first_start_ns(first_start_ns_);
  frame.set_last_end_ns(last_end_ns_);
  frame.set_fastest_seq(fastest_seq_);
}

void WholeTally::Report(bool rated, const std::function<void(const SlowestWrites::Entry&, v1::WriteSample&)>& set,
                        v1::Frame& frame) {
  if (rated) {
    *frame.mutable_response() = response_.ToProto();
    frame.mutable_start_delay()->set_max_ns(max_start_delay_ns_);
    frame.mutable_start_delay()->set_late_writes(late_);
  }
  frame.set_bytes(bytes_);
  if (const uint64_t first = figures_.first_seq(); first != 0) {
    slowest_.ForEachFrom(first, [&](const SlowestWrites::Entry& entry) { set(entry, *frame.add_slow()); });
    slowest_responses_.ForEachFrom(first,
                                   [&](const SlowestWrites::Entry& entry) { set(entry, *frame.add_slow_responses()); });
  }
  if (trace_.size() > 0) frame.add_trace(trace_.Finish());
  frame.set_untraced_writes(untraced_);
  figures_.Clear();
  response_.Clear();
  bytes_ = untraced_ = max_start_delay_ns_ = late_ = 0;
}

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
  if (finished) {
    WatchTheEnd();
    if (last_end_ns == kOthersRun) {
      while (interval_ < closing && now_ns >= interval_end_ns_ + kVisibilityNs) Cut(now_ns, std::nullopt, frames);
    } else {
      const int64_t end_ns = std::max(state_.finished_ns, last_end_ns);
      CutWhatIsLeft(std::max(now_ns, end_ns), end_ns, frames);
    }
    return;
  }
  if (mark == WriterState::kReturned) return;
  const int64_t started_ns = std::max<int64_t>(mark, 0);
  while (interval_ < closing && now_ns >= interval_end_ns_ + kVisibilityNs) Cut(now_ns, started_ns, frames);
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

namespace {

// How soon a frame that waits for its writer is looked at again, and how soon the step's end is noticed.
constexpr int64_t kShortTickNs = 1'000'000;

// From here on a late wake-up is reported whatever counts as a stall: the report warns of it.
constexpr int64_t kLateNs = 50 * kNsPerMs;

}  // namespace

struct StepRecorder::Writer {
  Writer(const TallyParams& params, WriterState& writer_state, const std::atomic<int64_t>& stop_trace_at_ns)
      : qm(params.qm), state(writer_state), tally(params, writer_state, stop_trace_at_ns) {}

  const uint32_t qm;
  WriterState& state;
  WriterTally tally;
  bool failure_reported = false;
};

StepRecorder::StepRecorder(std::span<const TallyParams> params, std::span<WriterState* const> states,
                           const StopControl& control, const std::atomic<int64_t>& stop_trace_at_ns, Hooks hooks,
                           WorkSink& sink)
    : times_(params.front().times),
      step_(params.front().step),
      one_pass_(params.front().one_pass),
      control_(control),
      hooks_(std::move(hooks)),
      sink_(sink),
      next_sample_ns_(times_.start_ns() + kNsPerSecond),
      reported_late_ns_(std::min(params.front().stall_ns / 2, kLateNs)) {
  for (size_t i = 0; i < params.size(); ++i) {
    writers_.push_back(std::make_unique<Writer>(params[i], *states[i], stop_trace_at_ns));
  }
}

StepRecorder::~StepRecorder() = default;

int64_t StepRecorder::Poll(int64_t now_ns, int64_t late_ns) {
  late_max_ns_ = std::max(late_max_ns_, static_cast<uint64_t>(std::max<int64_t>(late_ns, 0)));
  if (reported_late_ns_ > 0 && late_ns >= reported_late_ns_) {
    v1::RecorderPause& pause = *pauses_.Add();
    pause.set_begin_ns(now_ns - late_ns);
    pause.set_end_ns(now_ns);
  }
  const bool was_empty = batch_.frames().empty();
  bool all_done = true;
  bool overdue = false;
  int64_t next_cut_ns = std::numeric_limits<int64_t>::max();
  const int64_t last_end_ns = LastEndNs();
  for (const auto& writer : writers_) {
    WriterTally& tally = writer->tally;
    tally.Poll(now_ns, *batch_.mutable_frames(), last_end_ns);
    all_done = all_done && tally.done();
    overdue = overdue || tally.overdue(now_ns);
    if (!tally.done() && tally.open_interval() < times_.closing_interval()) {
      next_cut_ns = std::min(next_cut_ns, times_.EndOf(tally.open_interval()) + WriterTally::kVisibilityNs);
    }
  }
  if (was_empty) batch_since_ns_ = now_ns;
  ReportFailures();
  done_ = all_done;
  if (done_ || (!batch_.frames().empty() && (!IncompleteCut() || now_ns >= batch_since_ns_ + kPatienceNs))) {
    Send(now_ns);
  }
  const bool ending = now_ns >= std::min(times_.end_ns(), control_.limit_ns());
  const int64_t tick_ns = overdue || ending ? kShortTickNs : kTickNs;
  return std::min(now_ns + tick_ns, std::max(next_cut_ns, now_ns + kShortTickNs));
}

int64_t StepRecorder::LastEndNs() const {
  int64_t last_end_ns = 0;
  if (!one_pass_) return last_end_ns;
  for (const auto& writer : writers_) {
    // Acquire: the end was stored before.
    if (!writer->state.finished.load(std::memory_order_acquire)) return WriterTally::kOthersRun;
    last_end_ns = std::max(last_end_ns, writer->state.finished_ns);
  }
  return last_end_ns;
}

void StepRecorder::ReportFailures() {
  for (const auto& writer : writers_) {
    // Acquire: what the writer publishes about its end was stored before.
    if (writer->failure_reported || !writer->state.finished.load(std::memory_order_acquire)) continue;
    writer->failure_reported = true;
    if (writer->state.end != LoopEnd::kFailed) continue;
    v1::Fault fault = hooks_.describe_failure(writer->qm, writer->state.failure);
    if (failed_.empty()) failed_ = absl::StrCat("qm", writer->qm, ": ", fault.message());
    sink_.OnFault(std::move(fault));
  }
}

bool StepRecorder::IncompleteCut() const {
  int32_t first = std::numeric_limits<int32_t>::max();
  int32_t last = std::numeric_limits<int32_t>::min();
  for (const auto& writer : writers_) {
    if (writer->tally.done()) continue;
    first = std::min(first, writer->tally.open_interval());
    last = std::max(last, writer->tally.open_interval());
  }
  return first < last;
}

void StepRecorder::Send(int64_t now_ns) {
  // The last one holds what the step's last second cost, however little of it there is left.
  if (now_ns >= next_sample_ns_ || (done_ && now_ns > last_sample_ns_)) AddSample(now_ns);
  if (batch_.frames().empty() && !batch_.has_sample()) return;
  sink_.OnFrames(std::exchange(batch_, {}));
}

void StepRecorder::AddSample(int64_t now_ns) {
  v1::HostSample sample = hooks_.sample_host();
  sample.set_step(step_);
  sample.set_time_ns(now_ns);
  sample.set_recorder_late_max_ns(late_max_ns_);
  sample.mutable_pauses()->Swap(&pauses_);
  *batch_.mutable_sample() = std::move(sample);
  pauses_.Clear();
  late_max_ns_ = 0;
  last_sample_ns_ = now_ns;
  // Whole seconds from the start, whatever was missed.
  while (next_sample_ns_ <= now_ns) next_sample_ns_ += kNsPerSecond;
}

v1::StepDone StepRecorder::Finish(const std::string& reason) const {
  v1::StepDone done;
  done.set_step(step_);
  bool stopped = false;
  bool lease = false;
  bool unfinished = false;
  for (const auto& writer : writers_) {
    stopped = stopped || writer->state.end != LoopEnd::kRanToEnd;
    lease = lease || writer->state.end == LoopEnd::kLease;
    unfinished = unfinished || writer->state.pass_unfinished;
  }
  const int64_t measured_end_ns = stopped ? std::min(times_.end_ns(), control_.stop_at_ns()) : times_.end_ns();
  for (const auto& writer : writers_) {
    *done.add_writers() = writer->tally.Totals(measured_end_ns);
    writer->tally.AddMoreTotals(measured_end_ns, done);
  }
  if (!failed_.empty()) {
    done.set_stopped(failed_);
  } else if (lease) {
    done.set_stopped("lease expired: no message from the controller");
  } else if (stopped) {
    done.set_stopped(reason.empty() ? "stopped" : reason);
  } else if (unfinished) {
    done.set_stopped(absl::StrCat("the pass was not finished within --duration ",
                                  FormatReadableDuration(times_.end_ns() - times_.start_ns()),
                                  "; use a longer --duration"));
  }
  return done;
}

}  // namespace plimsoll
