// What is asked of a step, and the sums that it may reach.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "common/units.h"

namespace plimsoll {

// A step's asked lengths. `interval_ns` divides one second.
struct StepShape {
  uint64_t block_size_bytes = 0;
  int64_t duration_ns = 0;
  int64_t warmup_ns = 0;
  int64_t interval_ns = 250 * kNsPerMs;
  // How long a stall lasts at least, as the plan says; 0: it says nothing.
  int64_t stall_ns = 0;

  // Numbers of regular intervals are 0 ... measured_intervals() - 1, those of the warm-up -warmup_intervals() ... -1.
  int64_t measured_intervals() const { return (duration_ns + interval_ns - 1) / interval_ns; }
  int64_t warmup_intervals() const { return (warmup_ns + interval_ns - 1) / interval_ns; }
  int64_t SecondOf(int64_t interval) const { return interval / (kNsPerSecond / interval_ns); }
  // How much of the measured time the intervals below `next_interval` cover.
  int64_t CoveredNs(int64_t next_interval) const {
    return next_interval <= 0 ? 0 : std::min(next_interval * interval_ns, duration_ns);
  }
};

// Holds any sum of 64-bit figures.
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

// Nearest 64-bit value.
inline int64_t Clamp64(Int128 value) {
  return static_cast<int64_t>(std::clamp<Int128>(value, INT64_MIN, INT64_MAX));
}

// Series hold at most this many seconds of a step: ten days.
inline constexpr int64_t kMaxSeriesSeconds = 864'000;

inline uint32_t WholeSecondsIn(int64_t length_ns) {
  return static_cast<uint32_t>(std::clamp<int64_t>(length_ns / kNsPerSecond, 0, kMaxSeriesSeconds));
}

// Moments and lengths that a sane clock can show; beyond them arithmetic could overflow, so that they are refused.
inline constexpr int64_t kMaxMomentNs = int64_t{1} << 61;
inline bool IsSaneMoment(int64_t moment_ns) {
  return moment_ns >= 0 && moment_ns <= kMaxMomentNs;
}

// Admits amounts as long as all of them together stay below 2^63, so that no sum of them over any scope can overflow:
// counts, bytes, and times of which a writer spends each nanosecond once (in writes, between them). 2^63 ns are 292
// years of writing. Response times are none of these: those of a backlog overlap, and their sums have 128 bits.
class SumGuard {
 public:
  // Nothing is changed where it returns false.
  bool Admit(std::initializer_list<Uint128> amounts) {
    Uint128 total = total_;
    for (const Uint128 amount : amounts) {
      if (amount > INT64_MAX) return false;
      total += amount;
    }
    if (total > INT64_MAX) return false;
    total_ = total;
    return true;
  }

 private:
  Uint128 total_ = 0;
};

}  // namespace plimsoll
