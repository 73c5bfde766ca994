// What the comparison promises, on simulated runs with fixed seeds.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/testing.h"
#include "tests/unit/compare/simulated_tables.h"

namespace plimsoll {
namespace {

// Fewer than a comparison takes, for time; p-values are multiples of 0.0005, which is enough for 15 rows at 5 %.
constexpr size_t kReplicates = 1'999;

class CompareProperty : public ::testing::TestWithParam<double> {};

TEST_P(CompareProperty, AtMostFiveOfAHundredTablesOfEqualPairsNameADifference) {
  SimulatedLaw law;
  law.phi = GetParam();
  const TableRates rates = CompareTables(law, 1, 100, kReplicates, 20261120);
  EXPECT_EQ(rates.tables, 100U);
  EXPECT_LE(rates.any_clear, 5U);
  EXPECT_LE(rates.any_by_chance, 5U) << "nor would they with --min-effect 0: it is not the 3 % that keeps it";
}

TEST_P(CompareProperty, ATenPercentShiftOfTheMeanIsFound) {
  SimulatedLaw law;
  law.phi = GetParam();
  const TableRates rates = CompareTables(law, 1.1, 100, kReplicates, 20261121);
  EXPECT_EQ(rates.means, 300U);
  EXPECT_GE(rates.means_longer, 285U);
  EXPECT_EQ(rates.any_clear, 100U);
}

TEST_P(CompareProperty, IntervalsHoldTheTruthAsOftenAsTheySay) {
  SimulatedLaw law;
  law.phi = GetParam();
  // 285 of 300 are expected; three standard deviations of that are 11.
  const TableRates means = CompareTables(law, 1.1, 100, kReplicates, 20261124);
  EXPECT_EQ(means.mean_intervals, 300U);
  EXPECT_GE(means.mean_covered, 274U);
  // Those of percentiles take longer: 114 of 120, and three standard deviations are 7.
  const TableRates tails = CompareTables(law, 1.1, 40, kReplicates, 20261125, Intervals::kMeanAndPercentiles);
  EXPECT_EQ(tails.p99_intervals, 120U);
  EXPECT_GE(tails.p99_covered, 107U);
}

INSTANTIATE_TEST_SUITE_P(Phi, CompareProperty, ::testing::Values(0.0, 0.3, 0.5),
                         [](const auto& phi) { return "0" + std::to_string(static_cast<int>(phi.param * 10)); });

TEST(CompareProperty, TailsThatComeInBurstsNameNoDifferenceEither) {
  SimulatedLaw law;
  law.phi = 0.5;
  law.bursts = true;
  law.restless_tail = true;
  EXPECT_LE(CompareTables(law, 1, 100, kReplicates, 20261122).any_clear, 5U);
}

TEST(CompareProperty, WhereSecondsDependTooMuchLongerRunsAreAskedFor) {
  SimulatedLaw law;
  law.phi = 0.9;
  const TableRates rates = CompareTables(law, 1, 40, kReplicates, 20261123);
  EXPECT_EQ(rates.run_longer, 40U);
}

}  // namespace
}  // namespace plimsoll
