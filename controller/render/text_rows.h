// Which rows the tables of the text report show, and by what they are ordered.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "controller/render/text.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// More hosts, queue managers or steps than this are shown by their best and their worst, unless all are asked for.
inline constexpr size_t kMostRows = 8;
// So many of the best, and so many of the worst.
inline constexpr size_t kRowsOfAnEnd = 3;

// What a caller felt: the response time where there is a target rate, otherwise the service time, which is then the
// same.
const v1::LatencyReport& FeltLatency(const v1::ScopeReport& scope);
// Whether a step had a target rate.
bool HasTargetRate(const v1::StepReport& step);
// "response time" or "service time": which of them FeltLatency is.
const char* FeltName(const v1::StepReport& step);

// The cluster's figures of a step; null where there are none.
const v1::ScopeReport* ClusterOf(const v1::StepReport& step);

// Those with the lowest and those with the highest p99 of what callers felt, from best to worst; one without a write is
// the worst. All of them, as they are, where they are at most kMostRows.
std::vector<const v1::ScopeReport*> BestAndWorst(std::vector<const v1::ScopeReport*> scopes);

// Whether a report has more hosts or queue managers than kMostRows.
bool IsLarge(const v1::Report& report);

// The unit of a table's latencies: microseconds where a cluster's median is below 100 of them and no figure of the
// steps would need more columns than there are.
struct LatencyUnit {
  int64_t unit_ns = 1'000'000;
  const char* name = "ms";
};
LatencyUnit UnitFor(const std::vector<const v1::StepReport*>& steps);

// A percentile of LatencyReport, or a dash where it is known only roughly.
std::string PercentileCell(const v1::LatencyReport& latency, const char* name, uint64_t value_ns,
                           const LatencyUnit& unit);
// Another figure of it, or a dash where there is no write.
std::string LatencyCell(const v1::LatencyReport& latency, double value_ns, const LatencyUnit& unit);

}  // namespace plimsoll
