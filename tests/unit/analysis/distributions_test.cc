#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "common/units.h"
#include "controller/analysis/figures.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Whole numbers of any length, the lowest 32 bits first: enough to know on which side of 2^b the 32nd power of a value
// lies.
using Big = std::vector<uint32_t>;

Big Square(const Big& a) {
  Big product(2 * a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < a.size(); ++j) {
      carry += uint64_t{a[i]} * a[j] + product[i + j];
      product[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    product[i + a.size()] = static_cast<uint32_t>(carry);
  }
  return product;
}

// floor(32 log2(value)), by whole numbers alone: one less than the bits of value^32.
uint32_t ExactBucket(uint64_t value) {
  Big power = {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
  for (int i = 0; i < 5; ++i) power = Square(power);
  while (power.back() == 0) power.pop_back();
  return static_cast<uint32_t>(power.size() * 32) - static_cast<uint32_t>(std::countl_zero(power.back())) - 1;
}

TEST(Log32Buckets, EveryEdgeIsExact) {
  for (uint32_t bucket = 0; bucket <= Log32Buckets::Of(HistogramLayout::kMaxValueNs); ++bucket) {
    const uint64_t from_ns = Log32Buckets::FromNs(bucket);
    ASSERT_GE(ExactBucket(from_ns), bucket);
    ASSERT_EQ(Log32Buckets::Of(from_ns), ExactBucket(from_ns)) << bucket;
    if (from_ns == 1) continue;
    ASSERT_LT(ExactBucket(from_ns - 1), bucket);
    ASSERT_EQ(Log32Buckets::Of(from_ns - 1), ExactBucket(from_ns - 1)) << bucket;
  }
}

TEST(Log32Buckets, HoldAnyValueAsTheLogarithmHasIt) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t value = 1 + random() % (uint64_t{1} << (1 + random() % 41));
    ASSERT_EQ(Log32Buckets::Of(value), ExactBucket(value)) << value;
  }
  EXPECT_EQ(Log32Buckets::Of(0), 0);
  EXPECT_EQ(Log32Buckets::Of(1), 0);
  EXPECT_EQ(Log32Buckets::Of(2), 32);
  EXPECT_EQ(Log32Buckets::Of(kNsPerMs), 637);
  EXPECT_LT(Log32Buckets::Of(HistogramLayout::kMaxValueNs), Log32Buckets::kCount);
}

TEST(Distribution, HoldsEveryValueInItsBucket) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    Histogram histogram;
    std::map<uint64_t, uint64_t> wanted;
    for (uint64_t i = random() % 2'000; i > 0; --i) {
      const uint64_t value = random() % (uint64_t{2} << (random() % 41));
      histogram.Record(value);
      ++wanted[DistributionFloorNs(value)];
    }
    const v1::DistributionReport report = MakeDistribution(histogram);
    std::map<uint64_t, uint64_t> held;
    for (int i = 0; i < report.from_ns_size(); ++i) held[report.from_ns(i)] = report.count(i);
    EXPECT_EQ(held, wanted);
    EXPECT_EQ(report.from_ns_size(), static_cast<int>(held.size())) << "a bucket occurs twice";
    EXPECT_TRUE(std::is_sorted(report.from_ns().begin(), report.from_ns().end()));
  }
}

TEST(Distribution, BucketsAreAHundredAndTwentyEighthOfAnOctave) {
  EXPECT_EQ(DistributionFloorNs(0), 0);
  EXPECT_EQ(DistributionFloorNs(128), 128);
  EXPECT_EQ(DistributionFloorNs(257), 256);
  EXPECT_EQ(DistributionFloorNs(kNsPerMs), 999'424);
  for (uint64_t value = 1; value < HistogramLayout::kMaxValueNs; value = value * 5 / 4 + 1) {
    const uint64_t from = DistributionFloorNs(value);
    EXPECT_LE(value - from, from / 128);
  }
}

TEST(Distribution, WhatIsBeyondTheLayoutIsInItsLastBucket) {
  Histogram histogram;
  histogram.Record(UINT64_MAX);
  histogram.Record(HistogramLayout::kMaxValueNs);
  const v1::DistributionReport report = MakeDistribution(histogram);
  EXPECT_THAT(report.count(), ElementsAre(2));
  EXPECT_THAT(report.from_ns(), ElementsAre(DistributionFloorNs(HistogramLayout::kMaxValueNs)));
}

TEST(SecondDistributions, RowsComeAsTheyAreAskedFor) {
  SecondDistributions seconds;
  Histogram one;
  one.RecordN(1'000, 5);
  one.RecordN(2'000, 7);
  one.RecordN(2'001, 1);
  Histogram two;
  two.RecordN(3, 1);
  seconds.Add(4, two);
  seconds.Add(0, one);
  v1::SecondDistributionsReport report;
  for (const uint32_t second : {0U, 1U, 4U}) seconds.Append(second, report);
  EXPECT_THAT(report.second(), ElementsAre(0, 1, 4));
  EXPECT_THAT(report.buckets(), ElementsAre(2, 0, 1));
  EXPECT_THAT(report.bucket(), ElementsAre(318, 350, 50));
  EXPECT_THAT(report.count(), ElementsAre(5, 8, 1));
}

}  // namespace
}  // namespace plimsoll
