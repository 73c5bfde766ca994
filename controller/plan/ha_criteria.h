// Criteria of HA drills: `lost==0`, `takeover_max<60s`. The one list of their metrics is here; parser, docs/plan.md and
// the judgement (controller/ha) are made from it.
//
//   criterion  = metric comparison limit
//   comparison = "<" | "<=" | ">" | ">=" | "=="
//   limit      = a time with its unit, or a number
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

enum class HaMetric {
  kLost,
  kTorn,
  kMisplaced,
  kOverwritten,
  kOrderBroken,
  kSplitBrain,
  kLateWriters,
  kNotReleased,
  kTakeoverMax,
  kTakeoverMedian,
  kGapMax,
  kGapMedian,
  kGrantMax,
  kReplayMax,
  kOwnMax,
};

struct HaMetricInfo {
  HaMetric metric;
  const char* name;
  // A time in nanoseconds; else a count.
  bool is_time;
  // One sentence each, for the docs: what it is, and when there is no value.
  const char* meaning;
  const char* missing;
};

// Every metric once, in the order of the enumeration.
const std::vector<HaMetricInfo>& HaMetrics();
const HaMetricInfo& InfoOf(HaMetric metric);

enum class HaComparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kEqual };

struct HaCriterion {
  HaMetric metric = HaMetric::kLost;
  HaComparison comparison = HaComparison::kEqual;
  // Nanoseconds, or a count.
  int64_t limit = 0;
  // As it was written, without blanks around it.
  std::string text;
};

// Reads one criterion; letters of either case, blanks anywhere between its parts. INVALID_ARGUMENT names what is wrong
// and what is accepted.
absl::StatusOr<HaCriterion> ParseHaCriterion(const std::string& text);

// Whether a value fulfils the criterion.
bool Fulfils(const HaCriterion& criterion, int64_t value);

// The table of docs/plan.md, in Markdown.
std::string HaMetricTable();

}  // namespace plimsoll
