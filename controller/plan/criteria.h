// Criteria of the verdict: `p99<10ms`, `max@host<500ms`, `iops@4k>=2000`, `stalls[one_host]==0`, `steady`.
//
//   criterion  = metric [ "[" stall class "]" ] { "@" where } comparison limit
//   metric     = a name of metrics.h; for a latency also "service_" and the name
//   where      = "cluster" | "storage" | "host" | "qm" | a block size
//   comparison = "<" | "<=" | ">" | ">=" | "=="
//   limit      = what the metric's unit asks for: a time with its unit, a number, a number of percent, yes or no
//
// A criterion must hold in every step, or, where a block size is named, in every step with that block size; and there
// for all writers taken together (@cluster), for each storage, for each host or for each queue manager. The metric says
// which of them is meant where the criterion names none.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "controller/plan/metrics.h"
#include "plimsoll/v1/findings.pb.h"

namespace plimsoll {

enum class Comparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kEqual };

struct Criterion {
  Metric metric = Metric::kPercentile;
  // For kPercentile: above 0, below 100. Else 0.
  double percentile = 0;
  // A latency: the service time is meant, not the response time.
  bool service_time = false;
  // For metrics of stalls: the class that counts; unspecified: all of them.
  v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
  CriterionScope scope = CriterionScope::kQm;
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

// The limit is an upper one: small values fulfil the criterion.
bool WantsSmall(const Criterion& criterion);

// The words that `stalls[...]` takes, for messages: "host_paused, all_hosts (or storage), ...".
std::string StallClassNames();

}  // namespace plimsoll
