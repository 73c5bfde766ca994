// When writes that a run must not slow down have become slower.
#pragma once

#include <cstdint>
#include <deque>

namespace plimsoll {

// The writes of a second: how many ended, and how long they took together. Where none ended on a host and one is known
// to be in flight there, that one counts with the time for which it has been.
struct ProtectedSecond {
  uint64_t writes = 0;
  double latency_sum_ns = 0;
};

// Compares what writes take with what they took before. One thread.
class SlowdownRule {
 public:
  // Of the seconds before the run, and of the latest ones.
  static constexpr uint32_t kBaselineSeconds = 10;
  static constexpr uint32_t kRecentSeconds = 5;

  // `factor`: how many times as long as before they may take. `error_ns`: by how much the sum of any seconds may be
  // off.
  explicit SlowdownRule(double factor, double error_ns = 0) : factor_(factor), error_ns_(error_ns) {}

  // The first kBaselineSeconds are the baseline.
  void Add(const ProtectedSecond& second);
  bool has_baseline() const { return seen_ >= kBaselineSeconds; }
  uint64_t baseline_writes() const { return baseline_.writes; }
  double baseline_sum_ns() const { return baseline_.latency_sum_ns; }
  // Whether there were writes in the baseline, whose sum is off by a tenth at most.
  bool can_compare() const {
    constexpr double kErrors = 10;
    return baseline_.latency_sum_ns > 0 && baseline_.latency_sum_ns >= kErrors * error_ns_;
  }
  // Mean of the baseline; 0: nothing was written.
  double baseline_ns() const { return Mean(baseline_); }
  // Mean of the last kRecentSeconds after the baseline, once they are there; 0: nothing was written in them.
  double recent_ns() const { return recent_.size() < kRecentSeconds ? 0 : Mean(recent_sum_); }
  // Whether the recent ones take longer than they may, whatever the error.
  bool slowed() const;
  // Mean of all seconds after the baseline, and the largest recent_ns() of them.
  double since_ns() const { return Mean(since_); }
  double worst_ns() const { return worst_ns_; }

 private:
  static double Mean(const ProtectedSecond& sum) {
    return sum.writes == 0 ? 0 : sum.latency_sum_ns / static_cast<double>(sum.writes);
  }

  double factor_;
  double error_ns_;
  uint32_t seen_ = 0;
  ProtectedSecond baseline_;
  ProtectedSecond since_;
  std::deque<ProtectedSecond> recent_;
  ProtectedSecond recent_sum_;
  double worst_ns_ = 0;
};

}  // namespace plimsoll
