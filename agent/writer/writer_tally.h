// Turns a writer's samples into frames: each write is counted in the interval in which it completed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/writer/access_order.h"
#include "agent/writer/commit_model.h"
#include "agent/writer/log_files.h"
#include "agent/writer/log_source.h"
#include "agent/writer/operation_tally.h"
#include "agent/writer/rate_schedule.h"
#include "agent/writer/stall_watch.h"
#include "agent/writer/writer_state.h"
#include "common/protocol.h"
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// A step's moments, in the host's CLOCK_MONOTONIC. Interval k begins k intervals after the measured start and ends
// where interval k + 1 begins; the last regular one ends with the step. Numbers below 0 are warm-up.
class StepTimes {
 public:
  // Durations are >= 0, `interval_ns` > 0.
  StepTimes(int64_t start_ns, int64_t warmup_ns, int64_t duration_ns, int64_t interval_ns)
      : start_ns_(start_ns),
        measured_start_ns_(start_ns + warmup_ns),
        end_ns_(start_ns + warmup_ns + duration_ns),
        interval_ns_(interval_ns) {}

  // When every writer starts.
  int64_t start_ns() const { return start_ns_; }
  // End of the warm-up.
  int64_t measured_start_ns() const { return measured_start_ns_; }
  // No write starts at or after it.
  int64_t end_ns() const { return end_ns_; }
  int64_t interval_ns() const { return interval_ns_; }

  // Number of the interval that contains a moment; closing_interval() from the step's end on.
  int32_t IntervalOf(int64_t moment_ns) const {
    if (moment_ns >= end_ns_) return closing_interval();
    const int64_t since_ns = moment_ns - measured_start_ns_;
    const int64_t number = since_ns >= 0 ? since_ns / interval_ns_ : -((-since_ns + interval_ns_ - 1) / interval_ns_);
    return static_cast<int32_t>(number);
  }
  int32_t first_interval() const { return std::min(IntervalOf(start_ns_), closing_interval()); }
  // The number after the last regular interval.
  int32_t closing_interval() const {
    return static_cast<int32_t>((end_ns_ - measured_start_ns_ + interval_ns_ - 1) / interval_ns_);
  }
  // When a regular interval ends.
  int64_t EndOf(int32_t interval) const {
    return std::min(measured_start_ns_ + (int64_t{interval} + 1) * interval_ns_, end_ns_);
  }

 private:
  int64_t start_ns_;
  int64_t measured_start_ns_;
  int64_t end_ns_;
  int64_t interval_ns_;
};

class CommitTally;

// Parameters of one writer's tally in one step.
struct TallyParams {
  uint32_t step = 0;
  uint32_t qm = 0;
  StepTimes times;
  ExtentLayout layout;
  // What is reported as the layout's first extent, and as the place of that extent's first byte: those of the writer's
  // part of a named file.
  uint32_t first_extent = 0;
  uint64_t base_bytes = 0;
  // See WriteLoopParams.
  std::optional<SizeMix> mix = std::nullopt;
  std::optional<Access> access = std::nullopt;
  std::optional<CommitLoad> commits = std::nullopt;
  // Place of the commit in the step's list of operations; with `commits` only.
  uint32_t commit_operation = kMainOperation;
  uint64_t first_block = 0;
  std::optional<RateSchedule> schedule;
  bool trace = false;
  // The two parts of each write have frames and totals of their own (see WriteLoopParams).
  bool measure_parts = false;
  // Pause after each write, where there is no schedule, or what WriteLoopParams has instead.
  int64_t delay_ns = 0;
  double pause_percent = 0;
  // Operations of the writer's pass (see WriteLoopParams); 0: it makes no pass. A step of a pass is over when the
  // host's last writer has ended.
  uint64_t pass_blocks = 0;
  // How long a write must be overdue or in flight to count as a stall, and the shortest stall interval that is
  // reported; 0: stall_ns, or if that is 0 too, no interval is reported.
  int64_t stall_ns = 0;
  int64_t reported_from_ns = 0;
};

// Assembles one writer's samples into frames. Used by the recorder's thread alone; not thread-safe. One frame is open
// at a time, since a writer's samples arrive in the order in which the writes ended.
//
// An interval of a writer may be cut when no write that ended before the interval's end B can still arrive. The clock
// alone does not show this: a writer can be preempted, for any length of time, between reading the clock for a write's
// end and publishing the sample. The cut is allowed if
//  (a) a sample that ends at or after B was drained: the ends of later writes are no earlier; or
//  (b) the clock showed B + kVisibilityNs or later, then the writer's mark was "idle" or "in flight", and then the ring
//      was drained. If a write is missing from the ring, its store of kReturned was not yet visible when the mark was
//      read, and the writer reads the clock for the write's end after that store. A store becomes visible to every CPU
//      within microseconds, even if the thread is preempted right after it. So the write ended later than
//      kVisibilityNs before the mark was read, hence not before B; or
//  (c) the writer has left its loop: no more samples follow.
// A writer that hangs in its system call is "in flight", and its empty frames are sent on time. A writer that shows
// kReturned is about to publish: its own frame waits for that, those of the other writers do not.
class WriterTally {
 public:
  // Several hundred times as long as a store takes to reach another CPU.
  static constexpr int64_t kVisibilityNs = 1'000'000;

  // `state` and `stop_trace_at_ns` must outlive the object.
  WriterTally(const TallyParams& params, WriterState& state, const std::atomic<int64_t>& stop_trace_at_ns);
  ~WriterTally();
  WriterTally(const WriterTally&) = delete;
  WriterTally& operator=(const WriterTally&) = delete;

  // Value of `last_end_ns` while other writers have not ended.
  static constexpr int64_t kOthersRun = -1;

  // Drains the ring and appends complete frames to `frames`. `now_ns` must have been read before the call.
  // `last_end_ns`: a writer that has left its loop has frames until then, though without operations; 0: until it left.
  // In a step of a pass, the host's last writer left its loop then, so that all writers have the same intervals.
  void Poll(int64_t now_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames, int64_t last_end_ns = 0);

  // The writer has left its loop and all of its frames are cut.
  bool done() const { return done_; }
  // Whether the step's time was over before the writer's pass. Once done.
  bool pass_unfinished() const { return taken_ < params_.pass_blocks && state_.end == LoopEnd::kRanToEnd; }
  // Number of the open interval.
  int32_t open_interval() const { return interval_; }
  // Whether the open interval is over but cannot be cut yet.
  bool overdue(int64_t now_ns) const {
    return !done_ && interval_ < params_.times.closing_interval() && now_ns >= interval_end_ns_ + kVisibilityNs;
  }

  // The writer's own counts, once done. `measured_end_ns`: end of the measured time, earlier than planned if the step
  // was stopped.
  v1::WriterTotals Totals(int64_t measured_end_ns) const;
  // Adds the writer's own counts of the parts of its writes, of its reads, and of its clients' commits.
  void AddMoreTotals(int64_t measured_end_ns, v1::StepDone& done) const;

 private:
  // Takes what is in the ring, and cuts the intervals that its samples show to be over.
  void Drain(int64_t now_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void Take(const Sample& sample);
  [[gnu::noinline]] void TakeRead(const WholeTally::Taken& taken);
  // Takes the response time of an operation that has a schedule.
  void TakeResponse(const WholeTally::Taken& taken, WholeTally& tally);
  // When the operation with this number of the step, from 1, is due.
  int64_t DueAt(uint64_t number) const;
  // `next_start_ns`: when the write after the last one taken started; 0: it has not started; absent: no write follows.
  void Cut(int64_t now_ns, std::optional<int64_t> next_start_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  v1::Frame& AddFrame(const OperationTally& tally, uint32_t operation, int64_t now_ns,
                      google::protobuf::RepeatedPtrField<v1::Frame>& frames) const;
  void OpenNext();
  // Cuts the intervals that were over kVisibilityNs before `now_ns`.
  void CutOverdue(int64_t now_ns, std::optional<int64_t> next_start_ns,
                  google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void CutWhatIsLeft(int64_t now_ns, int64_t last_end_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void SetSample(const SlowestWrites::Entry& entry, v1::WriteSample& reported) const;
  bool IsPart(uint32_t operation) const { return operation != kMainOperation && operation <= parts_.size(); }
  // Without group commit.
  uint64_t BytesOf(const Sample& sample) const {
    return params_.mix ? params_.mix->bytes(sample.size()) : params_.layout.block_bytes();
  }
  // Once, when the writer has left its loop and its samples are drained.
  void WatchTheEnd();
  void SetNotIssued(int64_t measured_end_ns, v1::WriterTotals& totals) const;
  // Sets how many of the step's main operations, or else of its reads beside them, were not issued, and their ages.
  void SetNotIssuedOf(bool main, uint64_t from, uint64_t to, int64_t measured_end_ns, v1::WriterTotals& totals) const;

  const TallyParams params_;
  WriterState& state_;
  const std::atomic<int64_t>& stop_trace_at_ns_;

  bool done_ = false;
  bool end_watched_ = false;
  int32_t interval_ = 0;
  int64_t interval_end_ns_ = 0;
  // Writes and reads drained so far, and the end of the last of them.
  uint64_t taken_ = 0;
  OperationPlaces places_;
  // The pause that follows the last operation.
  MeanPause pause_;
  int64_t pause_ns_ = 0;
  int64_t previous_end_ns_ = 0;
  // When the last operation would have ended if each had started as soon as it was due and the one before it had ended.
  int64_t prompt_end_ns_ = 0;
  uint64_t ring_full_waits_cut_ = 0;
  uint64_t ring_full_wait_cut_ns_ = 0;

  // The open frame: the step's main operation, the parts of its writes by operation, and the reads of a step that
  // writes as well.
  WholeTally main_;
  std::vector<OperationTally> parts_;
  std::optional<WholeTally> read_;
  // The recorder's copy of the model of group commit, and the commits of the open frame; null without group commit.
  std::unique_ptr<CommitTally> commits_;
  // The sync of the write that comes next.
  Sample sync_;
  int64_t between_ns_ = 0;

  StallWatch stalls_;
};

}  // namespace plimsoll
