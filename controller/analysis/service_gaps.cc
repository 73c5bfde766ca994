#include "controller/analysis/service_gaps.h"

#include <algorithm>

namespace plimsoll {

void ServiceGaps::Take(const v1::Frame& frame) {
  const v1::Distribution& latency = frame.latency();
  const int64_t first_start_ns = frame.first_start_ns();
  const int64_t last_end_ns = frame.last_end_ns();
  if (latency.count() == 0 || first_start_ns <= 0 || first_start_ns < last_end_ns_ || last_end_ns < first_start_ns) {
    return;
  }
  const int64_t span_ns = last_end_ns - first_start_ns;
  const auto sum_ns = static_cast<int64_t>(std::min<uint64_t>(latency.sum_ns(), INT64_MAX));
  if (sum_ns > span_ns) return;
  // Neither is longer than the sum.
  const auto longest_ns = static_cast<int64_t>(std::min<uint64_t>(latency.max_ns(), static_cast<uint64_t>(sum_ns)));
  // Of a single write everything is known; else the bounds are those of the longest one.
  const bool single = latency.count() == 1;
  const int64_t first_end_ns = single ? last_end_ns : first_start_ns + longest_ns;
  if (last_end_ns_ == 0) {
    first_end_ns_ = first_end_ns;
  } else {
    // From the start of the last write before to the end of the first one here.
    Keep(last_start_ns_, first_end_ns, first_end_ns - last_start_ns_);
  }
  if (!single) {
    // From the start of one write to the end of the next: at most two writes, and all time between writes.
    const int64_t idle_ns = span_ns - sum_ns;
    Keep(first_start_ns, last_end_ns, std::min(2 * longest_ns, sum_ns) + idle_ns);
  }
  last_start_ns_ = single ? first_start_ns : last_end_ns - longest_ns;
  last_end_ns_ = last_end_ns;
}

void ServiceGaps::Keep(int64_t begin_ns, int64_t end_ns, int64_t longest_ns) {
  if (longest_ns < least_ns_) return;
  while (gaps_.size() >= kMostGaps) {
    least_ns_ *= 2;
    std::erase_if(gaps_, [this](const ServiceGap& gap) { return gap.longest_ns < least_ns_; });
  }
  if (longest_ns >= least_ns_) gaps_.push_back({begin_ns, end_ns, longest_ns});
}

}  // namespace plimsoll
