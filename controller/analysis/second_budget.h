// How many seconds of a run may keep the distribution of their latencies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/timeline/timeline.h"

namespace plimsoll {

// Gives seconds to steps, in their order, as long as there are enough left.
class SecondBudget {
 public:
  // Whether the step that begins keeps its seconds. They are taken from what is left.
  bool Take(const StepShape& shape) {
    // A step's last, begun second counts too.
    int64_t seconds = SecondsIn(shape.duration_ns);
    // Most passes are far shorter than their limit. The seconds of one that is not are kept, and its report leaves them
    // out.
    if (shape.one_pass && seconds <= kMaxPassSeconds) seconds = std::min(seconds, kMaxDistributionSeconds);
    taken_ = seconds <= kMaxDistributionSeconds && seconds <= left_ ? seconds : 0;
    left_ -= taken_;
    return taken_ > 0;
  }
  // The step has ended. What a pass did not use is left to the steps after it.
  void End(const StepShape& shape, int64_t measured_ns) {
    if (shape.one_pass) left_ += std::max<int64_t>(taken_ - SecondsIn(measured_ns), 0);
    taken_ = 0;
  }

 private:
  // The longest limit of a pass that keeps its seconds.
  static constexpr int64_t kMaxPassSeconds = kLongestPassNs / kNsPerSecond;

  static int64_t SecondsIn(int64_t length_ns) { return (length_ns + kNsPerSecond - 1) / kNsPerSecond; }

  int64_t left_ = kDistributionSeconds;
  // Of the step under way.
  int64_t taken_ = 0;
};

}  // namespace plimsoll
