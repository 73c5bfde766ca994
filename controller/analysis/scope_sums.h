// The figures of a scope: of one writer in one step, or the sum over several scopes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/histogram.h"
#include "controller/analysis/host_facts.h"
#include "controller/analysis/seconds.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/frame.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// The part of a step to which a frame's writes belong.
enum class FramePart { kWarmup, kMeasured, kClosing };

// What a received distribution adds to the sums of a second; `bytes`: of its writes.
WriteSums WriteSumsOf(const v1::Distribution& latency, uint64_t bytes);

// A frame's service times, or its response times: of a writer without a target rate, its service times.
const v1::Distribution& TimesOf(const v1::Frame& frame, TimeKind kind);

// The seconds that a frame's intervals fall into, if its first interval is number `first_interval`, counted from second
// 0. Nothing if they reach beyond kMaxSeriesSeconds.
std::optional<WideRange> SecondsOf(const StepShape& shape, const v1::Frame& frame, int64_t first_interval);

// Adds a frame of the measured part to the series of its times. `rated`: whether the operation has response times.
void AddToSeries(const StepShape& shape, bool rated, const v1::Frame& frame, PerTime<SecondSeries>& series);

// Sums up one writer's frames of one step. Frames must arrive in order. Not thread-safe.
class WriterStats {
 public:
  WriterStats(const StepShape& shape, BlockRange blocks) : shape_(shape), blocks_(blocks) {}

  // INVALID_ARGUMENT if the frame contradicts itself, the step or earlier frames; nothing changes then.
  absl::Status Add(const v1::Frame& frame, SumGuard& guard);
  // INVALID_ARGUMENT if the totals contradict themselves or were set before; nothing changes then.
  absl::Status SetTotals(const v1::WriterTotals& totals, SumGuard& guard);

  // Forgets most of what is known by second of the seconds below that one.
  void ForgetBelow(uint32_t second) {
    for (const TimeKind kind : TimeKindsOf(shape_.rated)) series_[kind].ForgetBelow(second);
  }

  // See SecondSeries::AgeBelow.
  void AgeBelow(uint32_t from, uint32_t second) {
    for (const TimeKind kind : TimeKindsOf(shape_.rated)) series_[kind].AgeBelow(from, second);
  }

  // Records that a message of the agent about this writer was refused.
  void NoteRefusal() { refused_ = true; }

  // The part of the step to which the frame belongs; INVALID_ARGUMENT if its intervals are outside the step.
  absl::StatusOr<FramePart> PartOf(const v1::Frame& frame) const;

  // Service times of the measured part, including closing writes.
  const Histogram& latency() const { return latency_; }
  // Response times of the same writes and of those that were not issued; empty without a target rate.
  const Histogram& response() const { return response_; }
  // Start delays of the writes in response().
  const v1::StartDelay& start_delay() const { return start_delay_; }
  const SecondSeries& series(TimeKind kind = TimeKind::kService) const { return series_[kind]; }
  // Writes that were in flight at the step's end.
  const WriteSums& closing(TimeKind kind = TimeKind::kService) const { return closing_[kind]; }
  int64_t between_ns() const { return between_ns_; }
  // Plain counts, as in ScopeSums::counts.
  const v1::ScopeReport& counts() const { return counts_; }
  // Bytes of the writes that completed within the measured time.
  uint64_t measured_bytes() const { return measured_bytes_; }
  // The slowest measured write; absent if there is none or no frame reported it.
  const std::optional<v1::WriteSample>& slowest() const { return slowest_; }
  // Sequence number of the fastest measured write; 0: none, or its frame does not name it.
  uint64_t fastest_seq() const { return fastest_seq_; }
  // The ten slowest measured writes that frames reported, slowest first; ties keep the earlier write first. By response
  // time: empty where the agent does not report them.
  const std::vector<v1::WriteSample>& slow(TimeKind kind = TimeKind::kService) const { return slow_[kind]; }
  // End of the last measured write, in the agent's clock; 0: none.
  int64_t last_end_ns() const { return last_end_ns_; }
  // Start of the writer's first write, warm-up included, in the agent's clock; 0: unknown.
  int64_t first_start_ns() const;
  // How long after the step's start that write was scheduled; nothing if its frame is missing.
  const std::optional<int64_t>& first_phase_ns() const { return first_phase_ns_; }
  // Start of the write that was in flight when the last frame was cut, and the moment of that cut; 0: none.
  int64_t in_flight_since_ns() const { return in_flight_since_ns_; }
  int64_t last_cut_ns() const { return last_cut_ns_; }
  bool closed() const { return closed_; }
  // Whether a frame has been added.
  bool started() const { return started_; }
  // Number of the interval after the last one that was added.
  int64_t next_interval() const { return next_interval_; }
  int64_t covered_ns() const { return shape_.CoveredNs(next_interval_); }
  // The writer's own counts; absent until they arrive.
  const std::optional<v1::WriterTotals>& totals() const { return totals_; }
  // How many writes the frames may lack; UINT64_MAX: unknown. `done`: the writer's own counts should have arrived.
  uint64_t MissingWrites(bool done) const;
  // How the frames differ from the writer's own counts, as text; empty if they agree or cannot be compared.
  std::string Disagreement(const std::string& operations = "writes") const;

 private:
  absl::Status Check(const v1::Frame& frame) const;

  StepShape shape_;
  BlockRange blocks_;
  Histogram latency_;
  Histogram response_;
  v1::StartDelay start_delay_;
  PerTime<SecondSeries> series_;
  WriteSums warmup_;
  PerTime<WriteSums> closing_;
  uint64_t measured_bytes_ = 0;
  int64_t between_ns_ = 0;
  v1::ScopeReport counts_;
  std::optional<v1::WriteSample> slowest_;
  uint64_t fastest_seq_ = 0;
  PerTime<std::vector<v1::WriteSample>> slow_;
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

// Everything here can be merged, so that a host is exactly the sum of its writers, and the cluster that of its hosts.
struct ScopeSums {
  // Service times, including those of closing writes.
  Histogram latency;
  Histogram response;
  // The part of the response times that the load generator caused.
  v1::StartDelay start_delay;
  SecondSeries series;
  WriteSums closing;
  // The series and the closing sums as response times; empty without a target rate.
  SecondSeries response_series;
  WriteSums response_closing;
  // Bytes of the writes that completed within the measured time.
  uint64_t bytes = 0;
  // How long after the step's end the last closing write completed.
  int64_t closing_length_ns = 0;
  // The longest measured time, and the shortest of those scopes that were not lost.
  int64_t measured_ns = 0;
  int64_t whole_ns = INT64_MAX;
  // How far the data reach, from the measured start; nothing if they reach the step's end.
  std::optional<int64_t> data_until_ns;
  // Writes whose end is unknown: how long each was in flight, at least.
  std::vector<int64_t> in_flight_ages_ns;
  // Sums over writers: the time from the measured start to the end of the step or of the last write, and the part of it
  // between writes.
  Int128 elapsed_ns = 0;
  Int128 between_ns = 0;
  // Plain counts, which the report takes as they are: warmup_writes, untraced_writes, ring_full_waits and
  // ring_full_wait_ns. Merge adds up every field that is set here.
  v1::ScopeReport counts;
  // The slowest write, and its writer.
  std::optional<v1::WriteSample> slowest;
  uint32_t slowest_host = 0;
  uint32_t slowest_qm = 0;
  // Sequence number of the fastest write, within its writer's step; 0: unknown.
  uint64_t fastest_seq = 0;
  // The following, down to max_behind_ns, are of writers with a target rate only.
  double asked_iops = 0;
  bool rate_held = true;
  uint64_t not_issued = 0;
  // How many of them a load generator that starts every write in time could have issued.
  uint64_t not_issued_by_delay = 0;
  // A writer's own counts are missing, and with them how many of its writes were not issued.
  bool not_issued_unknown = false;
  // Writes that the target rate made due within the measured time, and how many of them completed within it.
  uint64_t rate_due = 0;
  uint64_t rate_completed = 0;
  // Writers that completed fewer writes than were due: each may lack one merely because of when that one was due.
  uint64_t rate_open = 0;
  uint64_t max_behind_writes = 0;
  uint64_t max_behind_ns = 0;

  // Service times of writers without a target rate, if other writers have one: what their callers experienced.
  Histogram unscheduled;
  // Writes that no accepted frame reported; UINT64_MAX: unknown how many.
  uint64_t missing_writes = 0;
  // As missing_writes, of the reads beside the writes.
  uint64_t missing_reads = 0;
  // A host of the scope was lost or failed in the step.
  bool lost = false;
  // In a placement: the load generator on a host of the scope may be CPU-bound. What callers experienced then shows
  // nothing about the storage, unless the service times themselves do.
  bool generator_bound = false;
  // In that case, the longest time for which the writers of those hosts can have waited for a CPU, in total; infinite
  // if unknown. A write that waits for a CPU inside its system call is slow even if the storage is fast. A single
  // writer's share is unknown: the whole wait of its host may have been its own.
  double cpu_wait_ns = 0;
  // Largest step (resolution) of the clocks that measured the scope.
  uint64_t clock_step_ns = 0;

  void Merge(const ScopeSums& other);
  // Forgets the series, which the scopes above have from elsewhere.
  void DropSeries() {
    series = SecondSeries();
    response_series = SecondSeries();
  }

  // Writes that completed within the measured time.
  uint64_t CompletedWrites() const { return latency.count() - closing.writes; }

  // Time in writes plus time between them, in percent of the elapsed time.
  double AccountedPercent() const;
};

// What callers experienced: response times of writers with a target rate, service times of the others. The result may
// refer to `both`, which holds the merged histogram if there are writers of both kinds.
const Histogram& FeltLatency(const ScopeSums& sums, Histogram& both);

// For how long a writer's host was measured, as far as is known.
struct MeasuredPart {
  int64_t measured_ns = 0;
  // The host reported that the step is over.
  bool done = false;
  // The host's data end before the step does, for a reason that concerns this host alone.
  bool left_early = false;
  // Start of the measured part, in the host's clock; nothing if unknown.
  std::optional<int64_t> start_ns;
};

// A writer's target.
struct AskedLoad {
  double rate_per_second = 0;  // 0: a closed loop
  // Arrivals are random, so the rate holds only on average.
  bool random_arrivals = false;
};

// Reads that a writer makes beside its writes.
struct ReadsBeside {
  // Null if none are known.
  const WriterStats* stats = nullptr;
  // Reads that no accepted frame reported; UINT64_MAX: unknown how many.
  uint64_t missing = 0;
};

// The sums of one writer. The target rate and the time that passed are those of its writes and reads together.
ScopeSums SumsOfWriter(const WriterStats& writer, const ReadsBeside& beside, uint32_t host, uint32_t qm,
                       const MeasuredPart& measured, const AskedLoad& asked);
// The sums of one operation of a writer, without what belongs to the writer as a whole, such as whether it held the
// rate.
ScopeSums SumsOfOperation(const WriterStats& operation, uint32_t host, uint32_t qm, const MeasuredPart& measured,
                          const AskedLoad& asked);

// A row of the report, except what needs the timeline: the slowest write, and how far the data reach. `whole_seconds`:
// seconds of the step that all of the scope was measured in.
v1::ScopeReport MakeScopeReport(const ScopeSums& sums, uint32_t whole_seconds);

}  // namespace plimsoll
