// A comparison as text, as CSV (JSON is RenderJson), and as one self-contained HTML file.
#pragma once

#include <string>
#include <vector>

#include "controller/compare/comparable.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// At most 80 columns wide, UTF-8, without colour or control characters but line breaks, whatever the reports say.
std::string RenderCompareText(const v1::Comparison& comparison);

// RFC 4180 with a heading, one row a block size, side (but the first) and figure. Rates are operations or 10^6 bytes a
// second, all other figures nanoseconds. Figures of a part of the writes, or of the reads beside them, are prefixed
// with its name: sync_p99, read_iops. An empty cell: there is none, or it has no end.
std::string RenderCompareCsv(const v1::Comparison& comparison);

// How many rows the seconds of all runs and block sizes may have together; beyond that they are thinned (html_page.h).
inline constexpr int kPageRows = 100'000;

// {"comparison": the comparison as RenderJson has it, "title": which names the sides, "block_sizes": [{"runs": [{"of":
// rows before thinning, and packed columns (html_page.h): "second" (counted on through repetitions), "writes",
// "latency_sum_ns", "latency_max_ns", "p50_ns", "p99_ns", "p99_9_ns", "from_ns" and "count" of the run's
// distribution}]}]}, block sizes as in the comparison, runs as on the command line. Where the runs read, also "plan":
// {"read_percent"} of the first run; where that is 100, "writes" are reads.
std::string ComparePageData(const std::vector<SideInput>& sides, const v1::Comparison& comparison,
                            int row_limit = kPageRows);

// The page: findings, runs, configuration differences, bandwidth and latency by block size, seconds and distributions
// of the sides over one another. `comparison` is that of `sides`.
std::string RenderComparePage(const std::vector<SideInput>& sides, const v1::Comparison& comparison);

}  // namespace plimsoll
