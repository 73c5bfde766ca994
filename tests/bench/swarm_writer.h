// A writer that writes nothing: makes the frames of one that writes back to back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "agent/writer/writer_tally.h"
#include "common/histogram.h"
#include "common/trace.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// One step of one writer. Its writes follow one another with a pause of 20 us, some 250 in a frame of 250 ms, with
// latencies in about 60 buckets of a histogram. All figures agree with one another as an agent's do. Not thread-safe.
class SwarmWriter {
 public:
  SwarmWriter(uint32_t step, const StepTimes& times, uint64_t block_bytes, bool trace, uint32_t seed)
      : step_(step),
        times_(times),
        block_bytes_(block_bytes),
        trace_(trace),
        random_(seed),
        interval_(times.first_interval()),
        previous_end_ns_(times.start_ns()),
        next_start_ns_(times.start_ns() + kPauseNs) {
    DrawLatency();
  }

  // Moment from which the next frame can be cut; only while !done().
  int64_t due_ns() const { return closing() ? next_start_ns_ + latency_ns_ : times_.EndOf(interval_); }
  // The closing frame has been cut.
  bool done() const { return done_; }

  // Appends the frame of the next interval.
  void Cut(int64_t now_ns, v1::FrameBatch& batch) {
    v1::Frame& frame = *batch.add_frames();
    frame.set_step(step_);
    frame.set_qm(1);
    frame.set_first_interval(interval_);
    frame.set_interval_count(1);
    frame.set_closing(closing());
    latencies_.Clear();
    int64_t between_ns = 0;
    // The write in flight at the step's end is the closing frame's only one.
    while (closing() ? latencies_.count() == 0 : next_start_ns_ + latency_ns_ < times_.EndOf(interval_)) {
      between_ns += next_start_ns_ - previous_end_ns_;
      Take(frame);
    }
    *frame.mutable_latency() = latencies_.ToProto();
    frame.set_bytes(latencies_.count() * block_bytes_);
    frame.set_between_ns(between_ns);
    frame.set_last_end_ns(latencies_.count() > 0 ? previous_end_ns_ : 0);
    frame.set_in_flight_since_ns(closing() ? 0 : next_start_ns_);
    frame.set_cut_ns(now_ns);
    if (trace_) {
      if (latencies_.count() > 0) frame.add_trace(encoder_.Finish());
    } else {
      frame.set_untraced_writes(latencies_.count());
    }
    // A write that would start at the step's end or later is not started: there is nothing to close with.
    done_ = closing() || (interval_ + 1 == times_.closing_interval() && next_start_ns_ >= times_.end_ns());
    ++interval_;
  }

  // After the last frame.
  v1::WriterTotals Totals() const {
    v1::WriterTotals totals = totals_;
    totals.set_qm(1);
    totals.set_bytes(totals.writes() * block_bytes_);
    totals.set_first_start_ns(first_start_ns_);
    totals.set_last_end_ns(previous_end_ns_);
    return totals;
  }

 private:
  static constexpr int64_t kPauseNs = 20'000;

  bool closing() const { return interval_ == times_.closing_interval(); }

  void DrawLatency() {
    // Buckets are 512 ns wide here.
    latency_ns_ = 960'000 + 512 * static_cast<int64_t>(random_() % 60);
  }

  void Take(v1::Frame& frame) {
    const auto latency_ns = static_cast<uint64_t>(latency_ns_);
    totals_.set_writes(totals_.writes() + 1);
    totals_.set_latency_sum_ns(totals_.latency_sum_ns() + latency_ns);
    totals_.set_latency_max_ns(std::max(totals_.latency_max_ns(), latency_ns));
    if (totals_.writes() == 1) first_start_ns_ = next_start_ns_;
    if (frame.first_seq() == 0) {
      frame.set_first_seq(totals_.writes());
      frame.set_first_start_ns(next_start_ns_);
    }
    if (latency_ns > frame.slowest().latency_ns()) {
      frame.mutable_slowest()->set_seq(totals_.writes());
      frame.mutable_slowest()->set_start_ns(next_start_ns_);
      frame.mutable_slowest()->set_latency_ns(latency_ns);
    }
    latencies_.Record(latency_ns);
    if (trace_) encoder_.Add(next_start_ns_, latency_ns);
    previous_end_ns_ = next_start_ns_ + latency_ns_;
    next_start_ns_ = previous_end_ns_ + kPauseNs;
    DrawLatency();
  }

  const uint32_t step_;
  const StepTimes times_;
  const uint64_t block_bytes_;
  const bool trace_;
  std::minstd_rand random_;
  int32_t interval_;
  int64_t previous_end_ns_;
  int64_t next_start_ns_;
  int64_t latency_ns_ = 0;
  int64_t first_start_ns_ = 0;
  bool done_ = false;
  Histogram latencies_;
  TraceEncoder encoder_;
  v1::WriterTotals totals_;
};

}  // namespace plimsoll
