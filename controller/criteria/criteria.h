// Criteria of the verdict: `p99<10ms`, `max@host<500ms`, `iops@4k>=2000`, `stalls[one_host]==0`, `steady`.
//
//   criterion  = metric [ "[" stall class "]" ] { "@" where } comparison limit
//   metric     = a name of the list below; for a latency also "service_" and the name, or the name of a write's part
//                (sync fdatasync), of a read or of a watched call, an underscore and the name: sync_p99, mqput_max
//   where      = "cluster" | "storage" | "host" | "qm" | a block size | a stall class
//   comparison = "<" | "<=" | ">" | ">=" | "==" | ":"
//   limit      = what the metric's unit asks for: a time with its unit, a number, a number of percent, yes or no
//
// A criterion must hold in every step, or, where a block size is named, in every step with that block size; and there
// for all writers taken together (@cluster), for each storage, for each host or for each queue manager. The metric
// determines which of them is meant where the criterion names none.
//
// ":" is the comparison that is usual for the metric, in a spelling that no shell takes for its own: "<" for latencies
// and other times, "<=" for other metrics whose lower values are better, "==" in place of these two where the limit is
// 0 and the metric is not a latency, ">=" where higher values are better. "@" and a class is the class in brackets.
//
// The one list of metrics is here; parser, help and docs/plan.md are made from it, and the analysis has one getter for
// each entry (controller/analysis/metric_values.h). HA drills have criteria of their own, at the end (ha_criteria.cc).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plimsoll/v1/findings.pb.h"

namespace plimsoll {

enum class Metric {
  kPercentile,
  kMin,
  kMax,
  kAverage,
  kWeightedAverage,
  kWritesPerSecond,
  kBytesPerSecond,
  kMinWritesPerSecond,
  kMinBytesPerSecond,
  kWrites,
  kRateAchieved,
  kNotIssued,
  kStalls,
  kLongestStall,
  kSteady,
  kDriftIops,
  kDriftLatency,
  kFairness,
  kStartSkew,
  kClockError,
  kNfsRetransmits,
  kHosts,
};

// Unit of a metric's values.
enum class MetricUnit {
  kNanoseconds,
  kWritesPerSecond,
  kBytesPerSecond,
  kCount,          // of MetricInfo::noun
  kPercent,        // 0 or more
  kSignedPercent,  // a change
  kRatio,          // 0 to 1
  kYesNo,          // 1 or 0
};

enum class Better { kLower, kHigher };

// Whose figures must fulfil a criterion.
enum class CriterionScope { kCluster, kStorage, kHost, kQm };

struct MetricInfo {
  Metric metric;
  // As criteria write it; "pN" for percentiles.
  const char* name;
  // A second name; empty: none.
  const char* alias;
  MetricUnit unit;
  // What a kCount counts; else empty.
  const char* noun;
  Better better;
  // Where it can be looked at; the first is meant where a criterion names none.
  std::vector<CriterionScope> scopes;
  // A latency: `service_` before the name means the service time, the name alone the response time.
  bool has_service_time;
  // `[class]` after the name restricts it to one class of stalls.
  bool has_stall_class;
  // One sentence each, for the docs: what it is, and when there is no value.
  const char* meaning;
  const char* missing;
};

// Every metric once, in the order of the enumeration.
const std::vector<MetricInfo>& Metrics();
const MetricInfo& InfoOf(Metric metric);

// "cluster", "storage", "host", "qm".
const char* ScopeName(CriterionScope scope);

// Every name that a criterion can begin with, for messages and help: "pN (such as p99.9), min, max, ...".
std::string MetricNames();

// The table of docs/plan.md, in Markdown.
std::string MetricTable();

enum class Comparison { kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kEqual };

struct Criterion {
  Metric metric = Metric::kPercentile;
  // For kPercentile: above 0, below 100. Else 0.
  double percentile = 0;
  // A latency: the service time is meant, not the response time.
  bool service_time = false;
  // A latency, or the throughput of reads and calls: the operation that is meant, "sync", "write_call", "read" or a
  // call in lower case (LogStep.operations); empty: the main operation.
  std::string operation = {};
  // For metrics of stalls: the class that counts; unspecified: all of them.
  v1::StallClass stall_class = v1::STALL_CLASS_UNSPECIFIED;
  CriterionScope scope = CriterionScope::kQm;
  // The steps that count: those with this block size. 0: every step.
  uint64_t block_size_bytes = 0;
  Comparison comparison = Comparison::kLess;
  // In the metric's unit.
  double limit = 0;
  // As it was written, without blanks around it; by FormatCriterion where that was without shell characters.
  std::string text;
};

// Reads one criterion; letters of either case, blanks anywhere between its parts. INVALID_ARGUMENT names what is wrong
// and what is accepted.
absl::StatusOr<Criterion> ParseCriterion(const std::string& text);

// The spelling that ParseCriterion reads back to the same criterion: "p99@host<10ms".
std::string FormatCriterion(const Criterion& criterion);

// Whether an operation of a criterion is a call of a watched program: "mqput".
bool IsCallName(const std::string& operation);

// Whether `value`, in the metric's unit, fulfils the criterion.
bool Fulfils(const Criterion& criterion, double value);

// The limit is an upper one: small values fulfil the criterion.
bool WantsSmall(const Criterion& criterion);

// Whether the criterion bounds its metric on the wrong side: p99>10ms. A change, and the number of writes, may be
// bounded on either side.
bool IsReversed(const Criterion& criterion);

// The criterion with the opposite comparison: p99<10ms.
Criterion Reversed(Criterion criterion);

// Whether the criterion is as strict a demand for the rates as the one that plimsoll adds, but for its limit: a least
// share of every queue manager's rate, in every step. In a placement nothing else replaces that one.
bool IsLeastRate(const Criterion& criterion);

// The words that `stalls[...]` takes, for messages: "host_paused, all_hosts (or storage), ...".
std::string StallClassNames();

// Criteria of HA drills: `lost==0`, `takeover_max<60s`. The one list of their metrics is here; parser, docs/plan.md and
// the judgement (controller/ha) are made from it.
//
//   criterion  = metric comparison limit
//   comparison = "<" | "<=" | ">" | ">=" | "==" | ":", as above
//   limit      = a time with its unit, or a number
//
// Lower values are better for all of these metrics.

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
  // As it was written, without blanks around it; with the comparison that ":" stands for.
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
