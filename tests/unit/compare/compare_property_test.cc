// What the comparison promises, on simulated runs with fixed seeds.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/unit/compare/simulated_tables.h"

namespace plimsoll {
namespace {

using testing::CompareTables;
using testing::SimulatedLaw;
using testing::TableRates;

// Fewer than a comparison takes, for time; p-values are multiples of 0.0005, which is enough for 15 rows at 5 %.
constexpr size_t kReplicates = 1'999;

class CompareProperty : public ::testing::TestWithParam<double> {};

TEST_P(CompareProperty, AtMostFiveOfAHundredTablesOfEqualPairsNameADifference) {
  SimulatedLaw law;
  law.phi = GetParam();
  const TableRates rates = CompareTables(law, 1, 100, kReplicates, 20261120);
  EXPECT_EQ(rates.tables, 100U);
  EXPECT_LE(rates.any_clear, 5U);
}

TEST_P(CompareProperty, ATenPercentShiftOfTheMeanIsFound) {
  SimulatedLaw law;
  law.phi = GetParam();
  const TableRates rates = CompareTables(law, 1.1, 100, kReplicates, 20261121);
  EXPECT_EQ(rates.means, 300U);
  EXPECT_GE(rates.means_longer, 285U);
  EXPECT_EQ(rates.any_clear, 100U);
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
