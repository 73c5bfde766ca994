#include "common/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/testing.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Histogram Of(std::initializer_list<std::pair<uint64_t, uint64_t>> values_and_counts) {
  Histogram histogram;
  for (const auto& [value, n] : values_and_counts) histogram.RecordN(value, n);
  return histogram;
}

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.min_ns(), 0U);
  EXPECT_EQ(histogram.max_ns(), 0U);
  EXPECT_EQ(histogram.mean_ns(), 0);
  EXPECT_EQ(histogram.PercentileNs(50), 0U);
  EXPECT_EQ(histogram.WeightedMeanNs(), 0);
  EXPECT_EQ(histogram.CountAbove(0), 0U);
  EXPECT_EQ(histogram.ToProto().count(), 0U);
}

TEST(Histogram, KeepsCountSumAndExtremesExact) {
  const Histogram histogram = Of({{300'123, 2}, {12'345'678, 1}, {5, 1}});
  EXPECT_EQ(histogram.count(), 4U);
  EXPECT_EQ(histogram.sum_ns(), 2 * 300'123U + 12'345'678U + 5U);
  EXPECT_EQ(histogram.min_ns(), 5U);
  EXPECT_EQ(histogram.max_ns(), 12'345'678U);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), static_cast<double>(2 * 300'123 + 12'345'678 + 5) / 4);
}

TEST(Histogram, WeighsTheMostLikelyLatencyAsXdiskDoes) {
  const Histogram histogram = Of({{5'000'000, 90}, {6'000'000, 80}, {500'000'000, 2}});
  EXPECT_EQ(std::round(histogram.WeightedMeanNs() / 1e5) / 10, 5.6);
  EXPECT_EQ(Of({{700, 3}}).WeightedMeanNs(), 700);
}

TEST(Histogram, TakesTheNearestRankWithoutRoundingErrors) {
  // 999 of 1000 values are 1 ns: 99.9 % is rank 999, not 1000.
  const Histogram histogram = Of({{1, 999}, {2, 1}});
  EXPECT_EQ(histogram.PercentileNs(99.9), 1U);
  EXPECT_EQ(histogram.PercentileNs(99.91), 2U);
  EXPECT_EQ(Of({{1, 9'999}, {2, 1}}).PercentileNs(99.99), 1U);
  EXPECT_EQ(Of({{1, 99}, {2, 1}}).PercentileNs(99), 1U);
  for (uint64_t below = 1; below < 1'000; ++below) {
    const double percent = static_cast<double>(below) / 10;
    ASSERT_EQ(Of({{1, below}, {2, 1'000 - below}}).PercentileNs(percent), 1U) << percent;
    ASSERT_EQ(Of({{1, below - 1}, {2, 1'001 - below}}).PercentileNs(percent), 2U) << percent;
  }
}

TEST(Histogram, TakesPercentilesOutsideTheScaleAsItsEnds) {
  const Histogram histogram = Of({{1, 1}, {2, 1}, {3, 1}});
  EXPECT_EQ(histogram.PercentileNs(0), 1U);
  EXPECT_EQ(histogram.PercentileNs(-5), 1U);
  EXPECT_EQ(histogram.PercentileNs(std::nan("")), 1U);
  EXPECT_EQ(histogram.PercentileNs(100), 3U);
  EXPECT_EQ(histogram.PercentileNs(1e300), 3U);
}

TEST(Histogram, NeverStatesAPercentileBeyondTheExtremes) {
  const Histogram histogram = Of({{300'123, 1}});
  EXPECT_GT(Layout::HighestNs(Layout::IndexOf(300'123)), 300'123U);
  for (const double percent : {0.0, 50.0, 100.0}) EXPECT_EQ(histogram.PercentileNs(percent), 300'123U);
}

TEST(Histogram, ClampsAndCountsValuesAboveAnHour) {
  const uint64_t hour = Layout::kMaxValueNs;
  const Histogram histogram = Of({{1'000, 8}, {hour, 1}, {2 * hour, 1}});
  EXPECT_EQ(histogram.clamped(), 1U);
  EXPECT_EQ(histogram.max_ns(), 2 * hour);
  EXPECT_EQ(histogram.sum_ns(), 8'000 + 3 * hour);
  EXPECT_EQ(histogram.PercentileNs(100), 2 * hour);
  EXPECT_EQ(histogram.PercentileNs(80), 1'000U);
  EXPECT_EQ(histogram.CountAt(Layout::IndexOf(hour)), 2U);
}

TEST(Histogram, SumsThatLeave64BitsStayExactAlsoOnTheWire) {
  Histogram histogram = Of({{UINT64_MAX, 3}});
  histogram.Record(5);
  histogram.RecordN(UINT64_MAX, 7);
  const absl::uint128 sum = absl::uint128(UINT64_MAX) * 10 + 5;
  EXPECT_EQ(histogram.sum_ns(), sum);
  const v1::Distribution wire = histogram.ToProto();
  EXPECT_EQ(SumNs(wire), sum);
  Histogram read = Of({{7, 1}});
  EXPECT_THAT(read.Merge(wire), IsOk());
  EXPECT_EQ(read.sum_ns(), sum + 7);
  read.Merge(histogram);
  EXPECT_EQ(read.sum_ns(), 2 * sum + 7);
  EXPECT_DOUBLE_EQ(histogram.mean_ns(), (10 * 0x1p64 - 5) / 11);
}

TEST(Histogram, CountsWhatLiesAboveABucket) {
  const Histogram histogram = Of({{100, 3}, {200, 5}, {1'000'000, 7}});
  EXPECT_EQ(histogram.CountAbove(0), 15U);
  EXPECT_EQ(histogram.CountAbove(100), 12U);
  EXPECT_EQ(histogram.CountAbove(200), 7U);
  EXPECT_EQ(histogram.CountAbove(1'000'000), 0U);
  EXPECT_EQ(histogram.CountAbove(UINT64_MAX), 0U);
}

TEST(Histogram, IsAsNewWhenCleared) {
  Histogram histogram = Of({{100, 3}, {5'000'000, 1}, {2 * Layout::kMaxValueNs, 1}});
  histogram.Clear();
  EXPECT_EQ(histogram.ToProto().SerializeAsString(), Histogram().ToProto().SerializeAsString());
  EXPECT_EQ(histogram.max_ns(), 0U);
  histogram.Record(7);
  EXPECT_EQ(histogram.min_ns(), 7U);
  EXPECT_EQ(histogram.CountAbove(7), 0U);
  EXPECT_EQ(histogram.clamped(), 0U);
}

TEST(Histogram, MergingItselfDoubles) {
  Histogram histogram = Of({{100, 3}, {5'000'000, 1}});
  histogram.Merge(histogram);
  EXPECT_EQ(histogram.count(), 8U);
  EXPECT_EQ(histogram.CountAt(Layout::IndexOf(100)), 6U);
  EXPECT_EQ(histogram.sum_ns(), 2 * 5'000'300U);
}

// A well-made distribution, spoilt by each test in one way.
v1::Distribution Good() {
  return Of({{100, 3}, {5'000'000, 1}, {9'000'000, 2}}).ToProto();
}

void Refuses(const v1::Distribution& wire, const std::string& why) {
  Histogram histogram = Of({{42, 1}});
  EXPECT_THAT(histogram.Merge(wire), StatusIs(kInvalid, why)) << wire.ShortDebugString();
  EXPECT_EQ(histogram.ToProto().SerializeAsString(), Of({{42, 1}}).ToProto().SerializeAsString())
      << "must be left as it was";
}

TEST(HistogramOnTheWire, IsRefusedWhereItContradictsItself) {
  const auto spoilt = [](auto spoil) {
    v1::Distribution wire = Good();
    spoil(wire);
    return wire;
  };
  using W = v1::Distribution;
  Refuses(spoilt([](W& w) { w.mutable_histogram()->add_count(1); }), "as many indices as counts");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->add_index_delta(1); }), "as many indices as counts");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->set_index_delta(1, 0); }), "occurs twice");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->set_index_delta(2, UINT32_MAX); }), "beyond the layout");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->set_count(1, 0); }), "an empty bucket");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->set_count(1, UINT64_MAX); }), "more values than can be");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->set_count(1, 2); }), "buckets hold 7 of 6");
  Refuses(spoilt([](W& w) { w.set_count(7); }), "buckets hold 6 of 7");
  Refuses(spoilt([](W& w) { w.set_count(0); }), "buckets hold 6 of 0");
  Refuses(spoilt([](W& w) { w.clear_histogram(); }), "buckets hold 0 of 6");
  Refuses(spoilt([](W& w) { w.set_min_ns(99); }), "minimum or maximum");
  Refuses(spoilt([](W& w) { w.set_max_ns(10'000'000); }), "minimum or maximum");
  Refuses(spoilt([](W& w) { w.set_max_ns(50); }), "minimum or maximum");
  Refuses(spoilt([](W& w) { w.mutable_histogram()->set_clamped(1); }), "clamped");
  Refuses(spoilt([](W& w) { w.set_sum_ns(w.sum_ns() - 50'000); }), "a sum");
  Refuses(spoilt([](W& w) { w.set_sum_ns(w.sum_ns() + 50'000); }), "a sum");
  Refuses(spoilt([](W& w) { w.set_sum_ns_high(1); }), "a sum");
  v1::Distribution empty;
  empty.set_sum_ns(1);
  Refuses(empty, "figures of no values");
  empty.set_sum_ns(0);
  empty.set_sum_ns_high(1);
  Refuses(empty, "figures of no values");

  const uint64_t hour = Layout::kMaxValueNs;
  v1::Distribution clamped = Of({{hour, 1}, {hour + 5, 2}}).ToProto();
  clamped.mutable_histogram()->set_clamped(0);
  Refuses(clamped, "clamped");
  clamped.mutable_histogram()->set_clamped(4);
  Refuses(clamped, "clamped");
}

TEST(HistogramOnTheWire, IsRefusedBeyondTheNumberOfValuesThatCanBe) {
  Histogram histogram = Of({{100, uint64_t{1} << 52}});
  const v1::Distribution wire = histogram.ToProto();
  EXPECT_THAT(histogram.Merge(wire), IsOk());
  EXPECT_THAT(histogram.Merge(wire), StatusIs(kInvalid, "more values than can be"));
  EXPECT_EQ(histogram.count(), uint64_t{1} << 53);
}

TEST(HistogramOnTheWire, NothingIsNothing) {
  Histogram histogram = Of({{42, 1}});
  EXPECT_THAT(histogram.Merge(v1::Distribution()), IsOk());
  EXPECT_EQ(histogram.count(), 1U);
}

}  // namespace
}  // namespace plimsoll
