// A comparison as one self-contained HTML file.
#pragma once

#include <string>
#include <vector>

#include "controller/compare/comparable.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// How many rows the seconds of all runs and block sizes may have together; beyond that they are thinned (html_page.h).
inline constexpr int kPageRows = 100'000;

// {"comparison": the comparison as RenderJson has it, "title": which names the sides, "block_sizes": [{"runs": [{"of":
// rows before thinning, and packed columns (html_page.h): "second" (counted on through repetitions), "writes",
// "latency_sum_ns", "latency_max_ns", "p50_ns", "p99_ns", "p99_9_ns", "from_ns" and "count" of the run's
// distribution}]}]}, block sizes as in the comparison, runs as on the command line.
std::string ComparePageData(const std::vector<SideInput>& sides, const v1::Comparison& comparison,
                            int row_limit = kPageRows);

// The page: findings, runs, configuration differences, bandwidth and latency by block size, seconds and distributions
// of the sides over one another. `comparison` is that of `sides`.
std::string RenderComparePage(const std::vector<SideInput>& sides, const v1::Comparison& comparison);

}  // namespace plimsoll
