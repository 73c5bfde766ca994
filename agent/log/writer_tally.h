// Turns one writer's samples into frames, each write in the interval in which it completed.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "agent/log/extent_layout.h"
#include "agent/log/rate_schedule.h"
#include "agent/log/slowest_writes.h"
#include "agent/log/stall_watch.h"
#include "agent/log/step_times.h"
#include "agent/log/writer_state.h"
#include "common/histogram.h"
#include "common/trace_codec.h"
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// What the tally of one writer in one step goes by.
struct TallyParams {
  uint32_t step = 0;
  uint32_t qm = 0;
  StepTimes times;
  ExtentLayout layout;
  std::optional<RateSchedule> schedule;
  bool trace = false;
  // Pause after each write, where there is no schedule.
  int64_t delay_ns = 0;
  // What may be a stall, and from which length on a stretch in which the writer stood is told: 0: from stall_ns on, and
  // none where that is 0 too.
  int64_t stall_ns = 0;
  int64_t told_from_ns = 0;
};

// Not thread-safe: the recorder's. One frame is open at a time, since a writer's samples come in the order of their
// ends.
//
// When may interval k of a writer be cut? When no write that ended before the interval's end B can still turn up. A
// writer can be preempted, for any length of time, after it has read the clock for a write's end and before it has
// published the sample. So the clock alone does not tell. The cut is allowed where
//  (a) a sample that ends at or after B was drained: ends do not go back; or
//  (b) the clock says B + kVisibilityNs or later, and after that the writer's mark is "idle" or "in flight", and the
//      ring was drained after the mark was read. For a write that is missing from the ring, the store of kReturned had
//      not reached us when we read the mark, and the writer reads the clock for its end after that store. A store
//      reaches every CPU within microseconds, however soon after it the thread is preempted, so that end is later than
//      the mark was read minus kVisibilityNs, hence not before B; or
//  (c) the writer has left its loop: nothing comes any more.
// A writer that hangs in its system call is "in flight": its empty frames go out in time. One that shows kReturned is
// about to publish: its frame waits for it, the other writers' do not.
class WriterTally {
 public:
  // Some hundred times what a store takes to reach another CPU.
  static constexpr int64_t kVisibilityNs = 1'000'000;

  // `state` and `stop_trace_at_ns` must outlive the object.
  WriterTally(const TallyParams& params, WriterState& state, const std::atomic<int64_t>& stop_trace_at_ns);

  // Drains the ring and appends the frames that are complete to `frames`. `now_ns` was read before the call.
  void Poll(int64_t now_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);

  // The writer has left its loop and all of its frames are cut.
  bool done() const { return done_; }
  // The interval that is open.
  int32_t open_interval() const { return interval_; }
  // Whether the open interval is over but cannot be cut yet.
  bool overdue(int64_t now_ns) const {
    return !done_ && interval_ < params_.times.closing_interval() && now_ns >= interval_end_ns_ + kVisibilityNs;
  }

  // The writer's own count, once done. `measured_end_ns`: end of the measured time, earlier than asked where the step
  // was stopped.
  v1::WriterTotals Totals(int64_t measured_end_ns) const;

 private:
  void Take(const Sample& sample);
  int64_t DueAt(uint64_t seq) const;
  // `next_start_ns`: when the write after those that were taken was started; 0: it was not; nothing: none follows.
  void Cut(int64_t now_ns, std::optional<int64_t> next_start_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void OpenNext();
  void CutWhatIsLeft(int64_t now_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void SetSample(uint64_t seq, const Sample& sample, v1::WriteSample& told) const;
  void WatchTheEnd();
  void SetUnserved(int64_t measured_end_ns, v1::WriterTotals& totals) const;

  const TallyParams params_;
  WriterState& state_;
  const std::atomic<int64_t>& stop_trace_at_ns_;

  bool done_ = false;
  int32_t interval_ = 0;
  int64_t interval_end_ns_ = 0;
  // Writes drained so far, and the end of the last of them.
  uint64_t taken_ = 0;
  int64_t previous_end_ns_ = 0;
  uint64_t ring_full_waits_cut_ = 0;
  uint64_t ring_full_wait_cut_ns_ = 0;

  // The open frame.
  Histogram latency_;
  Histogram response_;
  TraceEncoder trace_;
  uint64_t untraced_ = 0;
  int64_t between_ns_ = 0;
  uint64_t first_seq_ = 0;
  int64_t first_start_ns_ = 0;
  uint64_t slowest_seq_ = 0;
  Sample slowest_;

  // Of the measured part.
  SlowestWrites slowest_writes_;
  StallWatch stalls_;
};

}  // namespace plimsoll
