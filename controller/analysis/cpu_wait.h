// What the time for which writers waited for a CPU leaves certain of their latencies and stalls. A write that waits for
// a CPU inside its system call takes longer without the storage being slower, and of how long the writers of a host
// waited only the sum is known: whatever that sum can explain is not held against the storage.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/scope_sums.h"
#include "controller/plan/criteria.h"
#include "plimsoll/v1/findings.pb.h"

namespace plimsoll {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

// Of the writes of at least the criterion's limit, a latency: as many as can have waited for a CPU for all of the time
// by which they exceed it, if the writes waited for `wait_ns` in all.
uint64_t CountExplained(const Criterion& criterion, const Histogram& writes, double wait_ns);

// The least that a figure of the scope's service times, `value_ns` as measured, can be without what its writers waited
// for a CPU. Not for percentiles.
double LeastLatency(const Criterion& criterion, const ScopeSums& sums, double value_ns);

// What is left of a stall where the writers of hosts with a CPU-bound load generator may have waited for a CPU.
struct StallEvidence {
  v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
  // It is no stall of the storage if its writers waited for a CPU for at least this long: how much longer its writes
  // were in flight than what is no stall. Infinite: a host stalled that had CPUs enough.
  double excess_ns = 0;
  // It lasted for at least this long, whatever the writers of such hosts waited for.
  double least_length_ns = 0;
  // Hosts of both kinds stalled: it is a stall, of whichever class.
  bool mixed = false;
};

// Of the stalls that a criterion counts: how many are none of the storage if the writers waited for `wait_ns` in all,
// and how many of the others may be of the criterion's class.
struct StallsByCpuWait {
  double none = 0;
  double more = 0;
};
StallsByCpuWait CountByCpuWait(const Criterion& criterion, const std::vector<StallEvidence>& stalls, double wait_ns);

// How long the longest stall that the criterion counts was, at least.
double LeastLongestStall(const Criterion& criterion, const std::vector<StallEvidence>& stalls);

}  // namespace plimsoll
