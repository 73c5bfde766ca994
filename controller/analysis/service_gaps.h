// When a writer's frames do not prove that the storage served it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// A span of time within which no write may have both started and completed for up to `longest_ns` at a stretch. The
// span says where; the length is a bound.
struct ServiceGap {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t longest_ns = 0;
};

// Reduces one writer's frames of a step to the gaps in its service: every span of time that is longer than any gap
// that it overlaps held at least one whole write. A frame proves this with its number of writes, the start of the
// first, the end of the last, the sum of their latencies and the longest one; it proves nothing else about where in
// it they were. Frames that are missing or contradict themselves make gaps longer, never shorter.
//
// Keeps a bounded number of gaps, the longest ones. Moments are the host's clock. Not thread-safe.
class ServiceGaps {
 public:
  static constexpr size_t kMostGaps = 512;

  // Frames come in order.
  void Take(const v1::Frame& frame);

  // Gaps between the first known write and the last one, in the order of time; those shorter than least_ns() may be
  // missing.
  const std::vector<ServiceGap>& gaps() const { return gaps_; }
  int64_t least_ns() const { return least_ns_; }
  // The latest moment at which the first known write ended, and the earliest at which the last one started: a gap
  // lasts up to the first and from the second on. Both 0: no write is known.
  int64_t first_end_ns() const { return first_end_ns_; }
  int64_t last_start_ns() const { return last_start_ns_; }

 private:
  void Keep(int64_t begin_ns, int64_t end_ns, int64_t longest_ns);

  std::vector<ServiceGap> gaps_;
  int64_t least_ns_ = 1'000'000;
  int64_t first_end_ns_ = 0;
  int64_t last_start_ns_ = 0;
  int64_t last_end_ns_ = 0;
};

}  // namespace plimsoll
