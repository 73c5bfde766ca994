// How evenly a step's writes were spread: over writers, and over its time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/analysis/second_series.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Jain's index of values that are not negative: (sum x)^2 / (n sum x^2). 0 where there are fewer than two, 1 where all
// are 0.
double JainIndex(const std::vector<double>& values);

// What completed in one whole second; parts of writes where only the sum over several seconds is known.
struct SecondFigures {
  double writes = 0;
  double latency_sum_ns = 0;
};

// Of seconds 0 ... whole_seconds - 1. A wide range is shared out evenly over its seconds.
std::vector<SecondFigures> WholeSeconds(const SecondSeries& series, uint32_t whole_seconds);

// First against last third (rounded down to whole seconds), and whether the five stretches are steady: they are as long
// as whole seconds allow and end with the last one, so that up to four seconds at the begin are in none of them. A
// change from nothing is NaN; without a write nothing is steady. Nothing where there are fewer than five seconds.
std::optional<v1::TrendReport> MakeTrend(const std::vector<SecondFigures>& seconds);

// What a reader should know of a step whose first third differs from its last by more than 10 %, in writes per second
// or in average latency: a storage that still writes back what preparing left. Empty where it does not.
std::string UnsettledNote(const v1::TrendReport& trend);

}  // namespace plimsoll
