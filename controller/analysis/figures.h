// From a histogram to the figures of a report.
#pragma once

#include <cstdint>

#include "common/histogram.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Whether fewer than 10 of `count` values lie beyond the percentile's rank, so that it is known only roughly. `percent`
// is taken to four decimals.
bool IsThin(uint64_t count, double percent);

// Every figure of a distribution.
v1::LatencyReport MakeLatencyReport(const Histogram& histogram);

}  // namespace plimsoll
