// When each write of an open loop is meant to start.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/numeric/int128.h"

namespace plimsoll {

// Computed from the write's number, never from the write before it, so that neither rounding nor a slow write moves
// the schedule: write n (from 0) is due at start + floor(n / rate), exact to the nanosecond for ever.
class RateSchedule {
 public:
  // `rate_per_second` in [kMinRate, 1,000,000]; it is kept in millionths of a write per second.
  static constexpr double kMinRate = 0.001;
  RateSchedule(int64_t start_ns, double rate_per_second)
      : start_ns_(start_ns), rate_micro_(static_cast<uint64_t>(std::llround(rate_per_second * 1e6))) {}

  int64_t DueAt(uint64_t write) const { return start_ns_ + static_cast<int64_t>(Wide{write} * kNsMicro / rate_micro_); }

  // How many writes are due before `moment_ns`, which is also the number of the first one that is not.
  uint64_t DueBefore(int64_t moment_ns) const {
    if (moment_ns <= start_ns_) return 0;
    // floor(n * a / b) < d is n < d * b / a: the least n for which it fails is the quotient, rounded up.
    const Wide product = Wide{static_cast<uint64_t>(moment_ns - start_ns_)} * rate_micro_;
    return static_cast<uint64_t>((product + kNsMicro - 1) / kNsMicro);
  }

  // Sum over the writes [from, to) of the time from the start to when each is due, in nanoseconds, exactly as DueAt has
  // it. Takes as many steps as Euclid's algorithm.
  absl::uint128 SumOfDelays(uint64_t from, uint64_t to) const { return SumOfDelaysBelow(to) - SumOfDelaysBelow(from); }

 private:
  __extension__ using Wide = unsigned __int128;
  // Nanoseconds in a second, times the millionths of rate_micro_.
  static constexpr uint64_t kNsMicro = 1'000'000'000'000'000;

  // Sum of floor((a i + b) / m) over i < n, which counts the lattice points below a line: what is whole in the slope is
  // a triangle, and what is left is the same question about the line's mirror image.
  absl::uint128 SumOfDelaysBelow(uint64_t count) const {
    Wide n = count;
    Wide m = rate_micro_;
    Wide a = kNsMicro;
    Wide b = 0;
    Wide sum = 0;
    while (n > 0) {
      sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
      a %= m;
      b %= m;
      const Wide top = a * n + b;
      if (top < m) break;
      n = top / m;
      b = top % m;
      std::swap(a, m);
    }
    return sum;
  }

  int64_t start_ns_;
  uint64_t rate_micro_;
};

}  // namespace plimsoll
