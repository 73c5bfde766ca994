#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/figures.h"

namespace plimsoll {
namespace {

// Seconds with so many writes of 1 ms each.
std::vector<SecondFigures> Of(const std::vector<double>& writes) {
  std::vector<SecondFigures> seconds;
  seconds.reserve(writes.size());
  for (const double n : writes) seconds.push_back({n, n * 1e6});
  return seconds;
}

TEST(Unsettled, MoreThanTenPercentBetweenTheFirstAndTheLastThirdProposesToSettle) {
  // Three seconds a third; the last third's latencies are `latency_percent` longer.
  const auto note = [](double last_iops, double latency_percent, bool hosts_explain_it = false) {
    std::vector<SecondFigures> seconds = Of({1000, 1000, 1000, 1000, 1000, 1000, last_iops, last_iops, last_iops});
    for (size_t i = 6; i < 9; ++i) seconds[i].latency_sum_ns *= 1 + latency_percent / 100;
    return UnsettledNote(MakeTrend(seconds).value(), hosts_explain_it);
  };
  for (const double below : {0.0, 9.9, -9.9}) {
    EXPECT_EQ(note(1000 + 10 * below, 0), "");
    EXPECT_EQ(note(1000, below), "");
  }
  for (const double above : {10.1, -10.1}) {
    EXPECT_THAT(note(1000 + 10 * above, 0), ::testing::HasSubstr("try --settle 30s or longer"));
    EXPECT_THAT(note(1000, above), ::testing::HasSubstr("try --settle 30s or longer"));
    EXPECT_EQ(note(1000, above, true),
              absl::StrFormat("from the first third of the step to the last, IO/s change by +0.0 %% and the average "
                              "latency by %+.1f %%.",
                              above));
  }
}

TEST(Jain, IsOneWhereAllHaveTheSameAndOneNthWhereOneHasAll) {
  EXPECT_DOUBLE_EQ(JainIndex({7, 7, 7, 7}), 1);
  EXPECT_DOUBLE_EQ(JainIndex({0, 0, 9, 0}), 0.25);
  EXPECT_DOUBLE_EQ(JainIndex({1, 3}), 0.8);
  EXPECT_DOUBLE_EQ(JainIndex({1e300, 3e300}), 0.8);
  EXPECT_DOUBLE_EQ(JainIndex({0, 0}), 1);
  EXPECT_EQ(JainIndex({5}), 0);
  EXPECT_EQ(JainIndex({}), 0);
}

TEST(Trend, FewerThanFiveSecondsShowNothing) {
  EXPECT_FALSE(MakeTrend(Of({1, 2, 3, 4})).has_value());
  EXPECT_TRUE(MakeTrend(Of({1, 2, 3, 4, 5})).has_value());
}

TEST(Trend, ComparesTheFirstThirdWithTheLast) {
  std::vector<SecondFigures> seconds = Of({100, 200, 0, 0, 0, 300, 150});
  seconds[5].latency_sum_ns = 300 * 3e6;
  const v1::TrendReport trend = MakeTrend(seconds).value();
  EXPECT_DOUBLE_EQ(trend.first_iops(), 150);
  EXPECT_DOUBLE_EQ(trend.last_iops(), 225);
  EXPECT_DOUBLE_EQ(trend.iops_change_percent(), 50);
  EXPECT_DOUBLE_EQ(trend.first_avg_ns(), 1e6);
  EXPECT_DOUBLE_EQ(trend.last_avg_ns(), (300 * 3e6 + 150e6) / 450);
  EXPECT_NEAR(trend.avg_change_percent(), 133.333, 0.001);
}

TEST(Trend, AChangeFromNothingIsNoNumber) {
  const v1::TrendReport trend = MakeTrend(Of({0, 0, 0, 0, 50})).value();
  EXPECT_TRUE(std::isnan(trend.iops_change_percent()));
  EXPECT_TRUE(std::isnan(trend.avg_change_percent()));
  const v1::TrendReport stopped = MakeTrend(Of({50, 0, 0, 0, 0})).value();
  EXPECT_DOUBLE_EQ(stopped.iops_change_percent(), -100);
  EXPECT_TRUE(std::isnan(stopped.avg_change_percent())) << "nothing was written that had a latency";
}

TEST(Trend, IsSteadyWithinTwentyPercentAndWithoutASlope) {
  const v1::TrendReport flat = MakeTrend(Of({100, 110, 90, 105, 95})).value();
  EXPECT_TRUE(flat.steady());
  EXPECT_DOUBLE_EQ(flat.range_percent(), 20);
  EXPECT_DOUBLE_EQ(flat.slope_percent(), 100 * 4 * (-2 * 100.0 - 110 + 105 + 2 * 95) / 10 / 100);
  EXPECT_EQ(flat.stretch_ns(), kNsPerSecond);
  EXPECT_FALSE(MakeTrend(Of({100, 111, 90, 105, 94})).value().steady()) << "a range of 21 %";
}

TEST(Trend, ASlopeOfMoreThanTenPercentIsNotSteady) {
  // The line through them rises by exactly what they rise.
  EXPECT_TRUE(MakeTrend(Of({95, 97.5, 100, 102.5, 105})).value().steady());
  const v1::TrendReport rising = MakeTrend(Of({94, 97, 100, 103, 106})).value();
  EXPECT_NEAR(rising.slope_percent(), 12, 1e-9);
  EXPECT_FALSE(rising.steady());
  EXPECT_NEAR(MakeTrend(Of({106, 103, 100, 97, 94})).value().slope_percent(), -12, 1e-9);
}

TEST(Trend, IntervalsAreOfWholeSecondsAndEndWithTheLast) {
  std::vector<double> writes(17, 100);
  writes[0] = writes[1] = 1'000'000;
  const v1::TrendReport trend = MakeTrend(Of(writes)).value();
  EXPECT_EQ(trend.stretch_ns(), 3 * kNsPerSecond);
  EXPECT_TRUE(trend.steady());
  EXPECT_DOUBLE_EQ(trend.range_percent(), 0);
}

TEST(Trend, WithoutAWriteNothingIsSteady) {
  const v1::TrendReport trend = MakeTrend(Of({0, 0, 0, 0, 0})).value();
  EXPECT_FALSE(trend.steady());
  EXPECT_EQ(trend.range_percent(), 0);
}

TEST(Trend, WideRangesAreSharedOutOverTheirSeconds) {
  SecondSeries series;
  series.Add(0, {10, 100, 20});
  series.AddWide(1, 3, {30, 600, 50});
  const std::vector<SecondFigures> seconds = WholeSeconds(series, 3);
  ASSERT_EQ(seconds.size(), 3);
  EXPECT_DOUBLE_EQ(seconds[0].writes, 10);
  EXPECT_DOUBLE_EQ(seconds[2].writes, 10);
  EXPECT_DOUBLE_EQ(seconds[2].latency_sum_ns, 200);
}

}  // namespace
}  // namespace plimsoll
