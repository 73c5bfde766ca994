// Comparisons of steps whose frames were folded by age: by minute, over the whole of the steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/units.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/report_json.h"
#include "controller/render/json.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

using tests::SimHost;
using tests::SimRun;

// The report as that of a step whose frames were folded: with minutes, and without distributions by second. The steps
// last whole minutes.
v1::Report Folded(v1::Report report, uint32_t whole_seconds = 60) {
  for (v1::StepReport& step : *report.mutable_steps()) {
    step.set_whole_seconds(whole_seconds);
    const v1::SeriesReport series = step.series(0);
    v1::SeriesReport& minutes = *step.add_minutes();
    minutes.set_kind(v1::SCOPE_KIND_CLUSTER);
    for (int row = 0; row < series.second_size(); ++row) {
      if (row % 60 == 0) {
        minutes.add_second(series.second(row));
        minutes.add_writes(0);
        minutes.add_bytes(0);
        minutes.add_latency_sum_ns(0);
      }
      const int minute = row / 60;
      minutes.set_writes(minute, minutes.writes(minute) + series.writes(row));
      minutes.set_bytes(minute, minutes.bytes(minute) + series.bytes(row));
      minutes.set_latency_sum_ns(minute, minutes.latency_sum_ns(minute) + series.latency_sum_ns(row));
    }
    std::map<uint32_t, std::map<uint32_t, uint64_t>> distributions;
    int next = 0;
    for (int row = 0; row < step.seconds().second_size(); ++row) {
      for (uint32_t i = 0; i < step.seconds().buckets(row); ++i, ++next) {
        distributions[step.seconds().second(row) / 60][step.seconds().bucket(next)] += step.seconds().count(next);
      }
    }
    for (const auto& [minute, buckets] : distributions) {
      v1::SecondDistributionsReport& rows = *step.mutable_minute_distributions();
      rows.add_second(60 * minute);
      rows.add_buckets(static_cast<uint32_t>(buckets.size()));
      for (const auto& [bucket, count] : buckets) {
        rows.add_bucket(bucket);
        rows.add_count(count);
      }
    }
    step.clear_seconds();
  }
  return report;
}

v1::Finding FindingOfRow(const v1::PairComparison& pair, v1::Figure figure) {
  for (const v1::ComparedRow& row : pair.rows()) {
    if (row.figure() == figure) return row.finding();
  }
  return v1::FINDING_UNSPECIFIED;
}

constexpr size_t kSeconds = 1'800;

TEST(CompareMinutes, FindWhatIsSlower) {
  const v1::Comparison comparison =
      Compared({Side({Folded(Simulated(1, 1, 0.2, kSeconds))}), Side({Folded(Simulated(1.2, 2, 0.2, kSeconds))})});
  ASSERT_EQ(comparison.block_sizes_size(), 2);
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const v1::Figure figure : {v1::FIGURE_IOPS, v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99}) {
      EXPECT_EQ(FindingOfRow(block_size.pairs(0), figure), v1::FINDING_WORSE) << figure;
    }
    for (const v1::SideFigures& side : block_size.sides()) {
      EXPECT_EQ(side.runs(0).seconds(), kSeconds / 60);
      EXPECT_EQ(side.runs(0).observation_seconds(), 60U);
    }
  }
  EXPECT_THAT(Strings(comparison.method()),
              AllOf(Contains(StartsWith("Bootstrap: whole minutes were resampled")),
                    Contains(HasSubstr("compared by whole minutes, over the whole of their steps"))));
  EXPECT_THAT(RenderCompareText(comparison), HasSubstr("30 whole minutes worth"));
}

// One side of an hour or less is brought to minutes. Their figures are those of the other one, to the last digit.
TEST(CompareMinutes, AreMadeOfTheSecondsOfTheOtherSide) {
  const v1::Report whole = Simulated(1, 1, 0.2, kSeconds);
  for (const auto& sides : {std::pair{whole, Folded(whole)}, std::pair{Folded(whole), whole}}) {
    const v1::Comparison comparison = Compared({Side({sides.first}), Side({sides.second})});
    for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
      EXPECT_EQ(block_size.sides(0).runs(0).SerializeAsString(), block_size.sides(1).runs(0).SerializeAsString());
      EXPECT_EQ(block_size.sides(0).runs(0).seconds(), kSeconds / 60);
      for (const v1::ComparedRow& row : block_size.pairs(0).rows()) {
        if (row.figure() == v1::FIGURE_MAX) continue;
        EXPECT_EQ(row.p(), 1);
        EXPECT_EQ(row.finding(), v1::FINDING_NOT_CLEAR);
      }
    }
  }
}

TEST(CompareMinutes, AreSaidToBeTooFew) {
  const v1::Report whole = Simulated(1, 1, 0.2, 300);
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.5;
  const v1::Comparison comparison = Compared({Side({whole}), Side({Folded(whole)})}, settings);
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const v1::ComparedRow& row : block_size.pairs(0).rows()) {
      EXPECT_EQ(row.finding(), v1::FINDING_NOT_TESTED);
      if (row.figure() == v1::FIGURE_AVG) {
        EXPECT_EQ(row.reason(), "A has 5 whole minutes");
      }
    }
    EXPECT_GE(block_size.pairs(0).needed_seconds(), 600U);
  }
  EXPECT_EQ(comparison.gate(), v1::OUTCOME_INCONCLUSIVE);
}

// Seconds that are known only in sums keep their minute out, and no others.
TEST(CompareMinutes, LeaveOutAMinuteThatLacksASecond) {
  v1::Report whole = Simulated(1, 1, 0.2, kSeconds);
  v1::SeriesReport& series = *whole.mutable_steps(0)->mutable_series(0);
  v1::IrregularRow& irregular = *series.add_irregular();
  irregular.set_row(100);
  irregular.set_length_ns(2 * kNsPerSecond);
  irregular.set_coalesced(true);
  const v1::Comparison comparison = Compared({Side({whole}), Side({Folded(Simulated(1, 2, 0.2, kSeconds))})});
  const v1::RunFigures& run = comparison.block_sizes(0).sides(0).runs(0);
  EXPECT_EQ(run.seconds(), kSeconds / 60 - 1);
  EXPECT_EQ(run.left_out_seconds(), 1U);
  EXPECT_EQ(comparison.block_sizes(1).sides(0).runs(0).left_out_seconds(), 0U);
}

TEST(CompareMinutes, AreReadBackFromJson) {
  const v1::Report report = Folded(Simulated(1, 1, 0.2, kSeconds));
  const absl::StatusOr<v1::Report> read = ParseReportJson(RenderJson(report));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Compared({Side({report}), Side({report})}).SerializeAsString(),
            Compared({Side({*read}), Side({*read})}).SerializeAsString());
}

// An hour, so that no seed makes minutes look as if they depended on one another.
constexpr size_t kHour = 3'600;
constexpr int kSeeds = 2;

// A difference of a half is found with any seed; and none of a half is found where there is none, whatever chance makes
// of seconds that vary by a twentieth.
TEST(CompareMinutesProperty, FindADifferenceOfAHalfAndNoOther) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  CompareSettings settings = Quick();
  settings.min_effect = 0.25;
  for (uint32_t i = 0; i < kSeeds; ++i) {
    const v1::Report first = Simulated(1, seed + 3 * i, 0.2, kHour);
    const v1::Report alike = Simulated(1, seed + 3 * i + 1, 0.2, kHour);
    const v1::Report slower = Simulated(1.5, seed + 3 * i + 2, 0.2, kHour);
    for (const v1::Report& base : {first, Folded(first)}) {
      const v1::Comparison comparison =
          Compared({Side({base}), Side({Folded(alike)}), Side({Folded(slower)})}, settings);
      for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
        for (const v1::Figure figure : {v1::FIGURE_IOPS, v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99}) {
          const v1::Finding of_alike = FindingOfRow(block_size.pairs(0), figure);
          EXPECT_TRUE(of_alike != v1::FINDING_WORSE && of_alike != v1::FINDING_BETTER) << figure;
          EXPECT_EQ(FindingOfRow(block_size.pairs(1), figure), v1::FINDING_WORSE) << figure;
        }
      }
    }
  }
}

// The report of a journal of 16 minutes, folded from the second minute on. `slower_ns`: what each write takes longer.
v1::Report AnalyzedJournal(int64_t slower_ns) {
  SimRun run;
  run.duration_ns = 960 * kNsPerSecond;
  run.interval_ns = kNsPerSecond;
  SimHost host;
  host.label = "alpha";
  host.steps = {{tests::ClosedLoop(run.duration_ns, 50 * kNsPerMs, [slower_ns](uint64_t n, int64_t /*start_ns*/) {
    return static_cast<int64_t>(1'000'000 + n * 7'919 % 1'000'003) + slower_ns;
  })}};
  run.hosts.push_back(std::move(host));
  return tests::Analyze(tests::WithFold(tests::MakeJournal(run)));
}

// The whole step is compared, not the minute whose seconds are whole.
TEST(CompareMinutes, OfJournalsCoverTheWholeStep) {
  const v1::Report usual = AnalyzedJournal(0);
  ASSERT_TRUE(usual.steps(0).has_whole_seconds());
  const v1::Report slower = AnalyzedJournal(5 * kNsPerMs);
  const v1::Comparison comparison = Compared({Side({usual}), Side({slower}), Side({usual})});
  const v1::BlockSizeComparison& block_size = comparison.block_sizes(0);
  EXPECT_EQ(block_size.sides(1).runs(0).seconds(), 16U);
  for (const v1::Figure figure : {v1::FIGURE_AVG, v1::FIGURE_P50}) {
    EXPECT_EQ(FindingOfRow(block_size.pairs(0), figure), v1::FINDING_WORSE) << figure;
    EXPECT_EQ(FindingOfRow(block_size.pairs(1), figure), v1::FINDING_NOT_CLEAR) << figure;
  }
  const std::string page = ComparePageData({Side({usual}), Side({slower}), Side({usual})}, comparison, 1'000);
  EXPECT_THAT(page, HasSubstr("\"row_seconds\":60"));
}

}  // namespace
}  // namespace plimsoll
