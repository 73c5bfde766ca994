// Turns the writers' samples into frames: each write is counted in the interval in which it completed. The frames of
// all writers are sent together.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/work/work.h"
#include "agent/writer/access_order.h"
#include "agent/writer/commit_model.h"
#include "agent/writer/log_files.h"
#include "agent/writer/log_source.h"
#include "agent/writer/rate_schedule.h"
#include "agent/writer/writer_state.h"
#include "common/histogram.h"
#include "common/trace.h"
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

// Keeps the ten slowest of the operations that were offered, by service time or by response time; of equally slow ones,
// the earlier. Allocates nothing, and costs one comparison for a write that is not among them. Not thread-safe.
class SlowestWrites {
 public:
  static constexpr size_t kKept = 10;

  struct Entry {
    uint64_t seq = 0;
    Sample sample;
    BlockPlace place;
    // When the operation was due, and how slow it was.
    int64_t due_ns = 0;
    int64_t time_ns = 0;
  };

  // Whether an operation that took `time_ns` is among the slowest so far.
  bool Keeps(int64_t time_ns) const { return time_ns > floor_ns_; }
  // Operations must be offered in the order of their sequence numbers.
  void Offer(const Entry& entry) {
    if (Keeps(entry.time_ns)) Insert(entry);
  }

  // Calls `use(const Entry&)` for those with sequence numbers from `seq` on, in that order.
  template <typename Use>
  void ForEachFrom(uint64_t seq, Use&& use) const {
    std::array<Entry, kKept> found;
    size_t count = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (entries_[i].seq >= seq) found[count++] = entries_[i];
    }
    std::sort(found.begin(), found.begin() + count, [](const Entry& a, const Entry& b) { return a.seq < b.seq; });
    for (size_t i = 0; i < count; ++i) use(found[i]);
  }

 private:
  void Insert(const Entry& entry) {
    size_t place = count_ < kKept ? count_++ : kKept - 1;
    for (; place > 0 && entries_[place - 1].time_ns < entry.time_ns; --place) {
      entries_[place] = entries_[place - 1];
    }
    entries_[place] = entry;
    if (count_ == kKept) floor_ns_ = entries_.back().time_ns;
  }

  // The slowest first.
  std::array<Entry, kKept> entries_;
  size_t count_ = 0;
  // The time that a write must exceed to be kept; negative while there is room.
  int64_t floor_ns_ = -1;
};

// Finds the stall intervals (v1::StalledInterval) of one writer. If a write was in flight for `stall_ns` or longer, or
// started that late, its stall interval reaches from when it was due to its end. In an open loop, the writes that a
// stall delayed were due before it ended: they overlap it and belong to the same stall interval. In a closed loop, a
// write is due when the one before it ends: successive slow writes do not overlap and are reported one by one, so that
// the analysis, which knows the writer's median, can separate unusually slow writes from normal ones.
//
// Costs two comparisons for a write that is neither slow nor late. Not thread-safe.
class StallWatch {
 public:
  // A frame reports at most this many stall intervals; any others are only counted.
  static constexpr size_t kMostStalls = 1'000;

  // `stall_ns` 0: finds nothing. `interval_ns`: the length of a frame, for which memory is reserved.
  StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns);

  // Takes the next completed write; `seq` counts from 1.
  void Take(uint64_t seq, const Sample& sample, int64_t due_ns) {
    if (sample.end_ns() - due_ns < stall_ns_ && !growing_) [[likely]] {
      previous_end_ns_ = sample.end_ns();
      return;
    }
    TakeLate(seq, sample, due_ns);
  }

  // Ends the series of writes. The next write was due at `due_ns`, and had not started by `until_ns`.
  void Finish(int64_t due_ns, int64_t until_ns);

  // Moves the stall intervals that are known to have ended by `until_ns` to the frame.
  void Report(int64_t until_ns, v1::Frame& frame);
  // A write that had not completed at `until_ns`. `start_ns` 0: it had not started.
  struct Pending {
    uint64_t seq = 0;
    int64_t due_ns = 0;
    int64_t start_ns = 0;
  };
  // Adds the stall interval that has not ended to the frame, up to `until_ns`.
  void ReportGrowing(int64_t until_ns, const Pending& next, v1::Frame& frame) const;
  // Whether there are stall intervals that have not been reported.
  bool unreported() const { return growing_ || !over_.empty() || left_out_ > 0; }

 private:
  struct StallInterval {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    uint64_t first_seq = 0;
    uint64_t writes = 0;
    int64_t in_flight_ns = 0;
    int64_t longest_ns = 0;
  };

  static void Set(const StallInterval& found, v1::StalledInterval& stall);
  void TakeLate(uint64_t seq, const Sample& sample, int64_t due_ns);
  void Close();

  int64_t stall_ns_;
  std::optional<RateSchedule> schedule_;
  int64_t previous_end_ns_ = 0;
  // The stall interval that later writes may overlap, and the writes since its end, which may turn out to be part of
  // it.
  bool growing_ = false;
  StallInterval open_;
  uint64_t writes_since_ = 0;
  int64_t in_flight_since_ns_ = 0;
  std::vector<StallInterval> over_;
  uint64_t left_out_ = 0;
};

// What a frame holds of one operation. Allocates nothing after its construction. Not thread-safe.
class OperationTally {
 public:
  // Takes one more operation: a write, a read or a part of a write. `seq` is its number among those of its kind.
  void Take(uint64_t seq, const Sample& sample, BlockPlace place, int64_t due_ns) {
    latency_.Record(sample.latency_ns());
    if (first_seq_ == 0) {
      first_seq_ = seq;
      first_start_ns_ = sample.start_ns;
      first_due_ns_ = due_ns;
    }
    if (slowest_.seq == 0 || sample.latency_ns() > slowest_.sample.latency_ns()) {
      slowest_ = {seq, sample, place, due_ns, 0};
    }
    if (fastest_seq_ == 0 || sample.latency_ns() < fastest_ns_) {
      fastest_seq_ = seq;
      fastest_ns_ = sample.latency_ns();
    }
    last_end_ns_ = sample.end_ns();
  }
  void Clear() {
    latency_.Clear();
    first_seq_ = slowest_.seq = fastest_seq_ = 0;
  }

  uint64_t count() const { return latency_.count(); }
  // 0: nothing was taken.
  uint64_t first_seq() const { return first_seq_; }
  int64_t first_due_ns() const { return first_due_ns_; }
  // Undefined if count() is 0.
  const SlowestWrites::Entry& slowest() const { return slowest_; }
  // Sets the frame's figures, all but the slowest.
  void Report(v1::Frame& frame) const;

 private:
  Histogram latency_;
  uint64_t first_seq_ = 0;
  int64_t first_start_ns_ = 0;
  int64_t first_due_ns_ = 0;
  int64_t last_end_ns_ = 0;
  SlowestWrites::Entry slowest_;
  uint64_t fastest_seq_ = 0;
  uint64_t fastest_ns_ = 0;
};

// What a frame holds of writes, or of reads: operations with bytes, a schedule and a trace. Allocates for the trace
// alone. Not thread-safe.
class WholeTally {
 public:
  WholeTally(std::vector<uint64_t> sizes_bytes, bool parts) : trace_(std::move(sizes_bytes), parts) {}

  struct Taken {
    Sample sample = {};
    BlockPlace place = {};
    uint64_t bytes = 0;
    int64_t due_ns = 0;
    // Duration of the write call; 0 if parts are not measured.
    uint64_t call_ns = 0;
    bool warmup = false;
    bool traced = false;
  };
  // Takes the next operation. Returns its number, from 1. Inlined, since `taken` would else go through memory: 5 ns.
  [[gnu::always_inline]] uint64_t Take(const Taken& taken) {
    const Sample& sample = taken.sample;
    const uint64_t seq = ++taken_;
    figures_.Take(seq, sample, taken.place, taken.due_ns);
    bytes_ += taken.bytes;
    const auto latency_ns = static_cast<int64_t>(sample.latency_ns());
    if (slowest_.Keeps(latency_ns) && !taken.warmup) [[unlikely]] {
      slowest_.Offer({seq, sample, taken.place, taken.due_ns, latency_ns});
    }
    if (taken.traced) {
      trace_.Add(sample.start_ns, sample.latency_ns(), sample.size(), std::min(taken.call_ns, sample.latency_ns()));
    } else {
      ++untraced_;
    }
    return seq;
  }
  // Takes the response time of the last operation, and how long the load generator delayed its end.
  void TakeResponse(const Taken& taken, int64_t response_ns, uint64_t delay_ns) {
    response_.Record(static_cast<uint64_t>(response_ns));
    if (slowest_responses_.Keeps(response_ns) && !taken.warmup) [[unlikely]] {
      slowest_responses_.Offer({taken_, taken.sample, taken.place, taken.due_ns, response_ns});
    }
    max_start_delay_ns_ = std::max(max_start_delay_ns_, delay_ns);
    if (delay_ns > kPromptStartNs) ++late_;
  }

  const OperationTally& figures() const { return figures_; }
  // Adds everything but figures() to the frame and starts the next one. `set` fills in a slow operation.
  void Report(bool rated, const std::function<void(const SlowestWrites::Entry&, v1::WriteSample&)>& set,
              v1::Frame& frame);

 private:
  OperationTally figures_;
  Histogram response_;
  uint64_t taken_ = 0;
  uint64_t bytes_ = 0;
  uint64_t untraced_ = 0;
  uint64_t max_start_delay_ns_ = 0;
  uint64_t late_ = 0;
  TraceEncoder trace_;
  // The slowest operations of the measured part, by service time and by response time.
  SlowestWrites slowest_;
  SlowestWrites slowest_responses_;
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
  // As in WriteLoopParams.
  std::optional<SizeMix> mix = std::nullopt;
  std::optional<Access> access = std::nullopt;
  std::optional<CommitLoad> commits = std::nullopt;
  // Place of the commit in the step's list of operations; with `commits` only.
  uint32_t commit_operation = kMainOperation;
  uint64_t first_block = 0;
  std::optional<RateSchedule> schedule;
  bool trace = false;
  // As in WriteLoopParams: the two parts of each write have frames and totals of their own.
  bool measure_parts = false;
  // Pause after each write, where there is no schedule, or what WriteLoopParams has instead.
  int64_t delay_ns = 0;
  double pause_percent = 0;
  // Each writer takes each of its blocks once: the step is over when the last one has.
  bool one_pass = false;
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
  // `last_end_ns`: until when a writer that has left its loop has frames, though without operations; 0: only until it
  // left. In a one-pass step, that is when the host's last writer left its loop, so that all writers have the same
  // intervals.
  void Poll(int64_t now_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames, int64_t last_end_ns = 0);

  // The writer has left its loop and all of its frames are cut.
  bool done() const { return done_; }
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
  void Take(const Sample& sample);
  [[gnu::noinline]] void TakeRead(const WholeTally::Taken& taken);
  // Takes the response time of an operation that has a schedule.
  void TakeResponse(const WholeTally::Taken& taken, WholeTally& tally);
  // When the operation with this number of the step, from 1, is due.
  int64_t DueAt(uint64_t number) const;
  // `next_start_ns`: when the write after the last one taken started; 0: it has not started; nothing: none follows.
  void Cut(int64_t now_ns, std::optional<int64_t> next_start_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  v1::Frame& AddFrame(const OperationTally& tally, uint32_t operation, int64_t now_ns,
                      google::protobuf::RepeatedPtrField<v1::Frame>& frames) const;
  void OpenNext();
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
  // The pause that follows the last of them.
  MeanPause pause_;
  int64_t pause_ns_ = 0;
  int64_t previous_end_ns_ = 0;
  // When the last of them would have ended if each had started as soon as it was due and the one before it had ended.
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

// Records one step of one host: polls every writer's tally and passes complete frames on.
//
// It has no thread or clock of its own: the recorder's thread polls it; tests poll it with simulated times. Not
// thread-safe.
//
// The frames of one cut are sent together, as soon as the last writer's frame is complete, or kPatienceNs after the
// first: a writer that is preempted before it publishes delays the other frames no longer than that.
class StepRecorder {
 public:
  // Interval between polls. Rings have room for four times as many samples as a million writes per second make in it.
  static constexpr int64_t kTickNs = 4'000'000;
  static constexpr int64_t kPatienceNs = 20'000'000;

  struct Hooks {
    // The host's counters, once a second and at the step's end.
    std::function<v1::HostSample()> sample_host;
    // A failed write as an error that names its file.
    std::function<v1::Fault(uint32_t qm, const WriteFailure&)> describe_failure;
  };

  // `params` and `states` are the writers', in the order of their numbers. `states`, `control`, `stop_trace_at_ns` and
  // `sink` must outlive the object.
  StepRecorder(std::span<const TallyParams> params, std::span<WriterState* const> states, const StopControl& control,
               const std::atomic<int64_t>& stop_trace_at_ns, Hooks hooks, WorkSink& sink);
  ~StepRecorder();

  // Drains what the writers have published by `now_ns`, and sends complete frames to the sink. `late_ns`: how much
  // later than requested the caller was woken. Returns when to poll again.
  int64_t Poll(int64_t now_ns, int64_t late_ns);

  // Every writer has left its loop and all frames are sent.
  bool done() const { return done_; }

  // The step's last message, once done. `reason`: why a stop was requested; writers that failed, or found the lease
  // expired, set the reason themselves.
  v1::StepDone Finish(const std::string& reason) const;

 private:
  struct Writer;

  void ReportFailures();
  // For WriterTally::Poll.
  int64_t LastEndNs() const;
  // Whether some frames of a cut are complete and others are not.
  bool IncompleteCut() const;
  void Send(int64_t now_ns);
  // Kernel statistics and the recorder's scheduling delay since the previous sample.
  void AddSample(int64_t now_ns);

  const StepTimes times_;
  const uint32_t step_;
  const bool one_pass_;
  const StopControl& control_;
  const Hooks hooks_;
  WorkSink& sink_;
  std::vector<std::unique_ptr<Writer>> writers_;
  v1::FrameBatch batch_;
  int64_t batch_since_ns_ = 0;
  int64_t next_sample_ns_ = 0;
  int64_t last_sample_ns_ = 0;
  uint64_t late_max_ns_ = 0;
  // Wake-ups that are later than this are reported; 0: none.
  const int64_t reported_late_ns_;
  google::protobuf::RepeatedPtrField<v1::RecorderPause> pauses_;
  std::string failed_;
  bool done_ = false;
};

}  // namespace plimsoll
