#include "controller/fold/served_span.h"

#include <algorithm>

namespace plimsoll {

void ServedSpan::Append(const ServedSpan& later) {
  longest_gap_ns = std::max({longest_gap_ns, later.longest_gap_ns, later.first_end_ns - last_start_ns});
  last_start_ns = later.last_start_ns;
  last_end_ns = later.last_end_ns;
}

std::optional<ServedSpan> ServedBy(const v1::Frame& frame) {
  const v1::Distribution& latency = frame.latency();
  ServedSpan span;
  span.first_start_ns = frame.first_start_ns();
  span.last_end_ns = frame.last_end_ns();
  if (latency.count() == 0 || span.first_start_ns <= 0 || span.last_end_ns < span.first_start_ns) return std::nullopt;
  const int64_t span_ns = span.last_end_ns - span.first_start_ns;
  const auto sum_ns = static_cast<int64_t>(std::min<uint64_t>(latency.sum_ns(), INT64_MAX));
  if (sum_ns > span_ns) return std::nullopt;
  if (frame.has_aged()) {
    const v1::AgedSeconds& aged = frame.aged();
    for (const int64_t length_ns : {aged.first_end_after_ns(), aged.last_start_before_ns(), aged.longest_gap_ns()}) {
      if (length_ns < 0 || length_ns > span_ns) return std::nullopt;
    }
    span.first_end_ns = span.first_start_ns + aged.first_end_after_ns();
    span.last_start_ns = span.last_end_ns - aged.last_start_before_ns();
    span.longest_gap_ns = aged.longest_gap_ns();
    return span;
  }
  // Neither is longer than the sum.
  const auto longest_ns = static_cast<int64_t>(std::min<uint64_t>(latency.max_ns(), static_cast<uint64_t>(sum_ns)));
  // Everything is known of a single write; else the bounds are those of the longest one.
  const bool single = latency.count() == 1;
  span.first_end_ns = single ? span.last_end_ns : span.first_start_ns + longest_ns;
  span.last_start_ns = single ? span.first_start_ns : span.last_end_ns - longest_ns;
  if (!single) {
    // From the start of one write to the end of the next: at most two writes, and all time between writes.
    span.longest_gap_ns = std::min(2 * longest_ns, sum_ns) + span_ns - sum_ns;
  }
  return span;
}

}  // namespace plimsoll
