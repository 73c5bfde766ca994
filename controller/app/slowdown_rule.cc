#include "controller/app/slowdown_rule.h"

#include <algorithm>

namespace plimsoll {

void SlowdownRule::Add(const ProtectedSecond& second) {
  const auto add = [&second](ProtectedSecond& sum) {
    sum.writes += second.writes;
    sum.latency_sum_ns += second.latency_sum_ns;
  };
  if (seen_++ < kBaselineSeconds) return add(baseline_);
  add(since_);
  recent_.push_back(second);
  if (recent_.size() > kRecentSeconds) recent_.pop_front();
  recent_sum_ = {};
  for (const ProtectedSecond& each : recent_) {
    recent_sum_.writes += each.writes;
    recent_sum_.latency_sum_ns += each.latency_sum_ns;
  }
  worst_ns_ = std::max(worst_ns_, recent_ns());
}

bool SlowdownRule::slowed() const {
  if (!has_baseline() || recent_.size() < kRecentSeconds) return false;
  return recent_sum_.latency_sum_ns - error_ns_ > factor_ * baseline_ns() * static_cast<double>(recent_sum_.writes);
}

}  // namespace plimsoll
