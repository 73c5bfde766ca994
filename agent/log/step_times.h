// The moments of one step, and its frame intervals.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

// Moments of the host's CLOCK_MONOTONIC. Interval k covers [measured start + k x interval, the same of k + 1); the last
// regular one ends with the step; numbers below 0 are warm-up.
class StepTimes {
 public:
  // Durations are >= 0, `interval_ns` > 0.
  StepTimes(int64_t start_ns, int64_t warmup_ns, int64_t duration_ns, int64_t interval_ns)
      : start_ns_(start_ns),
        measured_start_ns_(start_ns + warmup_ns),
        end_ns_(start_ns + warmup_ns + duration_ns),
        interval_ns_(interval_ns) {}

  // Every writer's start.
  int64_t start_ns() const { return start_ns_; }
  // End of the warm-up.
  int64_t measured_start_ns() const { return measured_start_ns_; }
  // No write starts at or after it.
  int64_t end_ns() const { return end_ns_; }
  int64_t interval_ns() const { return interval_ns_; }

  // Number of the interval that holds a moment; one past the last for the step's end and all that follows.
  int32_t IntervalOf(int64_t moment_ns) const {
    if (moment_ns >= end_ns_) return closing_interval();
    const int64_t since_ns = moment_ns - measured_start_ns_;
    const int64_t number = since_ns >= 0 ? since_ns / interval_ns_ : -((-since_ns + interval_ns_ - 1) / interval_ns_);
    return static_cast<int32_t>(number);
  }
  int32_t first_interval() const { return std::min(IntervalOf(start_ns_), closing_interval()); }
  // The number after the last regular interval.
  int32_t closing_interval() const {
    return static_cast<int32_t>((end_ns_ - measured_start_ns_ + interval_ns_ - 1) / interval_ns_);
  }
  // The moment at which a regular interval ends.
  int64_t EndOf(int32_t interval) const {
    return std::min(measured_start_ns_ + (int64_t{interval} + 1) * interval_ns_, end_ns_);
  }

 private:
  int64_t start_ns_;
  int64_t measured_start_ns_;
  int64_t end_ns_;
  int64_t interval_ns_;
};

}  // namespace plimsoll
