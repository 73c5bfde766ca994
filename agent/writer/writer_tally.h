// What becomes of the writers' samples: one writer's go into frames, each write in the interval in which it completed;
// the frames of all writers leave together.
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
#include <vector>

#include "agent/work/work.h"
#include "agent/writer/log_files.h"
#include "agent/writer/rate_schedule.h"
#include "agent/writer/writer_state.h"
#include "common/histogram.h"
#include "common/trace.h"
#include "google/protobuf/repeated_field.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Moments of the host's CLOCK_MONOTONIC. Interval k covers [measured start + k x interval, the same of k + 1); the last
// regular one ends with the step; numbers below 0 are warm-up.
class StepTimes {
 public:
  // Durations are >= 0, `interval_ns` > 0.
  StepTimes(int64_t start_ns, int64_t warmup_ns, int64_t duration_ns, int64_t interval_ns)
      : start_ns_(start_ns),
        measured_start_ns_(start_ns + warmup_ns),
        end_ns_(start_ns + warmup_ns + duration_ns),
        interval_ns_(interval_ns) {}

  // Every writer's start.
  int64_t start_ns() const { return start_ns_; }
  // End of the warm-up.
  int64_t measured_start_ns() const { return measured_start_ns_; }
  // No write starts at or after it.
  int64_t end_ns() const { return end_ns_; }
  int64_t interval_ns() const { return interval_ns_; }

  // Number of the interval that holds a moment; one past the last for the step's end and all that follows.
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
  // The moment at which a regular interval ends.
  int64_t EndOf(int32_t interval) const {
    return std::min(measured_start_ns_ + (int64_t{interval} + 1) * interval_ns_, end_ns_);
  }

 private:
  int64_t start_ns_;
  int64_t measured_start_ns_;
  int64_t end_ns_;
  int64_t interval_ns_;
};

// The ten slowest of all that were offered; of equal ones the earlier. Allocates nothing; one compare for a write that
// is not among them. Not thread-safe.
class SlowestWrites {
 public:
  static constexpr size_t kKept = 10;

  struct Entry {
    uint64_t seq = 0;
    Sample sample;
  };

  // Writes come in the order of their numbers.
  void Offer(uint64_t seq, const Sample& sample) {
    if (static_cast<int64_t>(sample.latency_ns) > floor_ns_) [[unlikely]]
      Insert({seq, sample});
  }

  // Calls `use(const Entry&)` for those with numbers from `seq` on, in the order of their numbers.
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
    for (; place > 0 && entries_[place - 1].sample.latency_ns < entry.sample.latency_ns; --place) {
      entries_[place] = entries_[place - 1];
    }
    entries_[place] = entry;
    if (count_ == kKept) floor_ns_ = static_cast<int64_t>(entries_.back().sample.latency_ns);
  }

  // The slowest first.
  std::array<Entry, kKept> entries_;
  size_t count_ = 0;
  // What a write must exceed; below zero while there is room.
  int64_t floor_ns_ = -1;
};

// Sees one writer's writes in their order and finds the stall intervals (v1::StalledInterval): from the moment at which
// a write was due to its end, where it was in flight, or late to start, for `stall_ns`. On a schedule the writes that a
// stall made late were due before it was over: they overlap, and are one stall interval with it. Without one a write is
// due when the one before it is over: successive slow writes touch, and are reported one by one, so that the analysis,
// which knows the writer's median, can still separate slow writes from usual ones.
//
// Two compares for a write that is neither slow nor late. Not thread-safe.
class StallWatch {
 public:
  // A frame reports no more stall intervals; those beyond are counted.
  static constexpr size_t kMostStalls = 1'000;

  // `stall_ns` 0: finds nothing. `interval_ns`: of a frame, for which room is made in advance.
  StallWatch(int64_t stall_ns, const std::optional<RateSchedule>& schedule, int64_t interval_ns);

  // A completed write, its number from 1, and when it was due.
  void Take(uint64_t seq, const Sample& sample, int64_t due_ns) {
    if (sample.end_ns() - due_ns < stall_ns_ && !growing_) [[likely]] {
      previous_end_ns_ = sample.end_ns();
      return;
    }
    TakeLate(seq, sample, due_ns);
  }

  // No write follows; one was due at `due_ns`, and was not started by `until_ns`.
  void Finish(int64_t due_ns, int64_t until_ns);

  // Adds the stall intervals that are known to be over, and were so by `until_ns`, to the frame, and forgets them.
  void Report(int64_t until_ns, v1::Frame& frame);
  // A write that was not over at `until_ns`: its number, when it was due, and when it was started; 0: it was not.
  struct Pending {
    uint64_t seq = 0;
    int64_t due_ns = 0;
    int64_t start_ns = 0;
  };
  // Adds the stall interval that is not over, as far as it had come by `until_ns`, to the frame.
  void ReportGrowing(int64_t until_ns, const Pending& next, v1::Frame& frame) const;
  // Whether there is a stall interval that was not reported.
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
  // The stall interval that later writes may overlap, and what came after its end but may turn out to lie in it.
  bool growing_ = false;
  StallInterval open_;
  uint64_t writes_since_ = 0;
  int64_t in_flight_since_ns_ = 0;
  std::vector<StallInterval> over_;
  uint64_t left_out_ = 0;
};

// What the tally of one writer in one step goes by.
struct TallyParams {
  uint32_t step = 0;
  uint32_t qm = 0;
  StepTimes times;
  ExtentLayout layout;
  // As in WriteLoopParams.
  uint64_t first_block = 0;
  std::optional<RateSchedule> schedule;
  bool trace = false;
  // Pause after each write, where there is no schedule.
  int64_t delay_ns = 0;
  // What may be a stall, and from which length on a stall interval is reported; 0: from stall_ns on, and
  // none where that is 0 too.
  int64_t stall_ns = 0;
  int64_t reported_from_ns = 0;
};

// Not thread-safe: the recorder's. One frame is open at a time, since a writer's samples come in the order of their
// ends.
//
// When may interval k of a writer be cut? When no write that ended before the interval's end B can still turn up. A
// writer can be preempted, for any length of time, after it has read the clock for a write's end and before it has
// published the sample. So the clock alone does not decide. The cut is allowed where
//  (a) a sample that ends at or after B was drained: ends do not go back; or
//  (b) the clock shows B + kVisibilityNs or later, and after that the writer's mark is "idle" or "in flight", and the
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
  void TakeResponse(const Sample& sample, int64_t due_ns);
  // `next_start_ns`: when the write after those that were taken was started; 0: it was not; nothing: none follows.
  void Cut(int64_t now_ns, std::optional<int64_t> next_start_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void OpenNext();
  void CutWhatIsLeft(int64_t now_ns, google::protobuf::RepeatedPtrField<v1::Frame>& frames);
  void SetSample(uint64_t seq, const Sample& sample, v1::WriteSample& reported) const;
  void WatchTheEnd();
  void SetNotIssued(int64_t measured_end_ns, v1::WriterTotals& totals) const;

  const TallyParams params_;
  WriterState& state_;
  const std::atomic<int64_t>& stop_trace_at_ns_;

  bool done_ = false;
  int32_t interval_ = 0;
  int64_t interval_end_ns_ = 0;
  // Writes drained so far, and the end of the last of them.
  uint64_t taken_ = 0;
  int64_t previous_end_ns_ = 0;
  // When the last of them would have ended if each had been started as soon as it was due and the one before it over.
  int64_t prompt_end_ns_ = 0;
  uint64_t ring_full_waits_cut_ = 0;
  uint64_t ring_full_wait_cut_ns_ = 0;

  // The open frame.
  Histogram latency_;
  Histogram response_;
  v1::StartDelay start_delay_;
  TraceEncoder trace_;
  uint64_t untraced_ = 0;
  int64_t between_ns_ = 0;
  uint64_t first_seq_ = 0;
  int64_t first_start_ns_ = 0;
  uint64_t slowest_seq_ = 0;
  Sample slowest_;
  uint64_t fastest_seq_ = 0;
  uint64_t fastest_ns_ = 0;

  // Of the measured part.
  SlowestWrites slowest_writes_;
  StallWatch stalls_;
};

// Gathers one step of one host: polls every writer's tally and hands on what is complete.
//
// Has no thread and no clock of its own: the recorder's thread polls it, tests poll it with made-up moments. Not
// thread-safe.
//
// Frames of one cut leave together, as soon as the last writer's is there, or kPatienceNs after the first: one that
// hangs between its clock and its ring holds nobody back for longer.
class StepRecorder {
 public:
  // Rings hold four times what a million writes a second bring in this time.
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

  // Takes what the writers have published by `now_ns`, and gives the sink what is complete. `late_ns`: how much
  // later than it had asked the caller was woken. Returns when to poll again.
  int64_t Poll(int64_t now_ns, int64_t late_ns);

  // Every writer has left its loop and all frames have left.
  bool done() const { return done_; }

  // The step's last message, once done. `reason`: why somebody asked for a stop; writers that failed, or found the
  // lease run out, name the reason themselves.
  v1::StepDone Finish(const std::string& reason) const;

 private:
  struct Writer;

  void ReportFailures();
  // Whether frames of a cut are there while others are still to come.
  bool IncompleteCut() const;
  void Send(int64_t now_ns);
  // The kernel's figures and the recorder's own lateness, since the sample before.
  void AddSample(int64_t now_ns);

  const StepTimes times_;
  const uint32_t step_;
  const StopControl& control_;
  const Hooks hooks_;
  WorkSink& sink_;
  std::vector<std::unique_ptr<Writer>> writers_;
  v1::FrameBatch batch_;
  int64_t batch_since_ns_ = 0;
  int64_t next_sample_ns_ = 0;
  int64_t last_sample_ns_ = 0;
  uint64_t late_max_ns_ = 0;
  // A wake-up that is later than this is reported; 0: none is.
  const int64_t reported_late_ns_;
  google::protobuf::RepeatedPtrField<v1::RecorderPause> pauses_;
  std::string failed_;
  bool done_ = false;
};

}  // namespace plimsoll
