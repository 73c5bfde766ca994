// A distribution as rows of bars.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

inline constexpr uint32_t kHistogramRows = 40;
inline constexpr uint32_t kMaxHistogramRows = 1'000;

// One row: values from `from_ns` to below `to_ns`, or to the largest where it is the tail.
struct HistogramRow {
  uint64_t from_ns = 0;
  uint64_t to_ns = 0;
  uint64_t count = 0;
  bool tail = false;
};

// At most `rows` (2 or more) rows of one round width (1, 2 or 5 times a power of ten) from the smallest value on, the
// narrowest that hold 95 % of the values in all but the last row and that the buckets can tell apart; what is above is
// the tail. A bucket that lies in two rows is shared out in proportion, so that the counts are whole and add up
// exactly. `latency` narrows the outermost buckets; empty where there is no value.
std::vector<HistogramRow> HistogramRows(const v1::DistributionReport& distribution, const v1::LatencyReport& latency,
                                        uint32_t rows);

// The cluster's histogram of a step, as lines at most 80 columns wide; empty where the report has none.
std::vector<std::string> TextHistogram(const v1::StepReport& step, uint32_t rows);

}  // namespace plimsoll
