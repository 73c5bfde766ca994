#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/analysis/seconds.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

WriteSums Writes(uint64_t writes) {
  return {writes, writes * 1'000, 1'000};
}

std::vector<std::pair<uint32_t, uint64_t>> Rows(const SecondSeries& series, uint32_t seconds) {
  std::vector<std::pair<uint32_t, uint64_t>> rows;
  series.ForEachRow(seconds, [&rows](const SeriesRow& row) { rows.emplace_back(row.first, row.sums.writes); });
  return rows;
}

TEST(SecondSeries, SecondsWithoutAWriteCountInTheExtremes) {
  SecondSeries series;
  series.Add(0, Writes(10));
  series.Add(200, Writes(30));
  const SecondExtremes extremes = series.Extremes(201);
  EXPECT_EQ(extremes.min, 0);
  EXPECT_EQ(extremes.max, 30);
  EXPECT_EQ(extremes.sum, 40);
}

TEST(SecondSeries, OnlyWholeSecondsCountInTheExtremes) {
  SecondSeries series;
  series.Add(0, Writes(10));
  series.Add(1, Writes(12));
  series.Add(2, Writes(1));
  const SecondExtremes extremes = series.Extremes(2);
  EXPECT_EQ(extremes.min, 10);
  EXPECT_EQ(extremes.max, 12);
  EXPECT_EQ(extremes.sum, 22);
}

TEST(SecondSeries, OverlappingWideRangesAreOneRow) {
  SecondSeries a;
  a.Add(0, Writes(5));
  a.AddWide(1, 2, Writes(20));
  SecondSeries b;
  b.AddWide(2, 3, Writes(10));
  b.Add(1, Writes(6));
  b.Add(4, Writes(7));
  a.Merge(b);
  EXPECT_THAT(Rows(a, 5), ElementsAre(Pair(0, 5), Pair(1, 36), Pair(4, 7)));
  const SecondExtremes extremes = a.Extremes(5);
  EXPECT_EQ(extremes.averaged_seconds, 3);
  EXPECT_EQ(extremes.sum, 48);
  EXPECT_EQ(extremes.max, 12);
  EXPECT_EQ(extremes.min, 5);
}

TEST(SecondSeries, AWideRangeThatReachesBeyondTheWholeSecondsIsSharedOut) {
  SecondSeries series;
  series.AddWide(1, 4, Writes(40));
  series.Add(0, Writes(10));
  const SecondExtremes extremes = series.Extremes(3);
  EXPECT_EQ(extremes.sum, 30);
  EXPECT_EQ(extremes.averaged_seconds, 2);
  EXPECT_EQ(extremes.min, 10);
}

TEST(SecondSeries, CountsItsRowsAndTheFramesThatReportedThem) {
  SecondSeries series;
  EXPECT_EQ(series.RowCount(5), 5);
  series.Add(0, Writes(10));
  series.AddWide(1, 3, Writes(30));
  series.AddSilent();
  SecondSeries other;
  other.AddWide(3, 4, Writes(20));
  series.Merge(other);
  for (const uint32_t seconds : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 100U}) {
    EXPECT_EQ(series.RowCount(seconds), seconds < 2 ? seconds : seconds < 5 ? 2 : seconds - 3) << seconds;
  }
  EXPECT_EQ(series.RowCount(6), Rows(series, 6).size());
  EXPECT_EQ(series.frames(), 4);
}

TEST(BySecond, KeepsSecondsInAnyOrder) {
  BySecond<int> values;
  const std::vector<uint32_t> seconds = {863'999, 0, 500, 64, 63, 400'000, 863'936, 128, 4'000'000'000};
  for (size_t i = 0; i < seconds.size(); ++i) values[seconds[i]] = static_cast<int>(i) + 1;
  for (size_t i = 0; i < seconds.size(); ++i) {
    EXPECT_EQ(values.Get(seconds[i]), static_cast<int>(i) + 1);
    EXPECT_EQ(values[seconds[i]], static_cast<int>(i) + 1);
  }
  EXPECT_EQ(values.Get(1), 0);
  EXPECT_EQ(values.Get(300), 0);
  std::vector<uint32_t> found;
  values.ForEach([&found](uint32_t second, int value) {
    if (value != 0) found.push_back(second);
  });
  EXPECT_THAT(found, ElementsAre(0, 63, 64, 128, 500, 400'000, 863'936, 863'999, 4'000'000'000));
}

}  // namespace
}  // namespace plimsoll
