#include "controller/analysis/covered_time.h"

#include <algorithm>

namespace plimsoll {

CoveredTime::CoveredTime(std::vector<TimeStretch> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const TimeStretch& a, const TimeStretch& b) { return a.begin_ns < b.begin_ns; });
  for (const TimeStretch& stretch : stretches) {
    if (stretch.end_ns <= stretch.begin_ns) continue;
    if (!stretches_.empty() && stretch.begin_ns <= stretches_.back().end_ns) {
      stretches_.back().end_ns = std::max(stretches_.back().end_ns, stretch.end_ns);
    } else {
      stretches_.push_back(stretch);
    }
  }
  int64_t sum_ns = 0;
  for (const TimeStretch& stretch : stretches_) {
    before_ns_.push_back(sum_ns);
    sum_ns += stretch.end_ns - stretch.begin_ns;
  }
}

int64_t CoveredTime::Before(int64_t moment_ns) const {
  const auto next = std::partition_point(stretches_.begin(), stretches_.end(), [moment_ns](const TimeStretch& stretch) {
    return stretch.begin_ns < moment_ns;
  });
  if (next == stretches_.begin()) return 0;
  const auto last = static_cast<size_t>(next - stretches_.begin()) - 1;
  return before_ns_[last] + std::min(moment_ns, stretches_[last].end_ns) - stretches_[last].begin_ns;
}

int64_t CoveredTime::Within(int64_t from_ns, int64_t to_ns) const {
  return from_ns < to_ns ? Before(to_ns) - Before(from_ns) : 0;
}

}  // namespace plimsoll
