// The three answers of --fail-if-slower, on simulated runs with fixed seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "tests/testing.h"
#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

constexpr uint64_t kBlock = 4'096;

struct Answers {
  int pass = 0;
  int fail = 0;
  int undecided = 0;

  void Add(v1::Outcome gate) {
    if (gate == v1::OUTCOME_PASS) ++pass;
    if (gate == v1::OUTCOME_FAIL) ++fail;
    if (gate == v1::OUTCOME_INCONCLUSIVE) ++undecided;
  }
};

CompareSettings Gate(double limit) {
  CompareSettings settings;
  settings.replicates = 999;
  settings.percentile_intervals = false;
  settings.fail_if_slower = limit;
  return settings;
}

SimulatedLaw Slower(SimulatedLaw law, double slower) {
  law.latency_ns *= slower;
  law.writes /= slower;
  return law;
}

// Of pairs of runs of which the second is `slower` times as slow, with a limit of 10 %.
Answers Ask(double slower, int pairs, const std::vector<uint64_t>& block_sizes, uint64_t seed) {
  SimulatedLaw law;
  law.phi = 0.3;
  std::mt19937_64 random(seed);
  Answers answers;
  for (int i = 0; i < pairs; ++i) {
    const v1::Report first = SimulateReport(law, block_sizes, random);
    const v1::Report second = SimulateReport(Slower(law, slower), block_sizes, random);
    answers.Add(Compared({Side({first}), Side({second})}, Gate(0.1)).gate());
  }
  return answers;
}

TEST(CompareGate, OfASideThatIsJustAsSlowAsAllowedIsSeldomWrong) {
  // Neither wrong answer may come more than 5 times of 100; three standard deviations of 10 in 200 are 9.
  const Answers one = Ask(1.1, 200, {kBlock}, 20261126);
  EXPECT_LE(one.pass, 19);
  EXPECT_LE(one.fail, 19);
  EXPECT_EQ(one.pass + one.fail + one.undecided, 200);
  const Answers three = Ask(1.1, 100, {kBlock, 16'384, 65'536}, 20261127);
  EXPECT_LE(three.pass, 11);
  EXPECT_LE(three.fail, 11);
}

TEST(CompareGate, ReportsWhatIsFarFromTheLimit) {
  EXPECT_GE(Ask(1.0, 50, {kBlock, 65'536}, 20261128).pass, 45);
  EXPECT_GE(Ask(0.8, 50, {kBlock, 65'536}, 20261129).pass, 45);
  EXPECT_EQ(Ask(1.25, 50, {kBlock, 65'536}, 20261130).fail, 50);
}

v1::Report WithBlockSizes(const v1::Report& report, size_t count) {
  v1::Report part = report;
  while (static_cast<size_t>(part.steps_size()) > count) part.mutable_steps()->RemoveLast();
  return part;
}

TEST(CompareGate, MoreBlockSizesNeverMakeAPassOfAnythingElse) {
  SimulatedLaw law;
  law.phi = 0.3;
  std::mt19937_64 random(20261131);
  const std::vector<uint64_t> sizes = {kBlock, 16'384, 65'536, 262'144};
  Answers first;
  for (int i = 0; i < 40; ++i) {
    const double slower = 1.02 + 0.005 * i;
    const v1::Report a = SimulateReport(law, sizes, random);
    const v1::Report b = SimulateReport(Slower(law, slower), sizes, random);
    bool passed = true;
    for (size_t count = 1; count <= sizes.size(); ++count) {
      const v1::Outcome gate =
          Compared({Side({WithBlockSizes(a, count)}), Side({WithBlockSizes(b, count)})}, Gate(0.1)).gate();
      EXPECT_FALSE(gate == v1::OUTCOME_PASS && !passed) << "slower by " << slower << ", " << count << " block sizes";
      passed = gate == v1::OUTCOME_PASS;
      if (count == 1) first.Add(gate);
    }
  }
  EXPECT_GT(first.pass, 0) << "else this shows nothing";
  EXPECT_GT(first.undecided, 0);
  EXPECT_GT(first.fail, 0);
}

// A run whose writes are all of one latency, as many as one writer makes in a second.
v1::Report AlikeRun(const std::string& id, uint64_t latency_ns) {
  return tests::SteadyReport(id, {kBlock}, 12, std::vector<uint64_t>(1'000'000'000 / latency_ns, latency_ns));
}

TEST(CompareGate, TwoRunsASideWithALossOfSixtyPercentDoNotPass) {
  const std::vector<SideInput> sides = {Side({AlikeRun("a1", 1'000'000), AlikeRun("a2", 1'200'000)}),
                                        Side({AlikeRun("b1", 2'500'000), AlikeRun("b2", 3'100'000)})};
  const v1::Comparison comparison = Compared(sides, Gate(0.1));
  EXPECT_NE(comparison.gate(), v1::OUTCOME_PASS);
  // As many runs of the same tell it.
  const std::vector<SideInput> more = {
      Side({AlikeRun("a1", 1'000'000), AlikeRun("a2", 1'200'000), AlikeRun("a3", 1'100'000), AlikeRun("a4", 1'050'000),
            AlikeRun("a5", 1'150'000)}),
      Side({AlikeRun("b1", 2'500'000), AlikeRun("b2", 3'100'000), AlikeRun("b3", 2'700'000), AlikeRun("b4", 2'900'000),
            AlikeRun("b5", 2'800'000)})};
  EXPECT_EQ(Compared(more, Gate(0.1)).gate(), v1::OUTCOME_FAIL);
  EXPECT_EQ(Compared({more[0], more[0]}, Gate(0.3)).gate(), v1::OUTCOME_PASS);
}

TEST(CompareGate, AsksTheGatedFiguresAlone) {
  // The same IO/s with a tail ten times as long.
  std::vector<uint64_t> latencies(1'000, 100'000);
  const v1::Report first = tests::SteadyReport("a", {kBlock}, 12, latencies);
  for (size_t i = 0; i < 20; ++i) latencies[i] = 1'000'000;
  const v1::Report second = tests::SteadyReport("b", {kBlock}, 12, latencies);
  CompareSettings settings = Gate(0.3);
  settings.gate = {v1::FIGURE_P99};
  EXPECT_EQ(Compared({Side({first}), Side({second})}, settings).gate(), v1::OUTCOME_FAIL);
  settings.gate = {v1::FIGURE_IOPS, v1::FIGURE_MB_PER_SECOND, v1::FIGURE_AVG};
  const v1::Comparison comparison = Compared({Side({first}), Side({second})}, settings);
  EXPECT_EQ(comparison.gate(), v1::OUTCOME_PASS) << comparison.DebugString();
  for (const v1::ComparedRow& row : comparison.block_sizes(0).pairs(0).rows()) {
    const bool gated =
        row.figure() == v1::FIGURE_IOPS || row.figure() == v1::FIGURE_MB_PER_SECOND || row.figure() == v1::FIGURE_AVG;
    EXPECT_EQ(row.gate(), gated ? v1::OUTCOME_PASS : v1::OUTCOME_UNSPECIFIED);
    EXPECT_EQ(row.has_slower_bound_percent(), gated);
  }
}

TEST(CompareGate, AFigureThatIsNotKnownIsUndecided) {
  // 120 writes are too few for p99.
  const v1::Report run = tests::SteadyReport("a", {kBlock}, 12, std::vector<uint64_t>(10, 100'000));
  const v1::Comparison comparison = Compared({Side({run}), Side({run})}, Gate(0.1));
  EXPECT_EQ(comparison.gate(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(Strings(comparison.undecided()),
              ::testing::Contains("B against A at 4 KiB: p99 was not tested: it is not known: too few writes"));
}

// What is planted in the report must keep its 4 KiB from deciding anything, on either side.
template <typename Plant>
void ExpectNoAnswer(const Plant& plant, const std::string& why) {
  for (const double b_ns : {300'000.0, 1'000'000.0, 5'000'000.0}) {
    for (const bool in_first : {true, false}) {
      std::vector<SideInput> sides = {Side({AlikeRun("a", 1'000'000)}),
                                      Side({AlikeRun("b", static_cast<uint64_t>(b_ns))})};
      EXPECT_NE(Compared(sides, Gate(0.1)).gate(), v1::OUTCOME_INCONCLUSIVE) << "else this shows nothing";
      plant(sides[in_first ? 0 : 1].runs.front().report);
      const v1::Comparison comparison = Compared(sides, Gate(0.1));
      EXPECT_EQ(comparison.gate(), v1::OUTCOME_INCONCLUSIVE) << comparison.DebugString();
      EXPECT_THAT(Strings(comparison.slower()), ::testing::IsEmpty());
      const std::string reason = absl::StrReplaceAll(why, {{"$", in_first ? "A" : "B"}});
      EXPECT_THAT(Strings(comparison.undecided()),
                  ::testing::Contains("B against A at 4 KiB: IO/s may not be that of the storage: " + reason));
      const std::string words = comparison.block_sizes(0).pairs(0).summary();
      EXPECT_THAT(words, ::testing::StartsWith("Inconclusive: IO/s, mean, p50"));
      EXPECT_THAT(words, ::testing::HasSubstr(" (" + reason + ")."));
      for (const v1::ComparedRow& row : comparison.block_sizes(0).pairs(0).rows()) {
        if (row.figure() == v1::FIGURE_MAX) continue;
        EXPECT_EQ(row.finding(), v1::FINDING_INCONCLUSIVE) << row.DebugString();
        EXPECT_NE(row.gate(), v1::OUTCOME_PASS);
        EXPECT_NE(row.gate(), v1::OUTCOME_FAIL);
      }
    }
  }
}

void PlantBottleneck(v1::StepReport& step) {
  v1::HostLoadReport& load = *step.add_load();
  load.set_host("alpha");
  load.set_bottleneck("its writers waited 83.4 % of their time for a CPU");
}

TEST(CompareGate, ASideWhoseLoadGeneratorMayBeCpuBoundNeverPassesNorFails) {
  ExpectNoAnswer([](v1::Report& report) { PlantBottleneck(*report.mutable_steps(0)); },
                 "the load generator of $ may be CPU-bound");
}

TEST(CompareGate, ASideThatLostAHostInTheStepNeverPassesNorFails) {
  ExpectNoAnswer([](v1::Report& report) { report.mutable_hosts(0)->mutable_lost()->set_step(1); }, "$ lost a host");
}

TEST(CompareGate, BlockSizesOfOtherStepsStillDecide) {
  const auto run = [](const std::string& id, uint64_t latency_ns) {
    return tests::SteadyReport(id, {kBlock, 65'536}, 12, std::vector<uint64_t>(1'000'000'000 / latency_ns, latency_ns));
  };
  v1::Report slower = run("b", 5'000'000);
  PlantBottleneck(*slower.mutable_steps(1));
  const v1::Comparison fails = Compared({Side({run("a", 1'000'000)}), Side({slower})}, Gate(0.1));
  EXPECT_EQ(fails.gate(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Strings(fails.slower()), ::testing::Each(::testing::HasSubstr("B is slower than A at 4 KiB: ")));
  EXPECT_THAT(Strings(fails.undecided()), ::testing::Each(::testing::HasSubstr("at 64 KiB: ")));
  // A host that is lost is missing in all later steps, too.
  v1::Report lost = run("b", 5'000'000);
  lost.mutable_hosts(0)->mutable_lost()->set_step(2);
  EXPECT_EQ(Compared({Side({run("a", 1'000'000)}), Side({lost})}, Gate(0.1)).gate(), v1::OUTCOME_FAIL);
  lost.mutable_hosts(0)->mutable_lost()->set_step(1);
  EXPECT_EQ(Compared({Side({run("a", 1'000'000)}), Side({lost})}, Gate(0.1)).gate(), v1::OUTCOME_INCONCLUSIVE);
  // Between the steps, after the first.
  lost.mutable_hosts(0)->mutable_lost()->set_step(0);
  lost.mutable_steps(0)->mutable_start()->set_seconds(100);
  lost.mutable_hosts(0)->mutable_lost()->mutable_at()->set_seconds(150);
  lost.mutable_steps(1)->mutable_start()->set_seconds(200);
  const v1::Comparison between = Compared({Side({run("a", 1'000'000)}), Side({lost})}, Gate(0.1));
  EXPECT_EQ(between.gate(), v1::OUTCOME_FAIL);
  EXPECT_EQ(between.block_sizes(1).pairs(0).rows(0).finding(), v1::FINDING_INCONCLUSIVE);
}

TEST(CompareGate, TakesItsFiguresByName) {
  EXPECT_THAT(*ParseGate("p99_9,iops"), ::testing::ElementsAre(v1::FIGURE_P99_9, v1::FIGURE_IOPS));
  for (const char* wrong : {"", "max", "p98", "iops,", "iops,avg,iops", "unspecified"}) {
    EXPECT_FALSE(ParseGate(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace plimsoll
