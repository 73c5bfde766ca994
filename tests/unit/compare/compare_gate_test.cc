// The three answers of --fail-if-slower, on simulated runs with fixed seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/compare/compare_fixture.h"

namespace plimsoll {
namespace {

using testing::Compared;
using testing::Side;
using testing::SimulatedLaw;
using testing::SimulateReport;
using testing::Strings;

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

TEST(CompareGate, TellsWhatIsFarFromTheLimit) {
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
  return testing::SteadyReport(id, {kBlock}, 12, std::vector<uint64_t>(1'000'000'000 / latency_ns, latency_ns));
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
  const v1::Report first = testing::SteadyReport("a", {kBlock}, 12, latencies);
  for (size_t i = 0; i < 20; ++i) latencies[i] = 1'000'000;
  const v1::Report second = testing::SteadyReport("b", {kBlock}, 12, latencies);
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
  const v1::Report run = testing::SteadyReport("a", {kBlock}, 12, std::vector<uint64_t>(10, 100'000));
  const v1::Comparison comparison = Compared({Side({run}), Side({run})}, Gate(0.1));
  EXPECT_EQ(comparison.gate(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(Strings(comparison.undecided()),
              ::testing::Contains("B against A at 4 KiB: p99 was not tested: it is not known: too few writes"));
}

TEST(CompareGate, TakesItsFiguresByName) {
  EXPECT_THAT(*ParseGate("p99_9,iops"), ::testing::ElementsAre(v1::FIGURE_P99_9, v1::FIGURE_IOPS));
  for (const char* wrong : {"", "max", "p98", "iops,", "iops,avg,iops", "unspecified"}) {
    EXPECT_FALSE(ParseGate(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace plimsoll
