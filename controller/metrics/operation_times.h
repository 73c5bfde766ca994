// Times of one operation of one writer, in the buckets that are shown to Prometheus.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/numeric/int128.h"
#include "plimsoll/v1/frame.pb.h"

namespace plimsoll {

// Upper bounds of the buckets. From 1 ms on every power of two, as etcd's wal_fsync_duration_seconds has them; between
// 0.25 and 32 ms also the middle between two of them, and finer ones below. The bucket above the last one has no bound.
inline constexpr std::array<uint64_t, 25> kBucketBoundsNs = {
    62'500,        125'000,       250'000,       375'000,      500'000,     750'000,     1'000'000,
    1'500'000,     2'000'000,     3'000'000,     4'000'000,    6'000'000,   8'000'000,   12'000'000,
    16'000'000,    24'000'000,    32'000'000,    64'000'000,   128'000'000, 256'000'000, 512'000'000,
    1'024'000'000, 2'048'000'000, 4'096'000'000, 8'192'000'000};

// Counts that only grow.
struct BucketedTimes {
  std::array<uint64_t, kBucketBoundsNs.size() + 1> counts{};
  uint64_t count = 0;
  absl::uint128 sum_ns = 0;

  // Adds a distribution of a frame that the analysis has taken. A bucket of the distribution, 0.1 % wide, that a
  // bound divides is counted above it.
  void Add(const v1::Distribution& times);
};

struct OperationTimes {
  BucketedTimes service;
  // Empty without a target rate.
  BucketedTimes response;
  uint64_t bytes = 0;
  // It is a part of another operation, and has no bytes of its own.
  bool is_part = false;
};

}  // namespace plimsoll
