// Figures of a scope: what one writer did in one step, and those of several scopes added up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/histogram.h"
#include "controller/analysis/seconds.h"
#include "controller/analysis/timeline.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Where a frame's writes belong.
enum class FramePart { kWarmup, kMeasured, kClosing };

// What a distribution from the wire adds to a second.
WriteSums WriteSumsOf(const v1::Distribution& latency);

// The seconds that a frame's intervals lie in, where the first of them is number `first_interval` of those that seconds
// are counted from; nothing beyond kMaxSeriesSeconds.
std::optional<WideRange> SecondsOf(const StepShape& shape, const v1::Frame& frame, int64_t first_interval);

// Adds up one writer's frames of one step, which come in order. Not thread-safe.
class WriterStats {
 public:
  explicit WriterStats(const StepShape& shape) : shape_(shape) {}

  // INVALID_ARGUMENT, and nothing is changed, where the frame contradicts itself, the step or the frames before it.
  absl::Status Add(const v1::Frame& frame, SumGuard& guard);
  // INVALID_ARGUMENT, and nothing is changed, where the totals contradict themselves or came before.
  absl::Status SetTotals(const v1::WriterTotals& totals, SumGuard& guard);

  // Something that the agent sent of this writer could not be taken.
  void NoteRefusal() { refused_ = true; }

  // Where the frame's writes belong; INVALID_ARGUMENT where its intervals are none of the step's.
  absl::StatusOr<FramePart> PartOf(const v1::Frame& frame) const;

  // The step's measured part, closing frames included.
  const Histogram& latency() const { return latency_; }
  // Empty without a rate. Writes that were not issued included.
  const Histogram& response() const { return response_; }
  // Of the same writes.
  const v1::StartDelay& start_delay() const { return start_delay_; }
  const SecondSeries& series() const { return series_; }
  // Writes that were in flight at the step's end.
  const WriteSums& closing() const { return closing_; }
  int64_t between_ns() const { return between_ns_; }
  // Those numbers of a scope that just add up (ScopeSums::counts).
  const v1::ScopeReport& counts() const { return counts_; }
  // Of each of its writes.
  uint64_t block_size_bytes() const { return shape_.block_size_bytes; }
  // Slowest measured write; absent if there was none or no frame reported it.
  const std::optional<v1::WriteSample>& slowest() const { return slowest_; }
  // Number of the fastest measured write; 0: there was none, or its frame does not name it.
  uint64_t fastest_seq() const { return fastest_seq_; }
  // The ten slowest of the measured part, as far as frames reported them; the slowest first, of equal ones the earlier.
  const std::vector<v1::WriteSample>& slow() const { return slow_; }
  // End of the last measured write, agent's clock; 0: none.
  int64_t last_end_ns() const { return last_end_ns_; }
  // Start of the writer's very first write, agent's clock; 0: not known.
  int64_t first_start_ns() const;
  // How long after the step's start that write was scheduled; nothing if the frame with it is missing.
  const std::optional<int64_t>& first_phase_ns() const { return first_phase_ns_; }
  // Start of the write in flight when the last frame was cut, and that cut; 0: none.
  int64_t in_flight_since_ns() const { return in_flight_since_ns_; }
  int64_t last_cut_ns() const { return last_cut_ns_; }
  bool closed() const { return closed_; }
  // It reported something.
  bool started() const { return started_; }
  // The interval after the last one that is known.
  int64_t next_interval() const { return next_interval_; }
  int64_t covered_ns() const { return shape_.CoveredNs(next_interval_); }
  // What the writer counted itself; absent until it is reported.
  const std::optional<v1::WriterTotals>& totals() const { return totals_; }
  // How many measured writes the frames may lack; UINT64_MAX: nobody knows. `done`: the writer's own count is due.
  uint64_t MissingWrites(bool done) const;
  // How frames and the writer's own count differ, for people; empty where they agree or nothing can be compared.
  std::string Disagreement() const;

 private:
  absl::Status Check(const v1::Frame& frame) const;
  void AddToSeries(const v1::Frame& frame);
  void KeepSlow(const v1::Frame& frame);

  StepShape shape_;
  Histogram latency_;
  Histogram response_;
  v1::StartDelay start_delay_;
  SecondSeries series_;
  WriteSums warmup_;
  WriteSums closing_;
  uint64_t measured_bytes_ = 0;
  uint64_t warmup_bytes_ = 0;
  int64_t between_ns_ = 0;
  v1::ScopeReport counts_;
  std::optional<v1::WriteSample> slowest_;
  uint64_t fastest_seq_ = 0;
  std::vector<v1::WriteSample> slow_;
  int64_t first_start_ns_ = 0;
  std::optional<int64_t> first_phase_ns_;
  int64_t last_end_ns_ = 0;
  int64_t in_flight_since_ns_ = 0;
  int64_t last_cut_ns_ = 0;
  bool refused_ = false;
  bool closed_ = false;
  bool started_ = false;
  int64_t next_interval_ = 0;
  std::optional<v1::WriterTotals> totals_;
};

// Everything here adds up, so that a host is the sum of its writers, and the cluster the sum of its hosts, exactly.
struct ScopeSums {
  // Closing writes included.
  Histogram latency;
  Histogram response;
  // How much of the response times the load generator caused.
  v1::StartDelay start_delay;
  SecondSeries series;
  WriteSums closing;
  // Bytes of the writes that completed within the measured time, and of the closing ones.
  uint64_t bytes = 0;
  uint64_t closing_bytes = 0;
  // Bytes in place of writes, where the step's queue managers have different block sizes; else empty.
  SecondSeries byte_series;
  // How long the longest closing write outlasted the step.
  int64_t closing_length_ns = 0;
  // Longest and, among those scopes that were not lost, shortest time that was measured.
  int64_t measured_ns = 0;
  int64_t whole_ns = INT64_MAX;
  // Until when the data reach, from the measured start; nothing where they reach the step's end.
  std::optional<int64_t> data_until_ns;
  // How long writes had been in flight, at least, of which nothing more is known.
  std::vector<int64_t> in_flight_ages_ns;
  // Sum over writers: time from the measured start to the last write or the step's end, and the part between writes.
  Int128 elapsed_ns = 0;
  Int128 between_ns = 0;
  // Numbers that the report has as they are, and that just add up: warmup_writes, untraced_writes, ring_full_waits,
  // ring_full_wait_ns. A number that is set here needs no other line in this file.
  v1::ScopeReport counts;
  // Slowest write and whose it is.
  std::optional<v1::WriteSample> slowest;
  uint32_t slowest_host = 0;
  uint32_t slowest_qm = 0;
  // Number of the fastest write in its writer's step; 0: not known.
  uint64_t fastest_seq = 0;
  // Of writers with a rate.
  double asked_iops = 0;
  bool rate_held = true;
  uint64_t not_issued = 0;
  // How many of them a load generator that starts every write in time could have issued.
  uint64_t not_issued_by_delay = 0;
  // A writer's own count, and with it the number of its writes that were not issued, is missing.
  bool not_issued_unknown = false;
  // Writes that were due by the target rate in the measured time, and those of them that completed in it.
  uint64_t rate_due = 0;
  uint64_t rate_completed = 0;
  // Writers whose last due write did not complete, which one write more or less may be a matter of.
  uint64_t rate_open = 0;
  uint64_t max_behind_writes = 0;
  uint64_t max_behind_ns = 0;

  // Latencies of writers without a rate, where others have one: what their callers felt.
  Histogram unscheduled;
  // Measured writes of which nothing came, or could be taken; UINT64_MAX: nobody knows how many.
  uint64_t missing_writes = 0;
  // A host of it was lost or failed in the step.
  bool lost = false;
  // In a placement: the load generator on its host, or on one of its hosts, may be CPU-bound. What its callers felt
  // shows nothing of the storage then, unless the writes themselves do.
  bool generator_bound = false;
  // Where it may be: for how long the writers of those hosts may have waited for a CPU, in all; at most, and infinite
  // where nobody knows. A write that waits for a CPU inside its system call is slow without the storage being so. Of a
  // single writer nobody knows its part: the host's whole wait may have been its own.
  double cpu_wait_ns = 0;
  // Largest step of the clocks that measured it.
  uint64_t clock_step_ns = 0;

  void Merge(const ScopeSums& other);

  // Those within the measured time.
  uint64_t CompletedWrites() const { return latency.count() - closing.writes; }

  // Time in writes plus time between them, in percent of the time that passed.
  double AccountedPercent() const;
};

// What callers felt: response times of writers with a rate, service times of the others. `both` is a place for the sum
// of the two, which the result may refer to.
const Histogram& FeltLatency(const ScopeSums& sums, Histogram& both);

// What is known of the time for which a writer's host was measured.
struct MeasuredPart {
  int64_t measured_ns = 0;
  // The host reported that the step is over.
  bool done = false;
  // The host's data end before the step does, for a reason of its own.
  bool left_early = false;
  // Start of the measured part in the host's clock; nothing where it is not known.
  std::optional<int64_t> start_ns;
};

// A writer's target.
struct AskedLoad {
  double rate_per_second = 0;  // 0: a closed loop
  // Arrivals are random, the rate is an average.
  bool random_arrivals = false;
  // The step's queue managers have different block sizes.
  bool mixed_blocks = false;
};

// The sums of one writer.
ScopeSums SumsOfWriter(const WriterStats& writer, uint32_t host, uint32_t qm, const MeasuredPart& measured,
                       const AskedLoad& asked);

// A row of the report, without what needs the timeline: the slowest write, and until when the data reach.
// `block_size_bytes` is that of each write of the scope; 0: they have different ones.
v1::ScopeReport MakeScopeReport(const ScopeSums& sums, uint64_t block_size_bytes, const SecondExtremes& extremes);

}  // namespace plimsoll
