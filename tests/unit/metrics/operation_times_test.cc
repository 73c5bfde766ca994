// Buckets of Prometheus from those of a frame: nothing is lost, and nothing is counted below a bound that it may
// exceed.
#include "controller/metrics/operation_times.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/histogram.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

BucketedTimes TimesOf(const std::vector<uint64_t>& values_ns) {
  Histogram histogram;
  for (const uint64_t value : values_ns) histogram.Record(value);
  BucketedTimes times;
  times.Add(histogram.ToProto());
  return times;
}

uint64_t AllCounts(const BucketedTimes& times) {
  return std::accumulate(times.counts.begin(), times.counts.end(), uint64_t{0});
}

TEST(BucketedTimes, HaveTheBoundsOfEtcdAndRise) {
  EXPECT_TRUE(std::is_sorted(kBucketBoundsNs.begin(), kBucketBoundsNs.end()));
  EXPECT_EQ(std::adjacent_find(kBucketBoundsNs.begin(), kBucketBoundsNs.end()), kBucketBoundsNs.end());
  for (uint64_t ms = 1; ms <= 8192; ms *= 2) {
    EXPECT_TRUE(std::binary_search(kBucketBoundsNs.begin(), kBucketBoundsNs.end(), ms * 1'000'000)) << ms;
  }
}

TEST(BucketedTimes, EveryValueIsCountedOnceBesideItsBounds) {
  for (size_t i = 0; i < kBucketBoundsNs.size(); ++i) {
    const uint64_t bound = kBucketBoundsNs[i];
    // More than the width of a bucket of the frame below and above the bound.
    const uint64_t width = bound / 500;
    const BucketedTimes below = TimesOf({bound - width});
    const BucketedTimes above = TimesOf({bound + width});
    EXPECT_EQ(below.counts[i], 1U) << bound;
    EXPECT_EQ(above.counts[i + 1], 1U) << bound;
    EXPECT_EQ(AllCounts(below) + AllCounts(above), 2U);
  }
}

TEST(BucketedTimes, SumAndCountAreExactAndAddUp) {
  const std::vector<uint64_t> values = {0, 1, 2047, 2048, 999'999, 1'000'001, 7'200'000'000'000};
  BucketedTimes times = TimesOf(values);
  Histogram more;
  more.Record(5);
  times.Add(more.ToProto());
  EXPECT_EQ(times.count, values.size() + 1);
  EXPECT_EQ(AllCounts(times), times.count);
  EXPECT_EQ(times.sum_ns, absl::uint128(std::accumulate(values.begin(), values.end(), uint64_t{5})));
  EXPECT_EQ(times.counts.back(), 1U);
}

TEST(BucketedTimes, WhatContradictsItselfStaysWithinTheBuckets) {
  v1::Distribution wrong;
  wrong.mutable_histogram()->add_index_delta(UINT32_MAX);
  wrong.mutable_histogram()->add_index_delta(UINT32_MAX);
  wrong.mutable_histogram()->add_count(3);
  BucketedTimes times;
  times.Add(wrong);
  EXPECT_EQ(times.counts.back(), 3U);
}

}  // namespace
}  // namespace plimsoll
