#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "controller/analysis/figures.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

std::vector<HistogramRow> RowsOf(const Histogram& histogram, uint32_t rows) {
  return HistogramRows(MakeDistribution(histogram), MakeLatencyReport(histogram), rows);
}

v1::StepReport StepOf(const Histogram& histogram) {
  v1::StepReport step;
  v1::ScopeReport& scope = *step.add_scopes();
  scope.set_kind(v1::SCOPE_KIND_CLUSTER);
  *scope.mutable_latency() = MakeLatencyReport(histogram);
  *step.add_distributions() = MakeDistribution(histogram);
  step.mutable_distributions(0)->set_kind(v1::SCOPE_KIND_CLUSTER);
  return step;
}

// 1, 2 or 5 times a power of ten.
bool IsRound(uint64_t width) {
  while (width % 10 == 0) width /= 10;
  return width == 1 || width == 2 || width == 5;
}

TEST(HistogramRows, AddUpWhateverTheValuesAre) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2'000; ++round) {
    Histogram histogram;
    const auto base = static_cast<double>(uint64_t{1} << (random() % 42));
    std::lognormal_distribution<double> tail(0, static_cast<double>(random() % 20) / 10);
    for (uint64_t i = 1 + random() % 500; i > 0; --i) {
      histogram.RecordN(static_cast<uint64_t>(base * tail(random)), 1 + random() % 50);
    }
    const auto wanted = static_cast<uint32_t>(2 + random() % 60);
    const std::vector<HistogramRow> rows = RowsOf(histogram, wanted);
    ASSERT_FALSE(rows.empty());
    ASSERT_LE(rows.size(), wanted);
    const uint64_t width = rows[0].to_ns - rows[0].from_ns;
    EXPECT_TRUE(rows[0].tail || IsRound(width)) << width;
    uint64_t total = 0;
    uint64_t before_tail = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      total += rows[i].count;
      if (!rows[i].tail) before_tail += rows[i].count;
      EXPECT_EQ(rows[i].tail, rows[i].tail && i + 1 == rows.size()) << "the tail is the last row";
      EXPECT_TRUE(i == 0 || rows[i].from_ns == rows[i - 1].to_ns);
      EXPECT_TRUE(rows[i].tail || rows[i].to_ns - rows[i].from_ns == width);
    }
    EXPECT_EQ(total, histogram.count());
    EXPECT_GE(before_tail * 100, histogram.count() * 95) << "nearly all are before the tail";
    EXPECT_LE(rows[0].from_ns, histogram.min_ns());
  }
}

TEST(HistogramRows, HoldTheValuesBetweenTheirEdgesUpToTheWidthOfABucket) {
  Histogram histogram;
  for (uint64_t us = 100; us < 140; ++us) histogram.RecordN(us * 1'000 + 500, us);
  const std::vector<HistogramRow> rows = RowsOf(histogram, 41);
  ASSERT_THAT(rows, SizeIs(40));
  // What lies in a bucket is shared out between the rows that it touches, by how much of it lies in each: buckets are
  // 512 ns wide below 131,072 ns, so that some 2 % of a row's values may be counted beside it; 1,024 ns above, and some
  // 51 %.
  std::vector<double> expected(rows.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t value_ns = (100 + i) * 1'000 + 500;
    const uint64_t width_ns = value_ns < 131'072 ? 512 : 1'024;
    const uint64_t from_ns = value_ns / width_ns * width_ns;
    double moved = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      const uint64_t begin_ns = std::max<uint64_t>(from_ns, (100 + row) * 1'000);
      // The last row holds what its last bucket does.
      const uint64_t row_end_ns = row + 1 == rows.size() ? UINT64_MAX : (101 + row) * 1'000;
      const uint64_t end_ns = std::min<uint64_t>(from_ns + width_ns, row_end_ns);
      if (begin_ns >= end_ns) continue;
      const double share = static_cast<double>(end_ns - begin_ns) / static_cast<double>(width_ns);
      expected[row] += share * static_cast<double>(100 + i);
      if (row != i) moved += share;
    }
    EXPECT_LE(moved, value_ns < 131'072 ? 0.024 : 0.512) << i;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].from_ns, (100 + i) * 1'000);
    // Counts are whole.
    EXPECT_NEAR(static_cast<double>(rows[i].count), expected[i], 2) << i;
  }
}

TEST(HistogramRows, ValuesThatAreAlikeAreOneRow) {
  Histogram histogram;
  histogram.RecordN(999'000, 1'000);
  const std::vector<HistogramRow> rows = RowsOf(histogram, 40);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].from_ns, 995'000) << "as wide as its bucket can tell";
  EXPECT_EQ(rows[0].to_ns, 1'000'000);
  EXPECT_EQ(rows[0].count, 1'000);
}

TEST(HistogramRows, TheTailIsSummedInTheLastRow) {
  Histogram histogram;
  for (uint64_t i = 0; i < 970; ++i) histogram.Record(200'000 + i * 90);
  histogram.RecordN(50'000'000, 29);
  histogram.Record(7'200'000'000'000);
  const std::vector<HistogramRow> rows = RowsOf(histogram, 20);
  ASSERT_THAT(rows, SizeIs(20));
  EXPECT_TRUE(rows[19].tail);
  EXPECT_EQ(rows[19].count, 30);
  EXPECT_EQ(rows[19].to_ns, 7'200'000'000'000) << "the exact maximum, beyond the histogram's end too";
  EXPECT_EQ(rows[0].from_ns, 200'000);
}

TEST(TextHistogram, ShowsCountPercentAndBar) {
  Histogram histogram;
  for (uint64_t us = 400; us < 500; ++us) histogram.RecordN(us * 1'000, us < 450 ? 10 : 5);
  histogram.RecordN(14'000'000, 10);
  const std::vector<std::string> lines = TextHistogram(StepOf(histogram), 11);
  EXPECT_THAT(
      lines,
      ElementsAre(HasSubstr("  Histogram of the cluster's 760 writes; each row is 10 us wide"),
                  "  from us  below us  writes      %", HasSubstr("      400       410"),
                  HasSubstr("      410       420"), HasSubstr("      420       430"), HasSubstr("      430       440"),
                  HasSubstr("      440       450"), HasSubstr("      450       460"), HasSubstr("      460       470"),
                  HasSubstr("      470       480"), HasSubstr("      480       490"), HasSubstr("      490       500"),
                  "      500   or more      10   1.32  #####  everything above, up to 14.000 ms"));
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), 80) << line;
}

TEST(TextHistogram, IsNotThereWithoutAWriteOrADistribution) {
  EXPECT_THAT(TextHistogram(v1::StepReport(), 40), IsEmpty());
  EXPECT_THAT(TextHistogram(StepOf(Histogram()), 40), IsEmpty());
}

}  // namespace
}  // namespace plimsoll
