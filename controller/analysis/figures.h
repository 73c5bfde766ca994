// The figures of a report: percentiles and distributions of a histogram, and how evenly writes were spread over writers
// and over time.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/histogram.h"
#include "common/units.h"
#include "controller/analysis/seconds.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Amount per second, over a time of that length, above 0.
inline double PerSecond(uint64_t amount, int64_t length_ns) {
  return static_cast<double>(amount) / (static_cast<double>(length_ns) / static_cast<double>(kNsPerSecond));
}

// Every figure of a distribution.
v1::LatencyReport MakeLatencyReport(const Histogram& histogram);

// Bounds of what reports hold of distributions: a step keeps each second's where it is no longer than this, and all
// steps together so many; and all scopes together have so many buckets.
inline constexpr int64_t kMaxDistributionSeconds = 14'400;
inline constexpr int64_t kDistributionSeconds = 4 * kMaxDistributionSeconds;
inline constexpr uint64_t kDistributionBuckets = 2'000'000;

// Buckets of a DistributionReport: 128 for every power of two, values below 128 ns one each. Those of the histogram lie
// within them, so that nothing is split.
constexpr uint64_t DistributionFloorNs(uint64_t value_ns) {
  const auto bits = static_cast<uint32_t>(64 - std::countl_zero(value_ns | 1));
  const uint32_t shift = bits > 8 ? bits - 8 : 0;
  return value_ns >> shift << shift;
}
static_assert(DistributionFloorNs(127) == 127 && DistributionFloorNs(255) == 255 && DistributionFloorNs(259) == 258);

// The buckets that hold a value, in order. Kind and name of the scope are the caller's.
v1::DistributionReport MakeDistribution(const Histogram& latency);

// Jain's index of values that are not negative: (sum x)^2 / (n sum x^2). 0 where there are fewer than two, 1 where all
// are 0.
double JainIndex(const std::vector<double>& values);

// What completed in one whole second; parts of writes where only the sum over several seconds is known.
struct SecondFigures {
  double writes = 0;
  double latency_sum_ns = 0;
};

// Figures of seconds 0 ... whole_seconds - 1. A wide range is shared out evenly over its seconds.
std::vector<SecondFigures> WholeSeconds(const SecondSeries& series, uint32_t whole_seconds);

// SNIA's rule for a steady state, in percent of the average of five figures.
inline constexpr double kSteadyRangePercent = 20;
inline constexpr double kSteadySlopePercent = 10;
inline constexpr size_t kSteadyFigures = 5;

struct Steadiness {
  bool steady = false;
  // Largest less smallest figure, and what the line fitted through them rises by from the first to the last.
  double range_percent = 0;
  double slope_percent = 0;
};

// Whether five figures in succession (of fewer or more: never) are steady. Nothing is where their average is not above
// 0.
Steadiness JudgeSteady(const std::vector<double>& figures);

// First against last third (rounded down to whole seconds), and whether the five intervals are steady: they are as long
// as whole seconds allow and end with the last one, so that up to four seconds at the begin are in none of them. A
// change from nothing is NaN; without a write nothing is steady. Nothing where there are fewer than five seconds.
std::optional<v1::TrendReport> MakeTrend(const std::vector<SecondFigures>& seconds);

// What a reader should know of a step whose first third differs from its last by more than 10 %, in writes per second
// or in average latency: a storage that still writes back what preparing left, unless `hosts_explain_it`: one was lost,
// suspended or short of CPU. Empty where it does not.
std::string UnsettledNote(const v1::TrendReport& trend, bool hosts_explain_it);

}  // namespace plimsoll
