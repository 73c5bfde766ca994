#include "controller/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "common/units.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/compare_words.h"
#include "controller/compare/report_json.h"
#include "controller/compare/step_data.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

const v1::ComparedRow& Row(const v1::PairComparison& pair, v1::Figure figure) {
  for (const v1::ComparedRow& row : pair.rows()) {
    if (row.figure() == figure) return row;
  }
  ADD_FAILURE() << "no row " << figure << " in " << pair.DebugString();
  return v1::ComparedRow::default_instance();
}

TEST(Compare, FindsWhatIsSlowerAndSaysByHowMuch) {
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})});
  ASSERT_EQ(comparison.block_sizes_size(), 2);
  EXPECT_EQ(comparison.tests(), 10U) << "five a block size: MB/s are IO/s, and the maximum is not tested";
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    const v1::PairComparison& pair = block_size.pairs(0);
    EXPECT_EQ(pair.rows_size(), 7);
    const v1::ComparedRow& iops = Row(pair, v1::FIGURE_IOPS);
    EXPECT_EQ(iops.finding(), v1::FINDING_WORSE);
    EXPECT_LT(iops.low(), 1 / 1.2);
    EXPECT_GT(iops.high(), 1 / 1.2);
    const v1::ComparedRow& megabytes = Row(pair, v1::FIGURE_MB_PER_SECOND);
    EXPECT_EQ(megabytes.finding(), v1::FINDING_WORSE);
    EXPECT_EQ(megabytes.adjusted_p(), iops.adjusted_p());
    EXPECT_FALSE(megabytes.counted());
    for (const v1::Figure figure : {v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99}) {
      const v1::ComparedRow& row = Row(pair, figure);
      EXPECT_EQ(row.finding(), v1::FINDING_WORSE) << row.DebugString();
      EXPECT_LT(row.low(), 1.2);
      EXPECT_GT(row.high(), 1.2);
      EXPECT_NEAR(row.ratio(), row.second() / row.first(), 1e-12);
    }
    EXPECT_EQ(Row(pair, v1::FIGURE_MAX).finding(), v1::FINDING_NOT_TESTED);
    EXPECT_FALSE(Row(pair, v1::FIGURE_MAX).has_low());
    EXPECT_THAT(pair.summary(), AllOf(StartsWith("B completes "), HasSubstr("fewer writes per second than A"),
                                      HasSubstr("Writes are slower on B: mean by ")));
  }
  EXPECT_THAT(Strings(comparison.limits()), Contains(HasSubstr("repeatability was not tested")));
}

TEST(Compare, OfARunWithItselfFindsNothing) {
  const SideInput side = Side({Simulated(1, 1)});
  const v1::Comparison comparison = Compared({side, side});
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    for (const v1::ComparedRow& row : block_size.pairs(0).rows()) {
      EXPECT_EQ(row.ratio(), 1);
      if (row.figure() == v1::FIGURE_MAX) continue;
      EXPECT_EQ(row.p(), 1);
      EXPECT_EQ(row.finding(), v1::FINDING_NOT_CLEAR);
    }
    EXPECT_THAT(block_size.pairs(0).summary(),
                AllOf(StartsWith("No significant difference between B and A in IO/s, mean, p50, p99 and p99.9."),
                      HasSubstr("Too noisy to detect less than about ")));
  }
  EXPECT_THAT(Strings(comparison.warnings()), ElementsAre(HasSubstr("A and B are the same run")));
  EXPECT_THAT(comparison.differences(), IsEmpty());
}

TEST(Compare, GivesTheSameAnswerToTheSameInputAndFromJson) {
  const v1::Report first = Simulated(1, 1);
  const v1::Report second = Simulated(1.05, 2);
  const v1::Comparison comparison = Compared({Side({first}), Side({second})});
  EXPECT_EQ(RenderJson(Compared({Side({first}), Side({second})})), RenderJson(comparison));
  const absl::StatusOr<v1::Report> read = ParseReportJson(RenderJson(second));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(RenderJson(Compared({Side({first}), Side({*read})})), RenderJson(comparison));
}

TEST(Compare, DifferencesWithinTheSmallestEffectAreNotClear) {
  CompareSettings settings = Quick();
  settings.min_effect = 0.5;
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})}, settings);
  EXPECT_EQ(Row(comparison.block_sizes(0).pairs(0), v1::FIGURE_AVG).finding(), v1::FINDING_SMALL);
  EXPECT_THAT(comparison.block_sizes(0).pairs(0).summary(), HasSubstr("within the minimum effect of 50 %: IO/s, mean"));
}

TEST(Compare, WithoutDistributionsBySecondPercentilesHaveNoInterval) {
  v1::Report first = Simulated(1, 1);
  for (v1::StepReport& step : *first.mutable_steps()) step.clear_seconds();
  const v1::Comparison comparison = Compared({Side({first}), Side({Simulated(1.2, 2)})});
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  const v1::ComparedRow& row = Row(pair, v1::FIGURE_P99);
  EXPECT_EQ(row.finding(), v1::FINDING_NOT_TESTED);
  EXPECT_FALSE(row.has_low());
  EXPECT_EQ(row.reason(), "A: the report has no distributions by second");
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).finding(), v1::FINDING_WORSE);
  EXPECT_EQ(comparison.tests(), 4U);
  EXPECT_THAT(pair.summary(), HasSubstr("Not tested: p50, p99 and p99.9 (A: the report has no"));
}

TEST(Compare, PercentilesOfTooFewWritesAreNoRows) {
  v1::Report first = SteadyReport("a", {4'096}, 60, {100'000, 200'000, 300'000});  // 180 writes
  const v1::Comparison comparison = Compared({Side({first}), Side({SteadyReport("b", {4'096}, 60, {100'000})})});
  std::vector<v1::Figure> figures;
  for (const v1::ComparedRow& row : comparison.block_sizes(0).pairs(0).rows()) figures.push_back(row.figure());
  EXPECT_THAT(figures,
              ElementsAre(v1::FIGURE_IOPS, v1::FIGURE_MB_PER_SECOND, v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_MAX));
}

TEST(Compare, SecondsWithoutAnyScatterAreNoDivisionByZero) {
  const v1::Comparison comparison =
      Compared({Side({SteadyReport("a", {4'096}, 30, std::vector<uint64_t>(50, 100'000))}),
                Side({SteadyReport("b", {4'096}, 30, std::vector<uint64_t>(50, 200'000))})});
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  EXPECT_EQ(Row(pair, v1::FIGURE_IOPS).ratio(), 1);
  EXPECT_EQ(Row(pair, v1::FIGURE_IOPS).p(), 1);
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).finding(), v1::FINDING_WORSE);
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).low(), Row(pair, v1::FIGURE_AVG).high());
  EXPECT_THAT(RenderCompareText(comparison), Not(HasSubstr("nan")));
}

TEST(Compare, TooFewSecondsGiveNoIntervalAndSayHowManyAreNeeded) {
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1, 0, 9)}), Side({Simulated(2, 2, 0, 9)})});
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).finding(), v1::FINDING_NOT_TESTED);
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).reason(), "A has 9 whole seconds");
  EXPECT_GE(pair.needed_seconds(), 10U);
  EXPECT_EQ(comparison.tests(), 0U);
  EXPECT_THAT(pair.summary(), HasSubstr("run at least "));
}

TEST(Compare, DependentSecondsAskForLongerRuns) {
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1, 0.9)}), Side({Simulated(1, 2, 0.9)})});
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  EXPECT_GT(pair.needed_seconds(), 100U);
  EXPECT_THAT(pair.summary(),
              HasSubstr(absl::StrCat("run at least ", FormatCount(pair.needed_seconds()), " s per side")));
  const v1::Comparison calm = Compared({Side({Simulated(1, 1, 0)}), Side({Simulated(1, 2, 0)})});
  EXPECT_EQ(calm.block_sizes(0).pairs(0).needed_seconds(), 0U);
}

TEST(Compare, WhereSecondsDependMoreThanPromisedTheNeededLengthIsAlwaysNamed) {
  CompareSettings settings = Quick();
  settings.replicates = 99;
  settings.percentile_intervals = false;
  int told = 0;
  int unreported = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const v1::Comparison comparison =
        Compared({Side({Simulated(1, 2 * seed, 0.55)}), Side({Simulated(1, 2 * seed + 1, 0.55)})}, settings);
    for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
      const double phi =
          std::max(block_size.sides(0).runs(0).autocorrelation(), block_size.sides(1).runs(0).autocorrelation());
      const v1::PairComparison& pair = block_size.pairs(0);
      ASSERT_EQ(pair.needed_seconds() > 0, phi > 0.5) << phi;
      if (phi > 0.5) {
        EXPECT_GE(pair.needed_seconds(), 58U) << "60 s are right for 0.5";
        EXPECT_THAT(pair.summary(), HasSubstr(absl::StrCat(pair.needed_seconds(), " s per side")));
      }
      ++(phi > 0.5 ? told : unreported);
    }
  }
  EXPECT_GT(told, 10);
  EXPECT_GT(unreported, 5);
  // Long enough.
  const v1::Comparison longer =
      Compared({Side({Simulated(1, 1, 0.7, 600)}), Side({Simulated(1, 2, 0.7, 600)})}, settings);
  const v1::PairComparison& pair = longer.block_sizes(0).pairs(0);
  EXPECT_GT(pair.needed_seconds(), 60U);
  EXPECT_LT(pair.needed_seconds(), 200U);
  EXPECT_THAT(pair.summary(), HasSubstr(absl::StrCat(pair.needed_seconds(), " s per side are needed, there are 600.")));
}

TEST(Compare, AutocorrelationIsThatOfSecondsInALongRunToo) {
  // 24 hours in groups of 24 s. An AR(1) process with 0.95 makes them worth 86,400 (1 - 0.95) / (1 + 0.95) seconds.
  std::vector<v1::Report> reports;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    v1::Report& report = reports.emplace_back(SteadyReport(std::to_string(seed), {4'096}, 86'400, {400'000}));
    v1::SeriesReport& series = *report.mutable_steps(0)->mutable_series(0);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    double value = normal(random);
    for (int row = 0; row < series.writes_size(); ++row) {
      value = 0.95 * value + std::sqrt(1 - 0.95 * 0.95) * normal(random);
      const double writes = 100'000 * (1 + 0.05 * value);
      series.set_writes(row, static_cast<uint64_t>(writes));
      series.set_latency_sum_ns(row, 990'000'000);
    }
  }
  CompareSettings settings = Quick();
  settings.percentile_intervals = false;
  const v1::Comparison comparison = Compared({Side({reports[0]}), Side({reports[1]})}, settings);
  for (const v1::SideFigures& side : comparison.block_sizes(0).sides()) {
    EXPECT_NEAR(side.runs(0).autocorrelation(), 0.95, 0.01);
    EXPECT_NEAR(side.runs(0).effective_seconds(), 2'215, 400);
    EXPECT_GT(side.runs(0).block_length(), 24U) << "blocks are of groups";
  }
  EXPECT_NEAR(comparison.block_sizes(0).pairs(0).needed_seconds(), 800, 150) << "20 independent ones";
}

TEST(Compare, IrregularRowsAreNoSeconds) {
  v1::Report first = Simulated(1, 1);
  v1::SeriesReport& series = *first.mutable_steps(0)->mutable_series(0);
  series.add_second(60);  // what was in flight at the end
  series.add_writes(1);
  series.add_bytes(4'096);
  series.add_latency_sum_ns(900'000'000);
  v1::IrregularRow& closing = *series.add_irregular();
  closing.set_row(60);
  closing.set_length_ns(900'000'000);
  closing.set_closing(true);
  v1::IrregularRow& several = *series.add_irregular();
  several.set_row(7);
  several.set_length_ns(3 * kNsPerSecond);
  several.set_coalesced(true);
  const v1::Comparison comparison = Compared({Side({first}), Side({Simulated(1, 2)})});
  EXPECT_EQ(comparison.block_sizes(0).sides(0).runs(0).seconds(), 59U);
  EXPECT_EQ(comparison.block_sizes(0).sides(0).runs(0).left_out_seconds(), 3U);
}

TEST(Compare, WritesInFlightAtTheEndAreInNoThroughputButInTheLatencies) {
  v1::Report first = Simulated(1, 1);
  uint64_t count = 0;
  double seconds = 0;
  for (v1::ScopeReport& scope : *first.mutable_steps(0)->mutable_scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
    scope.mutable_closing()->set_writes(100);
    count = scope.latency().count();
    seconds = static_cast<double>(scope.measured_ns()) / kNsPerSecond;
  }
  const v1::Comparison comparison = Compared({Side({first}), Side({Simulated(1, 2)})});
  const v1::RunFigures& run = comparison.block_sizes(0).sides(0).runs(0);
  EXPECT_EQ(run.writes(), count - 100);
  EXPECT_EQ(run.closing_writes(), 100U);
  EXPECT_DOUBLE_EQ(run.iops(), static_cast<double>(count - 100) / seconds);
}

TEST(Compare, RepetitionsWithinARunAreTakenTogether) {
  const auto add_distribution = [](v1::Report& report) {
    for (v1::StepReport& step : *report.mutable_steps()) {
      v1::DistributionReport& distribution = *step.add_distributions();
      distribution.set_kind(v1::SCOPE_KIND_CLUSTER);
      for (const uint64_t from : {100'352U, 200'704U}) {
        distribution.add_from_ns(from);
        distribution.add_count(30);
      }
    }
  };
  v1::Report twice = SteadyReport("a", {4'096, 4'096}, 30, {100'500, 201'000});
  v1::Report without = twice;
  add_distribution(twice);
  const v1::Comparison comparison = Compared({Side({twice}), Side({without})});
  const v1::RunFigures& figures = comparison.block_sizes(0).sides(0).runs(0);
  EXPECT_EQ(figures.repetitions(), 2U);
  EXPECT_EQ(figures.writes(), 120U);
  EXPECT_EQ(figures.seconds(), 60U);
  EXPECT_EQ(figures.measured_ns(), 60 * kNsPerSecond);
  EXPECT_EQ(figures.iops(), 2);
  EXPECT_EQ(figures.p50_ns(), 100'352 + 511) << "highest value of a bucket of a 128th of its power of two";
  EXPECT_FALSE(comparison.block_sizes(0).sides(1).runs(0).has_p50_ns()) << "nothing to add up";
}

TEST(Compare, SeveralRunsASideAreComparedAsWhole) {
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1), Simulated(1.01, 2), Simulated(0.99, 3)}),
                                              Side({Simulated(1.5, 4), Simulated(1.51, 5), Simulated(1.49, 6)})});
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).finding(), v1::FINDING_WORSE);
  EXPECT_NEAR(Row(pair, v1::FIGURE_AVG).ratio(), 1.5, 0.05);
  EXPECT_THAT(Strings(comparison.method()), Contains(HasSubstr("Welch's t-test")));
  EXPECT_THAT(Strings(comparison.limits()), AllOf(Contains(StartsWith("Whole runs were compared, 3 of A, 3 of B.")),
                                                  Not(Contains(HasSubstr("repeatability was not tested")))));
}

TEST(Compare, RunsThatScatterAsMuchAsTheyDifferAreNotDistinguished) {
  const v1::Comparison comparison =
      Compared({Side({Simulated(1, 1), Simulated(1.3, 2)}), Side({Simulated(1.2, 3), Simulated(1.5, 4)})});
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  EXPECT_EQ(Row(pair, v1::FIGURE_AVG).finding(), v1::FINDING_NOT_CLEAR) << "although seconds within the runs do not";
  EXPECT_GT(pair.detectable_percent(), 50);
  EXPECT_THAT(Strings(comparison.method()), Contains(HasSubstr("Student's t-test")));
  EXPECT_THAT(Strings(comparison.limits()), Contains(HasSubstr("only large differences")));
}

TEST(Compare, EverySideIsComparedWithTheFirst) {
  const v1::Comparison comparison =
      Compared({Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)}), Side({Simulated(0.8, 3)})});
  const v1::BlockSizeComparison& block_size = comparison.block_sizes(0);
  ASSERT_EQ(block_size.pairs_size(), 2);
  EXPECT_EQ(block_size.pairs(1).side(), "C");
  EXPECT_EQ(Row(block_size.pairs(0), v1::FIGURE_AVG).finding(), v1::FINDING_WORSE);
  EXPECT_EQ(Row(block_size.pairs(1), v1::FIGURE_AVG).finding(), v1::FINDING_BETTER);
  EXPECT_EQ(comparison.tests(), 20U);
}

TEST(CompareHeadline, NamesTheSlowerSideWithItsLargestDifferences) {
  const std::vector<SideInput> sides = {Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})};
  const std::string slower = Compared(sides).headline();
  EXPECT_THAT(slower, AllOf(StartsWith("B is slower than A at all 2 block sizes (up to 1"),
                            HasSubstr("% fewer writes per second, "), HasSubstr(" % longer)."), Not(HasSubstr(". "))));
  EXPECT_THAT(Compared({sides[1], sides[0]}).headline(),
              AllOf(StartsWith("B is faster than A at all 2 block sizes (up to "), HasSubstr(" % shorter).")));
}

TEST(CompareHeadline, WithoutADifferenceNamesWhatWouldHaveBeenFoundInIopsAndP99) {
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1)}), Side({Simulated(1, 2)})});
  EXPECT_THAT(comparison.headline(),
              ::testing::MatchesRegex("B shows no significant difference from A at all 2 block sizes "
                                      "\\([0-9.]+ % in IO/s and [0-9.]+ % in p99 would have been found\\)\\."));
  const v1::PairComparison& pair = comparison.block_sizes(0).pairs(0);
  EXPECT_THAT(pair.summary(), HasSubstr("In p99, too noisy to detect less than about "));
  // A difference of that size lies outside of the interval even among all tests.
  const v1::ComparedRow& p99 = Row(pair, v1::FIGURE_P99);
  EXPECT_GT(pair.detectable_p99_percent(), 100 * std::expm1(std::log(p99.high() / p99.low()) / 2) - 1e-9);
}

TEST(CompareHeadline, SaysWhereNothingCouldBeDetectedAndWhyNothingWasDecided) {
  v1::Comparison comparison =
      Compared({Side({Simulated(1, 1), Simulated(1, 3)}), Side({Simulated(1, 2), Simulated(1, 4)})});
  for (v1::BlockSizeComparison& block_size : *comparison.mutable_block_sizes()) {
    v1::PairComparison& pair = *block_size.mutable_pairs(0);
    pair.set_detectable_percent(100);
    pair.set_detectable_p99_percent(250);
    for (v1::ComparedRow& row : *pair.mutable_rows()) row.set_finding(v1::FINDING_NOT_CLEAR);
  }
  EXPECT_EQ(
      HeadlineInWords(comparison, "writes"),
      "B shows no significant difference from A at all 2 block sizes (too noisy to detect even half or double the "
      "IO/s or p99).");
  for (v1::BlockSizeComparison& block_size : *comparison.mutable_block_sizes()) {
    for (v1::ComparedRow& row : *block_size.mutable_pairs(0)->mutable_rows()) {
      row.set_finding(v1::FINDING_INCONCLUSIVE);
      row.set_reason("the load generator of B may be CPU-bound");
    }
  }
  EXPECT_EQ(HeadlineInWords(comparison, "writes"),
            "B is undecided against A at all 2 block sizes (the load generator of B may be CPU-bound).");
}

TEST(CompareHeadline, SidesAreOneSentenceEach) {
  const v1::Comparison comparison =
      Compared({Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)}), Side({Simulated(0.8, 3)})});
  EXPECT_THAT(comparison.headline(), AllOf(StartsWith("B is slower than A"), HasSubstr("; C is faster than A")));
}

TEST(CompareHeadline, TheGateHasItsVerdictAndItsLimitInASentence) {
  const std::vector<SideInput> sides = {Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})};
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.1;
  EXPECT_THAT(Compared(sides, settings).gate_summary(),
              AllOf(StartsWith("FAIL: slower by more than 10 %: B is slower than A at 4 KiB: "), HasSubstr(", and ")));
  EXPECT_THAT(Compared({sides[1], sides[0]}, settings).gate_summary(),
              StartsWith("PASS: IO/s, mean, p50 and p99 of every block size are slower by at most 10 %"));
  settings.fail_if_slower = 0.2;
  EXPECT_THAT(Compared(sides, settings).gate_summary(),
              StartsWith("INCONCLUSIVE: it is not decided whether B is slower by more than 20 %: B against A at "));
  EXPECT_FALSE(Compared(sides).has_gate_summary());
}

TEST(CompareText, TheAnswerAndTheGateComeBeforeWarnings) {
  const SideInput side = Side({Simulated(1, 1)});
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.1;
  const v1::Comparison comparison = Compared({side, side}, settings);
  const std::string text = RenderCompareText(comparison);
  EXPECT_THAT(text, StartsWith("Answer    B shows no significant difference from A"));
  EXPECT_LT(text.find("\nGate      PASS: "), text.find("\nWARNING   "));
}

TEST(CompareResponseTimes, AreComparedWhereAllRunsHaveThem) {
  const v1::Report plain = Simulated(1, 1);
  std::vector<SideInput> sides = {Side({Rated(plain)}), Side({Rated(Simulated(1.2, 2))})};
  UseResponseTimes(sides);
  const v1::Comparison comparison = Compared(sides);
  EXPECT_TRUE(comparison.response_times());
  const v1::RunFigures& figures = comparison.block_sizes(0).sides(0).runs(0);
  const v1::Comparison of_plain = Compared({Side({plain}), Side({Simulated(1.2, 2)})});
  const v1::RunFigures& before = of_plain.block_sizes(0).sides(0).runs(0);
  EXPECT_NEAR(figures.avg_ns(), 3 * before.avg_ns(), 1e-6 * before.avg_ns());
  EXPECT_EQ(figures.writes(), before.writes()) << "what was not issued is no throughput";
  EXPECT_EQ(figures.iops(), before.iops());
  EXPECT_EQ(figures.closing_writes(), before.closing_writes() + 5);
  EXPECT_THAT(RenderCompareText(comparison), HasSubstr("response time in "));
  UseResponseTimes(sides);
  EXPECT_EQ(RenderJson(Compared(sides)), RenderJson(comparison)) << "a second time changes nothing";
}

TEST(CompareResponseTimes, AreLeftAloneWhereARunHasNone) {
  std::vector<SideInput> sides = {Side({Rated(Simulated(1, 1))}), Side({Simulated(1.2, 2)})};
  const double avg_ns = sides[0].runs[0].report.steps(0).scopes(0).latency().avg_ns();
  UseResponseTimes(sides);
  EXPECT_EQ(sides[0].runs[0].report.steps(0).scopes(0).latency().avg_ns(), avg_ns);
  EXPECT_FALSE(sides[0].runs[0].response_times);
}

TEST(CompareText, StaysWithinEightyColumnsAndShowsNoControlCharacters) {
  v1::Report second = Simulated(1.2, 2);
  second.mutable_run()->set_name("b\x1b[31m <script> " + std::string(200, 'x'));
  second.mutable_hosts(0)->mutable_mount()->set_mount_options(std::string(300, 'o') + "\n,second\u202e");
  std::vector<SideInput> sides = {Side({Simulated(1, 1)}), Side({second})};
  sides[1].runs[0].source = "/very/long/" + std::string(150, 'p');
  v1::Comparison comparison = Compared(sides);
  // Figures that are as wide as they get.
  for (v1::ComparedRow& row : *comparison.mutable_block_sizes(0)->mutable_pairs(0)->mutable_rows()) {
    row.set_first(12'345'678.9);
    row.set_second(98'765'432.1);
    row.set_ratio(1'234.5);
    row.set_low(1'111.1);
    row.set_high(12'345.6);
  }
  const std::string text = RenderCompareText(comparison);
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    const std::string line = text.substr(begin, end - begin);
    // A path stays whole.
    if (line.find("/very/long/") == std::string::npos) {
      EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
    }
    EXPECT_EQ(SanitizeForTerminal(line), line);
  }
  EXPECT_EQ(begin, text.size()) << "ends with a line break";
}

TEST(CompareCsv, HasARowForEveryFigure) {
  const v1::Comparison comparison = Compared({Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})});
  const std::string csv = RenderCompareCsv(comparison);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 7);
  EXPECT_THAT(csv,
              StartsWith("block_size_bytes,first,second,figure,first_value,second_value,ratio,low,high,p,adjusted_p,"
                         "finding,gate,slower_bound_percent,slower_p,reason\r\n4096,A,B,iops,"));
  EXPECT_THAT(csv, HasSubstr(",,,,,not_tested,,,,a single write\r\n"));
}

TEST(Compare, RefusesMoreBlockSizesThanItCanTest) {
  const auto with_sizes = [](size_t sizes) {
    v1::Report report = Simulated(1, 1);
    v1::StepReport step = report.steps(0);
    step.clear_series();
    report.clear_steps();
    for (size_t i = 0; i < sizes; ++i) {
      *report.add_steps() = step;
      report.mutable_steps(static_cast<int>(i))->set_block_size_bytes(i + 1);
    }
    return Side({report});
  };
  const SideInput most = with_sizes(kMostBlockSizes);
  const SideInput more = with_sizes(kMostBlockSizes + 1);
  EXPECT_TRUE(Compare({most, more}, Quick()).ok());
  const absl::StatusOr<v1::Comparison> refused = Compare({more, more}, Quick());
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.status().message(),
            "not comparable: 101 block sizes were measured in all runs; compare at most 100 of them");
}

}  // namespace
}  // namespace plimsoll
