// Criteria of the verdict: `p99<10ms`, `max@host<500ms`, `iops@4k>=2000`.
//
//   criterion  = metric { "@" where } comparison limit
//   metric     = pN | min | max | avg (mean) | wavg | iops | mbps (mb/s) | min_second_iops | min_second_mbps | writes
//   where      = "cluster" | "storage" | "host" | "qm" | a block size
//   comparison = "<" | "<=" | ">" | ">="
//   limit      = a time with its unit for a latency, else a number
//
// A criterion must hold in every step, or, where a block size is named, in every step with that block size; and there
// for all writers taken together, or with @storage for each storage, @host for each host, or @qm for each queue
// manager.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace plimsoll {

// What a criterion looks at. Latencies are service times of single writes; a second is a whole second of the timeline.
enum class Metric {
  kPercentile,          // latency that `percentile` per cent of the writes do not exceed, in ns
  kMin,                 // lowest latency, in ns
  kMax,                 // highest latency, in ns
  kAverage,             // mean latency, in ns
  kWeightedAverage,     // the report's WAvg, in ns
  kWritesPerSecond,     // writes a second over the step
  kBytesPerSecond,      // bytes a second over the step
  kMinWritesPerSecond,  // writes in the step's worst second
  kMinBytesPerSecond,   // bytes in the step's worst second
  kWrites,              // number of writes in the step
};

// Unit of a metric's values.
enum class MetricUnit { kNanoseconds, kWritesPerSecond, kBytesPerSecond, kWrites };

enum class Comparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual };

// Whose figures must fulfil the criterion.
enum class CriterionScope { kCluster, kStorage, kHost, kQm };

struct Criterion {
  Metric metric = Metric::kPercentile;
  // For kPercentile: above 0, below 100. Else 0.
  double percentile = 0;
  CriterionScope scope = CriterionScope::kCluster;
  // The steps that count: those with this block size. 0: every step.
  uint64_t block_size_bytes = 0;
  Comparison comparison = Comparison::kLess;
  // In the metric's unit.
  double limit = 0;
  // As it was written, without blanks around it.
  std::string text;
};

// Reads one criterion; letters of either case, blanks anywhere between its parts. INVALID_ARGUMENT says what is wrong
// and what is accepted.
absl::StatusOr<Criterion> ParseCriterion(const std::string& text);

// The spelling that ParseCriterion reads back to the same criterion: "p99@host<10ms".
std::string FormatCriterion(const Criterion& criterion);

// Whether `value`, in the metric's unit, fulfils the criterion.
bool Fulfils(const Criterion& criterion, double value);

MetricUnit UnitOf(Metric metric);

}  // namespace plimsoll
