// What holds of histograms of any values.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "common/histogram.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

// All orders of magnitude alike; a few above 1 h.
uint64_t AnyValue(std::mt19937_64& random) {
  return random() >> (21 + random() % 43);
}

std::vector<uint64_t> AnyValues(std::mt19937_64& random) {
  std::vector<uint64_t> values(1 + random() % 200);
  // Some sets are narrow, as latencies are.
  const uint64_t base = AnyValue(random);
  const bool narrow = random() % 2 == 0;
  for (uint64_t& value : values) value = narrow ? base + random() % (base / 4 + 2) : AnyValue(random);
  return values;
}

Histogram Of(const std::vector<uint64_t>& values) {
  Histogram histogram;
  for (const uint64_t value : values) histogram.Record(value);
  return histogram;
}

std::string Bytes(const Histogram& histogram) {
  return histogram.ToProto().SerializeAsString();
}

TEST(HistogramLayoutProperty, EveryValueLiesInItsBucketAndBucketsAreNarrow) {
  constexpr uint64_t kSeed = 1;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t value = std::min(AnyValue(random), Layout::kMaxValueNs);
    const uint32_t index = Layout::IndexOf(value);
    ASSERT_LT(index, Layout::kBuckets);
    ASSERT_LE(Layout::LowestNs(index), value);
    ASSERT_GE(Layout::HighestNs(index), value);
    ASSERT_LE(Layout::MiddleNs(index), Layout::HighestNs(index));
    ASSERT_GE(Layout::MiddleNs(index), Layout::LowestNs(index));
    ASSERT_LE((Layout::HighestNs(index) - Layout::LowestNs(index)) * 1'000, value) << "three digits";
  }
}

TEST(HistogramLayoutProperty, BucketsFollowEachOtherWithoutGaps) {
  for (uint32_t index = 0; index + 1 < Layout::kBuckets; ++index) {
    ASSERT_EQ(Layout::HighestNs(index) + 1, Layout::LowestNs(index + 1));
    ASSERT_EQ(Layout::IndexOf(Layout::LowestNs(index)), index);
    ASSERT_EQ(Layout::IndexOf(Layout::HighestNs(index)), index);
  }
  EXPECT_GE(Layout::HighestNs(Layout::kBuckets - 1), Layout::kMaxValueNs);
}

TEST(HistogramProperty, PercentilesAreThoseOfTheSortedValues) {
  constexpr uint64_t kSeed = 2;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    std::vector<uint64_t> values = AnyValues(random);
    const Histogram histogram = Of(values);
    std::sort(values.begin(), values.end());
    ASSERT_EQ(histogram.count(), values.size());
    ASSERT_EQ(histogram.sum_ns(), std::accumulate(values.begin(), values.end(), uint64_t{0}));
    ASSERT_EQ(histogram.min_ns(), values.front());
    ASSERT_EQ(histogram.max_ns(), values.back());
    uint64_t before = 0;
    for (const uint64_t per_mille : std::initializer_list<uint64_t>{0, 1, 100, 500, 900, 990, 999, 1'000}) {
      const uint64_t stated = histogram.PercentileNs(static_cast<double>(per_mille) / 10);
      // The nearest rank, in whole numbers.
      const size_t rank = std::max<size_t>(1, (values.size() * per_mille + 999) / 1'000);
      const uint64_t exact = values[rank - 1];
      ASSERT_LE(stated, values.back()) << "seed " << kSeed << ", case " << i;
      ASSERT_GE(stated, before) << "seed " << kSeed << ", case " << i;
      before = stated;
      if (exact > Layout::kMaxValueNs) {
        ASSERT_EQ(stated, values.back());
      } else if (stated != values.back()) {
        ASSERT_GE(stated, exact) << "seed " << kSeed << ", case " << i;
        ASSERT_LE((stated - exact) * 1'000, exact) << "seed " << kSeed << ", case " << i;
      }
    }
  }
}

TEST(HistogramProperty, CountsAboveAreThoseOfTheValues) {
  constexpr uint64_t kSeed = 3;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 2'000; ++i) {
    const std::vector<uint64_t> values = AnyValues(random);
    const Histogram histogram = Of(values);
    const uint64_t bar = values[random() % values.size()];
    const uint64_t highest = Layout::HighestNs(Layout::IndexOf(std::min(bar, Layout::kMaxValueNs)));
    const auto above = std::count_if(values.begin(), values.end(),
                                     [&](uint64_t value) { return std::min(value, Layout::kMaxValueNs) > highest; });
    ASSERT_EQ(histogram.CountAbove(bar), static_cast<uint64_t>(above)) << "seed " << kSeed << ", case " << i;
  }
}

TEST(HistogramProperty, MergingInAnyOrderGivesTheHistogramOfAllValues) {
  constexpr uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 500; ++i) {
    std::vector<Histogram> parts;
    std::vector<uint64_t> all;
    for (uint64_t n = 1 + random() % 6; n > 0; --n) {
      const std::vector<uint64_t> values = random() % 5 == 0 ? std::vector<uint64_t>() : AnyValues(random);
      parts.push_back(Of(values));
      all.insert(all.end(), values.begin(), values.end());
    }
    const std::string expected = Bytes(Of(all));
    for (int order = 0; order < 3; ++order) {
      std::shuffle(parts.begin(), parts.end(), random);
      Histogram merged;
      Histogram over_the_wire;
      for (const Histogram& part : parts) {
        merged.Merge(part);
        ASSERT_THAT(over_the_wire.Merge(part.ToProto()), IsOk());
      }
      ASSERT_EQ(Bytes(merged), expected) << "seed " << kSeed << ", case " << i;
      ASSERT_EQ(Bytes(over_the_wire), expected) << "seed " << kSeed << ", case " << i;
    }
  }
}

TEST(HistogramProperty, ComesBackFromTheWireAsItWas) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 3'000; ++i) {
    Histogram histogram = Of(AnyValues(random));
    if (random() % 3 == 0) histogram.RecordN(AnyValue(random), random() >> 20U);
    Histogram read;
    ASSERT_THAT(read.Merge(histogram.ToProto()), IsOk()) << "seed " << kSeed << ", case " << i;
    ASSERT_EQ(Bytes(read), Bytes(histogram)) << "seed " << kSeed << ", case " << i;
    ASSERT_EQ(read.clamped(), histogram.clamped());
    ASSERT_GE(read.WeightedMeanNs(), static_cast<double>(read.min_ns()) * (1 - 1e-12));
    ASSERT_LE(read.WeightedMeanNs(), static_cast<double>(read.max_ns()) * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace plimsoll
