// Latencies and stalls of writers that had to wait for a CPU: what is certain of them. A write that waits for a CPU
// inside its system call takes longer although the storage is no slower, and only the total wait of a host's writers is
// known. Whatever that total can explain is not held against the storage; nor, of a response time, is what its writer
// lost by starting a write late.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/step_stats.h"
#include "controller/criteria/criteria.h"
#include "plimsoll/v1/findings.pb.h"

namespace plimsoll {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

// For how long, at most, the host's writers may have waited for a CPU in the first `measured_ns` of the step, all
// together, where its load generator may be CPU-bound and the verdict has to allow for that; nothing otherwise.
// `rules`: RunBegin::verdict_rules.
std::optional<double> CpuWaitToAllow(const StepStats& step, uint32_t host, const HostFacts& facts, uint32_t rules,
                                     int64_t measured_ns);

// How many of the writes that reach the criterion's latency limit may exceed it only because they waited for a CPU,
// where all writes together waited for `wait_ns`; at most.
uint64_t CountExplained(const Criterion& criterion, const Histogram& writes, double wait_ns);

// Lower bound of a figure of the scope's service times, measured as `value_ns`, had its writers never waited for a CPU.
// A maximum counts the writes in flight. Not for percentiles.
double LeastLatency(const Criterion& criterion, const ScopeSums& sums, double value_ns);

// Lower bound of a figure of the scope's response times, which is at least `least_ns`, had no writer started a write
// late. `least_service_ns` is that of the service times: no response time is below its write's. Not for percentiles.
double LeastResponse(const Criterion& criterion, const ScopeSums& sums, const Histogram& responses, double least_ns,
                     double least_service_ns);

// Why a response time that a start delay explains is not held against the storage; a half-sentence.
std::string StartDelayText(const ScopeSums& sums);

// What is certain of a stall where writers of CPU-bound hosts took part.
struct StallEvidence {
  v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
  // By how much its writes exceeded the stall threshold, in all. If their writers waited for a CPU for at least this
  // long, it may have been no stall of the storage. Infinite where a host took part that had enough CPU.
  double excess_ns = 0;
  // Lower bound of its length, however long writers of such hosts waited for a CPU.
  double least_length_ns = 0;
  // CPU-bound and other hosts took part: it is a stall, but its class is uncertain.
  bool mixed = false;
};

// The uncertainty of a count of stalls, where the writers waited for a CPU for `wait_ns` in all: how many of those that
// a criterion counts may be none of the storage, and how many others may belong to its class.
struct StallsByCpuWait {
  double none = 0;
  double more = 0;
};
StallsByCpuWait CountByCpuWait(const Criterion& criterion, const std::vector<StallEvidence>& stalls, double wait_ns);

// Lower bound of the longest stall that the criterion counts.
double LeastLongestStall(const Criterion& criterion, const std::vector<StallEvidence>& stalls);

}  // namespace plimsoll
