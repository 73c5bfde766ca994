// What criteria can be about: the one list of metrics. Parser, help and docs/plan.md are made from it; the analysis has
// one getter for each entry (controller/analysis/metric_values.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace plimsoll
