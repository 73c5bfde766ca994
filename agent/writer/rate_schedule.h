// When each write of an open loop is scheduled to start.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Arrival n, and the number of arrivals before a moment, each found without those before it.
//
// Time is cut into blocks, each as long as all before it together, and each block is halved again and again down to
// cells of about one arrival. A block's count is Poisson distributed; each half's is a binomial share of the whole's; a
// cell's arrivals are uniform in it. All are drawn from hashes of the key and of the place in the tree, so that a walk
// from the top, O(log n), finds the same answer in whatever order it is asked. Counts up to 512 are shared out exactly,
// larger ones by the normal distribution, which differs from the binomial by less than 1 / count.
//
// The last walk is kept: querying arrivals in order takes two halvings each on average, some 50 ns, without a lock or
// an allocation. So it is not thread-safe; copies are independent of one another and give the same answers.
class PoissonArrivals {
 public:
  struct Key {
    uint32_t seed = 0;
    uint32_t host = 0;    // number of the host in the run, from 0
    uint32_t writer = 0;  // of the host, from 1
  };

  // `rate_micro`: millionths of an arrival per second, from 1,000 to 10^12.
  PoissonArrivals(Key key, uint64_t rate_micro);

  // Nanoseconds from the start to arrival `n` (from 0); never less than those to the one before. Beyond 2^62 ns there
  // are no arrivals: 2^62.
  int64_t At(uint64_t n) const;
  // Arrivals less than `elapsed_ns` after the start: the number of the first one that is not.
  uint64_t Before(int64_t elapsed_ns) const;

 private:
  // Arrivals first ... first + count - 1 lie in [begin, begin + length).
  struct Node {
    int64_t begin_ns;
    int64_t length_ns;
    uint64_t first;
    uint64_t count;
    uint64_t key;
  };
  static constexpr size_t kMostBlocks = 48;
  static constexpr size_t kMostDepth = 64;

  Node Block(size_t number) const;
  // The first or the second half of a node whose first half holds `left` arrivals.
  static Node Half(const Node& node, uint64_t left, bool second);

  int64_t cell_ns_;
  size_t blocks_ = 0;
  std::array<uint64_t, kMostBlocks + 1> first_{};  // of each block; after the last one the number of all
  uint64_t key_;
  mutable size_t depth_ = 0;
  mutable std::array<Node, kMostDepth> path_{};
};

// Computed from the write's number, never from the write before it, so that neither rounding nor a slow write moves
// the schedule: write n (from 0) is due at start + floor(n / rate), exact to the nanosecond for ever, or at the n-th
// random arrival.
//
// A few nanoseconds a call; random arrivals in order take some 50 ns and remember where they were (poisson_arrivals.h),
// so that each thread needs a copy of its own.
class RateSchedule {
 public:
  // `rate_per_second` as a plan's rule accepts it, not 0; it is kept in millionths of a write per second.
  RateSchedule(int64_t start_ns, double rate_per_second)
      : start_ns_(start_ns), rate_micro_(static_cast<uint64_t>(std::llround(rate_per_second * 1e6))) {}

  // Schedule of writer `number` (from 0) of `writers`, which share the period between two writes evenly. At most 2^32
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

// The distribution of end_ns - schedule.DueAt(n) over the writes n in [from, to), of which each is due before `end_ns`:
// the same as recording them one by one in a Histogram, but by the edges of its buckets, in some milliseconds however
// many writes there are. Only the sum of random arrivals takes as many steps as there are writes: a second for the
// 2^24 of `most_summed`. The sum of more than that is accurate to 0.01 %.
v1::Distribution NotIssuedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
                               uint64_t most_summed = uint64_t{1} << 24);

// Chooses some of the writes: `below` returns how many of those with numbers below the given one are chosen.
struct ChosenWrites {
  std::function<uint64_t(uint64_t number)> below;

  uint64_t Count(uint64_t from, uint64_t to) const { return below(to) - below(from); }
};

// NotIssuedAges for the chosen writes alone. Their sum is exact up to 2^16 writes in [from, to), and beyond that
// their share of the sum of all.
v1::Distribution ChosenNotIssuedAges(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns,
                                     const ChosenWrites& chosen);

}  // namespace plimsoll
