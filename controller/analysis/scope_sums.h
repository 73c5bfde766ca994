// Figures of a scope: a writer's, or those of several scopes added up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/second_series.h"
#include "controller/analysis/step_shape.h"
#include "controller/analysis/writer_stats.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Everything here adds up, so that a host is the sum of its writers, and the cluster the sum of its hosts, exactly.
struct ScopeSums {
  // Closing writes included.
  Histogram latency;
  Histogram response;
  SecondSeries series;
  WriteSums closing;
  // How long the longest closing write outlasted the step.
  int64_t closing_length_ns = 0;
  // Longest and, among those scopes that were not lost, shortest stretch that was measured.
  int64_t measured_ns = 0;
  int64_t whole_ns = INT64_MAX;
  // Until when the data reach, from the measured start; nothing where they reach the step's end.
  std::optional<int64_t> data_until_ns;
  // How long writes had been in flight, at least, of which nothing more is known.
  std::vector<int64_t> in_flight_ages_ns;
  // Sum over writers: time from the measured start to the last write or the step's end, and the part between writes.
  Int128 elapsed_ns = 0;
  Int128 between_ns = 0;
  uint64_t warmup_writes = 0;
  uint64_t untraced_writes = 0;
  uint64_t ring_full_waits = 0;
  uint64_t ring_full_wait_ns = 0;
  // Slowest write and whose it is.
  std::optional<v1::WriteSample> slowest;
  uint32_t slowest_host = 0;
  uint32_t slowest_qm = 0;
  // Of writers with a rate.
  double asked_iops = 0;
  bool rate_held = true;
  uint64_t not_issued = 0;
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
  // Largest step of the clocks that measured it.
  uint64_t clock_step_ns = 0;

  void Merge(const ScopeSums& other);

  // Those within the measured time.
  uint64_t CompletedWrites() const { return latency.count() - closing.writes; }

  // Time in writes plus time between them, in percent of the time that passed.
  double AccountedPercent() const;
};

// What is known of the stretch that a writer's host was measured for.
struct MeasuredStretch {
  int64_t measured_ns = 0;
  // The host said that the step is over.
  bool done = false;
  // The host's data end before the step does, for a reason of its own.
  bool left_early = false;
  // Start of the measured part in the host's clock; nothing where it is not known.
  std::optional<int64_t> start_ns;
};

// The sums of one writer. `rate_per_second` is 0 for a closed loop; with random arrivals it is an average.
ScopeSums SumsOfWriter(const WriterStats& writer, uint32_t host, uint32_t qm, const MeasuredStretch& stretch,
                       double rate_per_second, bool random_arrivals);

// A row of the report, without what needs the timeline: the slowest write, and until when the data reach.
v1::ScopeReport MakeScopeReport(const ScopeSums& sums, uint64_t block_size_bytes, const SecondExtremes& extremes);

}  // namespace plimsoll
