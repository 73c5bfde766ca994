// When each write of an open loop is scheduled to start.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "agent/log/poisson_arrivals.h"

namespace plimsoll {

// Computed from the write's number, never from the write before it, so that neither rounding nor a slow write moves
// the schedule: write n (from 0) is due at start + floor(n / rate), exact to the nanosecond for ever, or at the n-th
// random arrival.
//
// A few nanoseconds a call; random arrivals in order take some 50 ns and remember where they were (poisson_arrivals.h),
// so that each thread needs a copy of its own.
class RateSchedule {
 public:
  // `rate_per_second` in [kMinRate, 1,000,000]; it is kept in millionths of a write per second.
  static constexpr double kMinRate = 0.001;
  RateSchedule(int64_t start_ns, double rate_per_second)
      : start_ns_(start_ns), rate_micro_(static_cast<uint64_t>(std::llround(rate_per_second * 1e6))) {}

  // Of writer `number` (from 0) of `writers` that share the period between two writes evenly among them. At most 2^32
  // writers.
  static RateSchedule Even(int64_t start_ns, double rate_per_second, uint64_t number, uint64_t writers) {
    RateSchedule schedule(start_ns, rate_per_second);
    schedule.start_ns_ += static_cast<int64_t>(Wide{number} * kNsMicro / (Wide{schedule.rate_micro_} * writers));
    return schedule;
  }

  // At random, `rate_per_second` on average.
  static RateSchedule Poisson(int64_t start_ns, double rate_per_second, PoissonArrivals::Key key) {
    RateSchedule schedule(start_ns, rate_per_second);
    schedule.random_.emplace(key, schedule.rate_micro_);
    return schedule;
  }

  int64_t DueAt(uint64_t write) const {
    if (random_) return start_ns_ + random_->At(write);
    return start_ns_ + static_cast<int64_t>(Wide{write} * kNsMicro / rate_micro_);
  }

  // How many writes are due before `moment_ns`, which is also the number of the first one that is not.
  uint64_t DueBefore(int64_t moment_ns) const {
    if (moment_ns <= start_ns_) return 0;
    if (random_) return random_->Before(moment_ns - start_ns_);
    // floor(n * a / b) < d is n < d * b / a: the least n for which it fails is the quotient, rounded up.
    const Wide product = Wide{static_cast<uint64_t>(moment_ns - start_ns_)} * rate_micro_;
    return static_cast<uint64_t>((product + kNsMicro - 1) / kNsMicro);
  }

  int64_t start_ns() const { return start_ns_; }
  bool random() const { return random_.has_value(); }

  // Sum over the writes [from, to) of the time from the start to when each is due, in nanoseconds, exactly as DueAt has
  // it. Takes as many steps as Euclid's algorithm, or as there are random arrivals.
  absl::uint128 SumOfDelays(uint64_t from, uint64_t to) const {
    if (!random_) return SumOfDelaysBelow(to) - SumOfDelaysBelow(from);
    absl::uint128 sum = 0;
    for (uint64_t write = from; write < to; ++write) sum += static_cast<uint64_t>(random_->At(write));
    return sum;
  }

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
  std::optional<PoissonArrivals> random_;
};

}  // namespace plimsoll
