#include "agent/writer/step_recorder.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {
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
      one_pass_(params.front().pass_blocks > 0),
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
    unfinished = unfinished || writer->tally.pass_unfinished();
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
