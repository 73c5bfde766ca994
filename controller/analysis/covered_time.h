// How much of a stretch of time others cover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

// Moments of one clock, within plus or minus 2^62.
struct TimeStretch {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Stretches of one clock; where they overlap they count once. Immutable.
class CoveredTime {
 public:
  CoveredTime() = default;
  // In any order. One that ends before it begins covers nothing.
  explicit CoveredTime(std::vector<TimeStretch> stretches);

  // How much of [from_ns, to_ns) is covered.
  int64_t Within(int64_t from_ns, int64_t to_ns) const;

 private:
  int64_t Before(int64_t moment_ns) const;

  // Disjoint, in order.
  std::vector<TimeStretch> stretches_;
  // What those before each of them cover.
  std::vector<int64_t> before_ns_;
};

}  // namespace plimsoll
