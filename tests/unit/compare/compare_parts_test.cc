// Comparing the parts of a write, and the reads beside the writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/compare/compare.h"
#include "controller/compare/compare_render.h"
#include "controller/compare/step_data.h"
#include "controller/render/json.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

uint64_t ShareOfNs(uint64_t ns, double share) {
  return static_cast<uint64_t>(share * static_cast<double>(ns));
}

// Adds a part that took that share of each write of the step.
void AddPart(const std::string& name, double share, v1::StepReport& step) {
  v1::OperationReport& part = *step.add_operations();
  part.set_name(name);
  for (const v1::ScopeReport& scope : step.scopes()) {
    v1::OperationScopeReport& own = *part.add_scopes();
    own.set_kind(scope.kind());
    v1::LatencyReport& latency = *own.mutable_latency();
    latency = scope.latency();
    latency.set_sum_ns(ShareOfNs(latency.sum_ns(), share));
    latency.set_avg_ns(share * latency.avg_ns());
    latency.set_p50_ns(ShareOfNs(latency.p50_ns(), share));
    latency.set_p99_ns(ShareOfNs(latency.p99_ns(), share));
    latency.set_p99_9_ns(ShareOfNs(latency.p99_9_ns(), share));
    latency.set_max_ns(ShareOfNs(latency.max_ns(), share));
  }
  for (const v1::SeriesReport& series : step.series()) {
    v1::SeriesReport& own = *part.add_series();
    own = series;
    for (uint64_t& sum_ns : *own.mutable_latency_sum_ns()) sum_ns = ShareOfNs(sum_ns, share);
  }
}

// The report as --sync fdatasync has it. `sync`: the share of each write that was its sync; the rest was its call.
v1::Report WithParts(v1::Report report, double sync) {
  for (v1::StepReport& step : *report.mutable_steps()) {
    AddPart("write_call", 1 - sync, step);
    AddPart("sync", sync, step);
  }
  return report;
}

std::vector<v1::Figure> FiguresOf(const v1::PairComparison& pair) {
  std::vector<v1::Figure> figures;
  for (const v1::ComparedRow& row : pair.rows()) figures.push_back(row.figure());
  return figures;
}

const v1::ComparedRow& FirstRow(const v1::PairComparison& pair, v1::Figure figure) {
  static const v1::ComparedRow none;
  const auto found = std::find_if(pair.rows().begin(), pair.rows().end(),
                                  [figure](const v1::ComparedRow& row) { return row.figure() == figure; });
  if (found != pair.rows().end()) return *found;
  ADD_FAILURE() << "no row " << figure << " in " << pair.DebugString();
  return none;
}

TEST(ComparedParts, DifferSignificantlyWhereTheWritesDoNot) {
  const v1::Comparison comparison =
      Compared({Side({WithParts(Simulated(1, 1), 0.7)}), Side({WithParts(Simulated(1, 2), 0.9)})});
  EXPECT_THAT(
      comparison.headline(),
      AllOf(StartsWith("B shows no significant difference from A at all 2 block sizes ("), Not(HasSubstr("sync"))));
  EXPECT_EQ(comparison.tests(), 14U) << "at each block size five of the writes, and the mean of each part";
  ASSERT_EQ(comparison.block_sizes_size(), 2);
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    EXPECT_EQ(block_size.pairs(0).rows_size(), 7);
    ASSERT_EQ(block_size.operations_size(), 2);
    EXPECT_EQ(block_size.operations(0).name(), "write_call");
    EXPECT_EQ(block_size.operations(1).name(), "sync");
    const v1::PairComparison& call = block_size.operations(0).pairs(0);
    EXPECT_EQ(FirstRow(call, v1::FIGURE_AVG).finding(), v1::FINDING_BETTER);
    EXPECT_THAT(call.summary(), StartsWith("The write_call is faster on B: mean by "));
    const v1::PairComparison& sync = block_size.operations(1).pairs(0);
    EXPECT_THAT(FiguresOf(sync),
                ElementsAre(v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99, v1::FIGURE_P99_9, v1::FIGURE_MAX));
    const v1::ComparedRow& mean = FirstRow(sync, v1::FIGURE_AVG);
    EXPECT_EQ(mean.finding(), v1::FINDING_WORSE);
    EXPECT_NEAR(mean.ratio(), 0.9 / 0.7, 0.1);
    EXPECT_GT(mean.low(), 1.03);
    EXPECT_LT(mean.adjusted_p(), 0.05);
    EXPECT_THAT(sync.summary(), StartsWith("The sync is slower on B: mean by "));
  }
}

TEST(ComparedParts, WithoutDistributionsBySecondTheirPercentilesAreShownAndNotTested) {
  const v1::Comparison comparison =
      Compared({Side({WithParts(Simulated(1, 1), 0.7)}), Side({WithParts(Simulated(1, 2), 0.9)})});
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 2);
  const v1::PairComparison& sync = comparison.block_sizes(0).operations(1).pairs(0);
  const v1::ComparedRow& p99 = FirstRow(sync, v1::FIGURE_P99);
  EXPECT_NEAR(p99.ratio(), 0.9 / 0.7, 0.3);
  EXPECT_EQ(p99.finding(), v1::FINDING_NOT_TESTED);
  EXPECT_FALSE(p99.has_low());
  EXPECT_EQ(p99.reason(), "A: reports have no distributions of a part by second");
  EXPECT_THAT(sync.summary(),
              HasSubstr("Not tested: p50, p99 and p99.9 (A: reports have no distributions of a part by second)."));
}

TEST(ComparedParts, AreInTheTextTheCsvAndTheJson) {
  const v1::Comparison comparison =
      Compared({Side({WithParts(Simulated(1, 1), 0.7)}), Side({WithParts(Simulated(1, 2), 0.9)})});
  const std::string text = RenderCompareText(comparison);
  EXPECT_THAT(text, AllOf(HasSubstr("latency in ms"), HasSubstr("write_call in us"), HasSubstr("sync in ms")));
  EXPECT_THAT(text, HasSubstr("  In words  The sync is slower on B: "));
  const std::string csv = RenderCompareCsv(comparison);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * (7 + 5 + 5));
  EXPECT_THAT(csv, AllOf(HasSubstr("\r\n4096,A,B,avg,"), HasSubstr("\r\n4096,A,B,write_call_max,"),
                         HasSubstr("\r\n65536,A,B,sync_p99_9,")));
  EXPECT_THAT(RenderJson(comparison), HasSubstr("\"name\": \"sync\""));
}

// Eight rounds on a machine that becomes slower. Writes of both sides take as long, but those of B sync for longer.
std::vector<SideInput> RoundsWithParts() {
  std::vector<SideInput> sides(2);
  for (size_t round = 0; round < 8; ++round) {
    const double machine = 1 + 0.2 * static_cast<double>(round);
    for (size_t side = 0; side < 2; ++side) {
      v1::Report report = WithParts(Simulated(machine, 100 * round + side, 0.2, 20), side == 0 ? 0.7 : 0.9);
      report.mutable_run()->set_id(absl::StrCat(round, side));
      sides[side].runs.push_back({absl::StrCat("round-", round, side == 0 ? "-a" : "-b"), report});
    }
  }
  return sides;
}

TEST(ComparedParts, AreTestedByRoundsAndLeaveTheGateToTheWrites) {
  std::vector<SideInput> sides = RoundsWithParts();
  CompareSettings settings = Quick();
  settings.paired.emplace();
  settings.fail_if_slower = 0.05;
  const v1::Comparison comparison = Compared(sides, settings);
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 2);
  EXPECT_EQ(FirstRow(comparison.block_sizes(0).pairs(0), v1::FIGURE_AVG).finding(), v1::FINDING_NOT_CLEAR);
  for (const v1::Figure figure : {v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99}) {
    const v1::ComparedRow& row = FirstRow(comparison.block_sizes(0).operations(1).pairs(0), figure);
    EXPECT_EQ(row.finding(), v1::FINDING_WORSE) << row.DebugString();
    EXPECT_EQ(row.rounds().ratio_size(), 8);
    EXPECT_EQ(row.gate(), v1::OUTCOME_UNSPECIFIED);
    EXPECT_FALSE(row.has_slower_bound_percent());
  }
  EXPECT_THAT(comparison.headline(), Not(HasSubstr("sync")));

  for (SideInput& side : sides) {
    for (RunInput& run : side.runs) {
      for (v1::StepReport& step : *run.report.mutable_steps()) step.clear_operations();
    }
  }
  const v1::Comparison without = Compared(sides, settings);
  EXPECT_NE(without.gate(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(comparison.gate(), without.gate());
  EXPECT_EQ(comparison.gate_summary(), without.gate_summary());
  EXPECT_EQ(Strings(comparison.slower()), Strings(without.slower()));
  EXPECT_EQ(Strings(comparison.undecided()), Strings(without.undecided()));
  for (const v1::Figure figure : {v1::FIGURE_IOPS, v1::FIGURE_AVG, v1::FIGURE_P99}) {
    EXPECT_EQ(IsDecided(comparison, {figure}), IsDecided(without, {figure}));
  }
}

TEST(ComparedParts, WholeRunsTestTheirPercentilesToo) {
  const auto run = [](uint64_t seed, double sync) { return WithParts(Simulated(1, seed), sync); };
  const v1::Comparison comparison = Compared({Side({run(1, 0.7), run(2, 0.7), run(3, 0.7), run(4, 0.7)}),
                                              Side({run(5, 0.9), run(6, 0.9), run(7, 0.9), run(8, 0.9)})});
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 2);
  EXPECT_EQ(comparison.block_sizes(0).operations(1).sides(1).runs_size(), 4);
  for (const v1::Figure figure : {v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99}) {
    EXPECT_TRUE(FirstRow(comparison.block_sizes(0).operations(1).pairs(0), figure).counted());
  }
}

TEST(ComparedParts, OfOneSideAloneAreADifferenceAndTheWritesAreComparedAsEver) {
  const std::vector<SideInput> plain = {Side({Simulated(1, 1)}), Side({Simulated(1.2, 2)})};
  const v1::Comparison expected = Compared(plain);
  EXPECT_THAT(expected.differences(), IsEmpty());
  EXPECT_THAT(RenderJson(expected), Not(HasSubstr("operations")));
  for (const size_t with : {size_t{0}, size_t{1}}) {
    std::vector<SideInput> sides = plain;
    v1::Report& report = sides[with].runs.front().report;
    report = WithParts(report, 0.7);
    const v1::Comparison comparison = Compared(sides);
    ASSERT_EQ(comparison.differences_size(), 1);
    EXPECT_EQ(comparison.differences(0).what(), "parts of a write");
    std::vector<std::string> values = {"none", "none"};
    values[with] = "write_call, sync";
    EXPECT_EQ(Strings(comparison.differences(0).values()), values);
    EXPECT_THAT(Strings(comparison.limits()),
                Contains("Not compared, because not every run measured these parts of each write: sync, write_call."));
    EXPECT_EQ(comparison.headline(), expected.headline());
    ASSERT_EQ(comparison.block_sizes_size(), expected.block_sizes_size());
    for (int i = 0; i < expected.block_sizes_size(); ++i) {
      EXPECT_EQ(comparison.block_sizes(i).SerializeAsString(), expected.block_sizes(i).SerializeAsString());
    }
  }
}

TEST(ComparedParts, ThatBothSidesHaveAreComparedAndTheOthersNamed) {
  v1::Report second = WithParts(Simulated(1, 2), 0.9);
  for (v1::StepReport& step : *second.mutable_steps()) step.mutable_operations()->DeleteSubrange(0, 1);
  const v1::Comparison comparison = Compared({Side({WithParts(Simulated(1, 1), 0.7)}), Side({second})});
  for (const v1::BlockSizeComparison& block_size : comparison.block_sizes()) {
    ASSERT_EQ(block_size.operations_size(), 1);
    EXPECT_EQ(block_size.operations(0).name(), "sync");
  }
  ASSERT_EQ(comparison.differences_size(), 1);
  EXPECT_THAT(Strings(comparison.differences(0).values()), ElementsAre("write_call, sync", "sync"));
  EXPECT_THAT(Strings(comparison.limits()),
              Contains("Not compared, because not every run measured these parts of each write: write_call."));
}

// As where only some of the hosts sync each write: their times are not those of the cluster's writes.
TEST(ComparedParts, OfSomeWritesAloneAreNotCompared) {
  v1::Report partial = WithParts(Simulated(1, 1), 0.7);
  v1::OperationReport& sync = *partial.mutable_steps(0)->mutable_operations(1);
  for (v1::OperationScopeReport& scope : *sync.mutable_scopes()) {
    scope.mutable_latency()->set_count(scope.latency().count() / 2);
  }
  const v1::Comparison comparison = Compared({Side({partial}), Side({WithParts(Simulated(1, 2), 0.7)})});
  ASSERT_EQ(comparison.block_sizes_size(), 2);
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 1);
  EXPECT_EQ(comparison.block_sizes(0).operations(0).name(), "write_call");
  EXPECT_EQ(comparison.block_sizes(1).operations_size(), 2);
  EXPECT_THAT(Strings(comparison.limits()),
              Contains("Not compared, because not every run measured these parts of each write: sync at 4 KiB."));
}

// A damaged report: bytes, but no write that completed.
TEST(ComparedParts, AReportWithBytesAndWithoutCompletedWritesHasNoRowOfMegabytes) {
  v1::Report damaged = Simulated(1, 1);
  for (v1::StepReport& step : *damaged.mutable_steps()) {
    step.set_block_size_bytes(0);
    for (v1::ScopeReport& scope : *step.mutable_scopes()) {
      scope.mutable_closing()->set_writes(scope.latency().count());
      scope.set_writes(0);
    }
  }
  const v1::Comparison comparison = Compared({Side({damaged}), Side({damaged})});
  for (const v1::BlockSizeComparison& size : comparison.block_sizes()) {
    for (const v1::ComparedRow& row : size.pairs(0).rows()) EXPECT_NE(row.figure(), v1::FIGURE_MB_PER_SECOND);
  }
}

TEST(ComparedParts, PercentilesOfTooFewTimesAreNoRows) {
  const auto run = [](const std::string& id) {
    return WithParts(SteadyReport(id, {4'096}, 60, {100'000, 200'000, 300'000}), 0.5);  // 180 writes
  };
  const v1::Comparison comparison = Compared({Side({run("a")}), Side({run("b")})});
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 2);
  EXPECT_THAT(FiguresOf(comparison.block_sizes(0).operations(1).pairs(0)),
              ElementsAre(v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_MAX));
}

TEST(ComparedParts, OfRepeatedStepsAreTakenTogether) {
  v1::Report twice = WithParts(SteadyReport("a", {4'096, 4'096}, 30, {100'500, 201'000}), 0.5);
  for (v1::StepReport& step : *twice.mutable_steps()) {
    for (v1::OperationReport& part : *step.mutable_operations()) {
      v1::DistributionReport& distribution = *part.add_distributions();
      distribution.set_kind(v1::SCOPE_KIND_CLUSTER);
      for (const uint64_t from : {50'176U, 100'352U}) {
        distribution.add_from_ns(from);
        distribution.add_count(30);
      }
    }
  }
  const v1::Comparison comparison = Compared({Side({twice}), Side({twice})});
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 2);
  const v1::RunFigures& figures = comparison.block_sizes(0).operations(1).sides(0).runs(0);
  EXPECT_EQ(figures.repetitions(), 2U);
  EXPECT_EQ(figures.writes(), 120U);
  EXPECT_EQ(figures.seconds(), 60U);
  EXPECT_EQ(figures.p50_ns(), 50'176 + 255) << "highest value of a bucket of a 128th of its power of two";
  EXPECT_FALSE(figures.has_iops());
  EXPECT_FALSE(figures.has_mb_per_second());
}

TEST(ComparedParts, AreServiceTimesAlsoWhereTheWritesHaveResponseTimes) {
  const std::vector<SideInput> service = {Side({WithParts(Rated(Simulated(1, 1)), 0.7)}),
                                          Side({WithParts(Rated(Simulated(1.2, 2)), 0.7)})};
  std::vector<SideInput> response = service;
  UseResponseTimes(response);
  const v1::Comparison expected = Compared(service);
  const v1::Comparison comparison = Compared(response);
  EXPECT_TRUE(comparison.response_times());
  EXPECT_GT(comparison.block_sizes(0).sides(0).runs(0).avg_ns(), expected.block_sizes(0).sides(0).runs(0).avg_ns());
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(comparison.block_sizes(0).operations(i).sides(0).SerializeAsString(),
              expected.block_sizes(0).operations(i).sides(0).SerializeAsString());
  }
  EXPECT_THAT(RenderCompareText(comparison), AllOf(HasSubstr("response time in "), HasSubstr("sync in ")));
}

// Report of a mixed run, whose reads have the figures of the writes of `reads`.
v1::Report WithReads(v1::Report report, const v1::Report& reads) {
  report.mutable_plan()->set_read_percent(40);
  for (int i = 0; i < report.steps_size(); ++i) {
    const v1::StepReport& from = reads.steps(i);
    v1::OperationReport& operation = *report.mutable_steps(i)->add_operations();
    operation.set_name("read");
    for (const v1::ScopeReport& scope : from.scopes()) {
      v1::OperationScopeReport& own = *operation.add_scopes();
      own.set_kind(scope.kind());
      *own.mutable_latency() = scope.latency();
      own.mutable_throughput()->set_count(scope.writes());
      own.mutable_throughput()->set_bytes(scope.bytes());
      own.mutable_throughput()->set_iops(scope.iops());
      own.mutable_throughput()->set_mb_per_second(scope.mb_per_second());
    }
    *operation.mutable_series() = from.series();
  }
  return report;
}

// Two sides with equal writes. On A reads are five times as fast as writes; on B they take a fifth longer than on A.
std::vector<SideInput> SidesWithReads() {
  return {Side({WithReads(Simulated(1, 1), Simulated(0.2, 3))}),
          Side({WithReads(Simulated(1, 2), Simulated(0.24, 4))})};
}

TEST(ComparedReads, AreAnOperationOfTheirOwnWithRates) {
  const v1::Comparison comparison = Compared(SidesWithReads());
  EXPECT_THAT(comparison.headline(),
              AllOf(StartsWith("B shows no significant difference from A"), Not(HasSubstr("read"))));
  EXPECT_EQ(comparison.tests(), 14U) << "at each block size five of the writes, IO/s and the mean of the reads";
  ASSERT_EQ(comparison.block_sizes_size(), 2);
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 1);
  EXPECT_EQ(comparison.block_sizes(0).operations(0).name(), "read");
  const v1::PairComparison& reads = comparison.block_sizes(0).operations(0).pairs(0);
  EXPECT_THAT(FiguresOf(reads), ElementsAre(v1::FIGURE_IOPS, v1::FIGURE_MB_PER_SECOND, v1::FIGURE_AVG, v1::FIGURE_P50,
                                            v1::FIGURE_P99, v1::FIGURE_P99_9, v1::FIGURE_MAX));
  const v1::ComparedRow& iops = FirstRow(reads, v1::FIGURE_IOPS);
  EXPECT_NEAR(iops.first(), 10'000, 500) << "of the reads, not of the 2,000 writes";
  EXPECT_NEAR(iops.ratio(), 0.2 / 0.24, 0.05);
  EXPECT_EQ(iops.finding(), v1::FINDING_WORSE);
  const v1::ComparedRow& megabytes = FirstRow(reads, v1::FIGURE_MB_PER_SECOND);
  EXPECT_NEAR(megabytes.first(), iops.first() * 4'096 / 1e6, 1e-6);
  EXPECT_EQ(megabytes.finding(), v1::FINDING_WORSE);
  EXPECT_EQ(FirstRow(reads, v1::FIGURE_AVG).finding(), v1::FINDING_WORSE);
  EXPECT_EQ(FirstRow(reads, v1::FIGURE_P99).finding(), v1::FINDING_NOT_TESTED);
  EXPECT_EQ(FirstRow(reads, v1::FIGURE_P99).reason(), "A: reports have no distributions of reads by second");
  EXPECT_EQ(FirstRow(reads, v1::FIGURE_MAX).reason(), "a single read");
  EXPECT_THAT(reads.summary(),
              AllOf(StartsWith("B completes "), HasSubstr(" fewer reads per second than A"),
                    HasSubstr("Reads are slower on B: mean by "), Not(HasSubstr("write")), Not(HasSubstr("Write"))));
}

TEST(ComparedReads, AreInTheTextAndTheCsv) {
  const v1::Comparison comparison = Compared(SidesWithReads());
  EXPECT_THAT(RenderCompareText(comparison), AllOf(HasSubstr("write latency in ms"), HasSubstr("read latency in us")));
  const std::string csv = RenderCompareCsv(comparison);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * (7 + 7));
  EXPECT_THAT(csv, AllOf(HasSubstr("\r\n4096,A,B,iops,"), HasSubstr("\r\n4096,A,B,read_iops,"),
                         HasSubstr("\r\n4096,A,B,read_mb_per_second,"), HasSubstr("\r\n65536,A,B,read_p99_9,")));
}

TEST(ComparedReads, LeaveTheGateToTheWrites) {
  CompareSettings settings = Quick();
  settings.fail_if_slower = 0.1;
  const v1::Report writes = Simulated(1, 1);
  const v1::Comparison comparison =
      Compared({Side({WithReads(writes, Simulated(0.2, 3))}), Side({WithReads(writes, Simulated(0.3, 4))})}, settings);
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 1);
  const v1::ComparedRow& iops = FirstRow(comparison.block_sizes(0).operations(0).pairs(0), v1::FIGURE_IOPS);
  EXPECT_EQ(iops.finding(), v1::FINDING_WORSE);
  EXPECT_EQ(iops.gate(), v1::OUTCOME_UNSPECIFIED);
  EXPECT_EQ(comparison.gate(), v1::OUTCOME_PASS) << comparison.gate_summary();
}

// 20 s with two writes and one read a second, and two reads in flight at the end. The blocks have several sizes.
TEST(ComparedReads, RatesAreOfTheReadsThatCompletedAndOfTheirBytes) {
  v1::Report report =
      WithReads(SteadyReport("a", {4'096}, 20, {100'500, 201'000}), SteadyReport("r", {4'096}, 20, {50'000}));
  v1::StepReport& step = *report.mutable_steps(0);
  step.set_block_size_bytes(0);
  step.mutable_scopes(0)->mutable_closing()->set_writes(1);
  v1::OperationScopeReport& reads = *step.mutable_operations(0)->mutable_scopes(0);
  reads.mutable_latency()->set_count(22);
  reads.mutable_throughput()->set_bytes(20 * 22'528);
  for (const bool rated : {false, true}) {
    std::vector<SideInput> sides = {Side({rated ? Rated(report) : report}), Side({rated ? Rated(report) : report})};
    UseResponseTimes(sides);
    const v1::Comparison comparison = Compared(sides);
    ASSERT_EQ(comparison.response_times(), rated);
    ASSERT_EQ(comparison.block_sizes(0).operations_size(), 1);
    const v1::RunFigures& figures = comparison.block_sizes(0).operations(0).sides(0).runs(0);
    EXPECT_EQ(figures.writes(), 20U);
    EXPECT_EQ(figures.closing_writes(), 2U);
    EXPECT_DOUBLE_EQ(figures.iops(), 1);
    EXPECT_DOUBLE_EQ(figures.mb_per_second(), 0.022528);
  }
}

TEST(ComparedReads, ThatNotEveryRunMeasuredAreNamedAndTheWritesCompared) {
  CompareSettings settings = Quick();
  settings.differs = {"read-percent"};
  const v1::Report mix = WithReads(Simulated(1, 1), Simulated(0.2, 3));
  const v1::Comparison comparison = Compared({Side({mix}), Side({Simulated(1, 2)})}, settings);
  ASSERT_EQ(comparison.block_sizes_size(), 2);
  EXPECT_EQ(comparison.block_sizes(0).operations_size(), 0);
  EXPECT_EQ(comparison.block_sizes(0).pairs(0).rows_size(), 7);
  ASSERT_EQ(comparison.differences_size(), 1) << "reads are no part of a write";
  EXPECT_EQ(comparison.differences(0).what(), "--read-percent");
  EXPECT_THAT(Strings(comparison.differences(0).values()), ElementsAre("40", "0"));
  EXPECT_THAT(Strings(comparison.limits()), Contains("Reads are not compared, because not every run measured them."));

  v1::Report without = mix;
  without.mutable_steps(0)->mutable_operations(0)->mutable_scopes(0)->mutable_latency()->set_count(0);
  const v1::Comparison at_one_size = Compared({Side({mix}), Side({without})});
  EXPECT_EQ(at_one_size.block_sizes(0).operations_size(), 0);
  EXPECT_EQ(at_one_size.block_sizes(1).operations_size(), 1);
  EXPECT_THAT(Strings(at_one_size.limits()),
              Contains("Reads are not compared at 4 KiB, because not every run measured them."));
}

TEST(ComparedReads, AreServiceTimesAlsoWhereTheWritesHaveResponseTimes) {
  std::vector<SideInput> sides = SidesWithReads();
  const v1::Comparison expected = Compared(sides);
  for (SideInput& side : sides) {
    v1::Report& report = side.runs.front().report;
    report = Rated(report);
    report.mutable_hosts(0)->mutable_workload()->set_rate_per_second(100);
  }
  UseResponseTimes(sides);
  const v1::Comparison comparison = Compared(sides);
  ASSERT_EQ(comparison.block_sizes(0).operations_size(), 1);
  EXPECT_EQ(comparison.block_sizes(0).operations(0).sides(0).SerializeAsString(),
            expected.block_sizes(0).operations(0).sides(0).SerializeAsString());
  EXPECT_THAT(RenderCompareText(comparison),
              AllOf(HasSubstr("write response time in "), HasSubstr("read latency in ")));
  EXPECT_THAT(Strings(comparison.limits()),
              Contains("Open loop (fixed rate): latencies are response times, from a write's scheduled start to its "
                       "end; --times service compares the times of the write call. The times of reads are service "
                       "times in any case."));
}

TEST(ComparedReads, ThatAreAllOperationsAreNeverCalledWrites) {
  std::vector<SideInput> sides = {Side({Rated(Simulated(1, 1))}), Side({Rated(Simulated(1.2, 2))})};
  for (SideInput& side : sides) {
    v1::Report& report = side.runs.front().report;
    report.mutable_plan()->set_read_percent(100);
    report.mutable_hosts(0)->mutable_workload()->set_rate_per_second(100);
  }
  UseResponseTimes(sides);
  const v1::Comparison comparison = Compared(sides);
  EXPECT_THAT(comparison.headline(), HasSubstr(" fewer reads per second, "));
  EXPECT_THAT(comparison.block_sizes(0).pairs(0).summary(), HasSubstr("Reads are slower on B: "));
  EXPECT_THAT(
      Strings(comparison.limits()),
      Contains("Open loop (fixed rate): latencies are response times, from a read's scheduled start to its end; "
               "--times service compares the times of the read call."));
  EXPECT_THAT(RenderCompareText(comparison), AllOf(Not(HasSubstr("write")), Not(HasSubstr("Write"))));
  EXPECT_THAT(RenderCompareCsv(comparison), AllOf(HasSubstr("a single read\r\n"), Not(HasSubstr("write"))));
  EXPECT_THAT(ComparePageData(sides, comparison), HasSubstr("\"plan\":{\"read_percent\":100}"));
}

}  // namespace
}  // namespace plimsoll
