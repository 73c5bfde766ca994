// The seconds of a folded frame.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// One second of a folded frame: its writes, by service time and by response time. Without response times the latter
// are the service times.
struct AgedSecond {
  // Number of the second in the step; 0 begins with the measured part.
  int64_t second = 0;
  uint64_t writes = 0;
  uint64_t bytes = 0;
  uint64_t latency_sum_ns = 0;
  uint64_t latency_max_ns = 0;
  // UINT64_MAX where it is more.
  uint64_t response_sum_ns = 0;
  uint64_t response_max_ns = 0;
};

// Calls `visit` with every second of a folded frame, in order. The frame was checked. `intervals_per_second`: of the
// run.
void ForEachAgedSecond(const v1::Frame& frame, int64_t intervals_per_second,
                       const std::function<void(const AgedSecond&)>& visit);

// INVALID_ARGUMENT where the seconds of a folded frame contradict the frame.
absl::Status CheckAgedSeconds(const v1::Frame& frame, int64_t intervals_per_second);

}  // namespace plimsoll
