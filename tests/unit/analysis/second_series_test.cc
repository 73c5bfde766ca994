#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "controller/analysis/seconds.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/random_numbers.h"

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

// A random series of some minutes, with wide ranges and seconds without a write; the same one for equal seeds.
void FillSeries(uint64_t seed, const std::function<void(uint32_t)>& passed, SecondSeries& series) {
  tests::Random random(seed);
  for (uint32_t second = 0; second < 900;) {
    passed(second);
    const auto sums = [&random] {
      const auto writes = static_cast<uint64_t>(tests::Between(random, 1, 50));
      return WriteSums{writes, writes * 1'000, 2'000, writes * 4'096};
    };
    const int64_t kind = tests::Between(random, 0, 40);
    const auto length = static_cast<uint32_t>(tests::Between(random, 2, 90));
    if (kind == 0 && second + length < 900) {
      series.AddWide(second, second + length - 1, sums());
      second += length;
    } else {
      if (kind > 4) series.Add(second, sums());
      ++second;
    }
  }
}

// Whatever was aged and when, what remains is that of the whole series.
TEST(SecondSeriesProperty, AgedSecondsKeepMinutesAndExtremes) {
  const uint32_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  tests::Random random(seed);
  for (int i = 0; i < 200; ++i) {
    const uint64_t of_series = random();
    const auto from = static_cast<uint32_t>(60 * tests::Between(random, 0, 8));
    SecondSeries whole;
    FillSeries(of_series, [](uint32_t /*second*/) {}, whole);
    SecondSeries aged;
    // A frame covers what is passed: nothing more comes for seconds below.
    FillSeries(
        of_series,
        [&](uint32_t second) {
          if (second % 7 == 0) aged.AgeBelow(from, second / 60 * 60);
        },
        aged);
    SecondSeries merged;
    merged.Merge(aged);
    const uint32_t end = whole.EndSecond();
    EXPECT_EQ(merged.EndSecond(), end);
    EXPECT_EQ(merged.RowCount(end), whole.RowCount(end));
    EXPECT_EQ(merged.frames(), whole.frames());
    EXPECT_EQ(Rows(merged, from), Rows(whole, from));
    const SecondSeries minutes = merged.ByMinute();
    const SecondSeries expected = whole.ByMinute();
    EXPECT_EQ(Rows(minutes, end / 60 + 1), Rows(expected, end / 60 + 1));
    for (uint64_t WriteSums::* const figure : {&WriteSums::writes, &WriteSums::bytes}) {
      for (const uint32_t seconds : {end - 1, end, end + 70}) {
        const SecondExtremes have = merged.Extremes(seconds, figure);
        const SecondExtremes want = whole.Extremes(seconds, figure);
        EXPECT_EQ(have.seconds, want.seconds);
        EXPECT_EQ(have.averaged_seconds, want.averaged_seconds);
        EXPECT_EQ(have.sum, want.sum);
        EXPECT_EQ(have.min, want.min);
        EXPECT_EQ(have.max, want.max);
        EXPECT_EQ(have.most_min, want.most_min);
      }
    }
  }
}

// A day takes no more than its last minutes, and what is not aged.
TEST(SecondSeries, AgedSecondsTakeNoMemory) {
  for (const uint32_t from : {0U, 3'600U}) {
    SecondSeries series;
    for (uint32_t second = 0; second < 86'400; ++second) {
      series.Add(second, Writes(10));
      if (second % 60 == 59) series.AgeBelow(from, second + 1);
    }
    EXPECT_LT(series.capacity(), from + 300U);
    EXPECT_EQ(series.Extremes(86'400).sum, 864'000U);
  }
}

TEST(SecondSeries, AMinuteHasAllOfItsSeconds) {
  SecondSeries series;
  series.Add(0, Writes(5));
  series.Add(59, Writes(6));
  series.Add(60, Writes(7));
  series.AddWide(110, 125, Writes(20));
  series.Add(130, Writes(1));
  EXPECT_THAT(Rows(series.ByMinute(), 3), ElementsAre(Pair(0, 11), Pair(1, 28)));
}

}  // namespace
}  // namespace plimsoll
