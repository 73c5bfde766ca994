// Random arrivals of one writer: a Poisson process that is a pure function of its key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plimsoll {

// Arrival n, and the number of arrivals before a moment, each found without those before it.
//
// Time is cut into blocks, each as long as all before it together, and each block is halved again and again down to
// cells of about one arrival. A block's count is Poisson distributed; each half's is a binomial share of the whole's; a
// cell's arrivals are uniform in it. All are drawn from hashes of the key and of the place in the tree, so that a walk
// from the top, O(log n), finds the same answer in whatever order it is asked. Counts up to 512 are shared out exactly,
// larger ones by the normal distribution, which differs from the binomial by less than 1 / count.
//
// The last walk is kept: asking for arrivals one after another takes two halvings each on average, some 50 ns, without
// a lock or an allocation. So it is not thread-safe; copies are independent of one another and give the same answers.
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

}  // namespace plimsoll
