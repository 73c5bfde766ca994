// What the statistics of rounds promise: exact p-values and intervals of small cases, and how often they are wrong and
// how often they find a difference, on simulated rounds with fixed seeds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "controller/statistics/run_statistics.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

const std::vector<Look> kSixRounds = {{6, 1}};

TEST(PairedRounds, EveryPlannedLookCanFindSomething) {
  for (size_t planned = kFewestRounds; planned <= kMostRounds; ++planned) {
    const std::vector<Look> looks = PlannedLooks(planned);
    EXPECT_EQ(looks.back().rounds, planned);
    double shares = 0;
    for (const Look& look : looks) {
      shares += look.share;
      EXPECT_GT(0.05 * look.share * std::exp2(static_cast<double>(look.rounds)), 2) << look.rounds << " of " << planned;
    }
    EXPECT_NEAR(shares, 1, 1e-12);
    EXPECT_TRUE(std::is_sorted(looks.begin(), looks.end(), [](auto& a, auto& b) { return a.rounds < b.rounds; }));
  }
}

TEST(PairedRounds, SixDifferencesOfOneSignHaveTwoOf64Assignments) {
  EXPECT_THAT(PairedPValues({{1, 2, 3, 4, 5, 6}}, kSixRounds, Tail::kBoth), ElementsAre(2.0 / 64));
  EXPECT_THAT(PairedPValues({{1, 2, 3, 4, 5, 6}}, kSixRounds, Tail::kAbove), ElementsAre(1.0 / 64));
  EXPECT_THAT(PairedPValues({{-1, -2, -3, -4, -5, -6}}, kSixRounds, Tail::kAbove), ElementsAre(1.0));
  // Turning 1 alone, or all but 1, goes at least as far as what was seen: 4 of 64.
  EXPECT_THAT(PairedPValues({{-1, 2, 3, 4, 5, 6}}, kSixRounds, Tail::kBoth), ElementsAre(4.0 / 64));
  EXPECT_THAT(PairedPValues({{0, 0, 0, 0, 0, 0}}, kSixRounds, Tail::kBoth), ElementsAre(1.0));
}

TEST(PairedRounds, BeforeTheFirstLookNothingIsClaimed) {
  const RoundDifferences five = {1, 1, 1, 1, 1};
  EXPECT_THAT(PairedPValues({five}, kSixRounds, Tail::kBoth), ElementsAre(1.0));
  EXPECT_TRUE(std::isinf(PairedConfidence(five, kSixRounds, 0.05, Tail::kBoth).high));
  // Nor from rounds between two looks.
  EXPECT_THAT(PairedPValues({RoundDifferences(7, 1.0)}, {{6, 0.7}, {8, 0.3}}, Tail::kBoth),
              ElementsAre(DoubleNear(2.0 / 64 / 0.7, 1e-12)));
}

TEST(PairedRounds, AFigureWithoutADifferenceStaysSoBesideOneWithIt) {
  const RoundDifferences clear = {1, 1.1, 0.9, 1, 1.05, 0.95, 1.02, 0.98};
  const RoundDifferences none = {0.3, -0.2, 0.1, -0.35, 0.25, -0.1, 0.05, -0.05};
  const std::vector<double> p = PairedPValues({clear, none}, {{8, 1}}, Tail::kBoth);
  EXPECT_LE(p[0], 4.0 / 256);
  EXPECT_GE(p[1], 0.5);
}

TEST(PairedRounds, IntervalsEndWhereTheTestBeginsToReject) {
  // At 5 %, three of 64 assignments may go as far: the two of one sign.
  const PairedInterval six = PairedConfidence({1, 2, 3, 4, 5, 6}, kSixRounds, 0.05, Tail::kBoth);
  EXPECT_DOUBLE_EQ(six.low, 1);
  EXPECT_DOUBLE_EQ(six.high, 6);
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal(0.3, 1);
  for (int trial = 0; trial < 200; ++trial) {
    RoundDifferences differences(8);
    for (double& difference : differences) difference = normal(generator);
    const std::vector<Look> looks = PlannedLooks(8);
    const PairedInterval interval = PairedConfidence(differences, looks, 0.05, Tail::kBoth);
    const PairedInterval above = PairedConfidence(differences, looks, 0.05, Tail::kAbove);
    const auto p_without = [&](double difference, Tail tail, double sign) {
      RoundDifferences rest = differences;
      for (double& value : rest) value = sign * (value - difference);
      return PairedPValues({rest}, looks, tail).front();
    };
    EXPECT_GT(p_without(interval.low + 1e-6, Tail::kBoth, 1), 0.05);
    EXPECT_LE(p_without(interval.low - 1e-6, Tail::kBoth, 1), 0.05);
    EXPECT_GT(p_without(interval.high - 1e-6, Tail::kBoth, 1), 0.05);
    EXPECT_LE(p_without(interval.high + 1e-6, Tail::kBoth, 1), 0.05);
    EXPECT_GT(p_without(above.high - 1e-6, Tail::kAbove, -1), 0.05);
    EXPECT_LE(p_without(above.high + 1e-6, Tail::kAbove, -1), 0.05);
  }
}

// How a machine's speed wanders while rounds are measured, and how the figures of one measurement scatter around it.
struct Drift {
  // From -linear to +linear over all rounds.
  double linear = 0;
  // Amplitude of a sine of random phase, whose period is drawn anew for each trial: from one measurement to all.
  double periodic = 0;
  // Measured to measured: of the seconds within them, and from one to the next.
  double autocorrelation = 0;
  double noise = 0.03;
};

constexpr size_t kBlockSizes = 3;
constexpr size_t kFiguresOfASize = 5;

struct Rounds {
  // Logarithms by figure and round.
  std::vector<std::vector<double>> first;
  std::vector<std::vector<double>> second;
  std::vector<RoundDifferences> differences;
};

// Rounds of 2 x 20 s: seconds follow an AR(1) process that goes on from one measurement to the next; a measurement's
// figures share it, and each has half as much noise of its own.
Rounds Measure(size_t rounds, size_t figures, double ratio, const Drift& drift, std::mt19937_64& generator) {
  constexpr size_t kSeconds = 20;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const double phi = drift.autocorrelation;
  const double slots = 2 * static_cast<double>(rounds);
  // The mean of 20 such seconds scatters by this much.
  double variance = 0;
  for (size_t i = 0; i < kSeconds; ++i) {
    for (size_t j = 0; j < kSeconds; ++j) {
      variance += std::pow(phi, std::abs(static_cast<double>(i) - static_cast<double>(j)));
    }
  }
  const double scale = drift.noise / std::sqrt(1.25 * variance) * kSeconds;
  const double period = std::exp2(uniform(generator) * std::log2(slots)) * (uniform(generator) < 0.3 ? 0 : 1);
  const double phase = uniform(generator);
  double state = normal(generator);
  std::vector<std::vector<double>> slot_figures;
  for (size_t slot = 0; slot < 2 * rounds; ++slot) {
    double sum = 0;
    double wave = 0;
    for (size_t second = 0; second < kSeconds; ++second) {
      state = phi * state + std::sqrt(1 - phi * phi) * normal(generator);
      sum += state;
      const double at = static_cast<double>(slot) + static_cast<double>(second) / kSeconds;
      // A period of exactly one round, in three of ten trials: each side always on the same half of it.
      wave += std::sin(2 * std::numbers::pi * (at / (period > 0 ? period : 2) + phase));
    }
    const double at = static_cast<double>(slot) / (slots - 1);
    const double level = std::log1p(drift.linear * (2 * at - 1)) + std::log1p(drift.periodic * wave / kSeconds);
    std::vector<double>& here = slot_figures.emplace_back();
    for (size_t figure = 0; figure < figures; ++figure) {
      here.push_back(level + scale * (sum / kSeconds + 0.5 * std::sqrt(variance) / kSeconds * normal(generator)));
    }
  }
  Rounds measured;
  measured.first.resize(figures);
  measured.second.resize(figures);
  measured.differences.resize(figures);
  for (size_t round = 0; round < rounds; ++round) {
    const size_t swapped = generator() & 1;
    for (size_t figure = 0; figure < figures; ++figure) {
      const double first = slot_figures[2 * round + swapped][figure];
      const double second = slot_figures[2 * round + 1 - swapped][figure] + std::log(ratio);
      measured.first[figure].push_back(first);
      measured.second[figure].push_back(second);
      measured.differences[figure].push_back(second - first);
    }
  }
  return measured;
}

// Of `trials` comparisons, in how many any figure is found at any look.
size_t AnyFound(size_t trials, size_t rounds, const Drift& drift, uint64_t seed) {
  std::mt19937_64 generator(seed);
  size_t found = 0;
  for (size_t trial = 0; trial < trials; ++trial) {
    const Rounds measured = Measure(rounds, kBlockSizes * kFiguresOfASize, 1, drift, generator);
    const std::vector<double> p = PairedPValues(measured.differences, PlannedLooks(rounds), Tail::kBoth);
    found += *std::min_element(p.begin(), p.end()) < 0.05 ? 1U : 0U;
  }
  return found;
}

TEST(PairedRoundsSimulation, AtMostFiveOfAHundredEqualSidesDifferWhateverDrifts) {
  Drift drift;
  drift.periodic = 0.2;
  drift.autocorrelation = 0.8;
  const size_t periodic = AnyFound(4'000, 8, drift, 20261123);
  EXPECT_LE(periodic, 200U);
  drift.linear = 0.2;
  drift.autocorrelation = 0.95;
  const size_t both = AnyFound(4'000, 8, drift, 20261124);
  EXPECT_LE(both, 200U);
  const size_t more_looks = AnyFound(1'000, 12, drift, 20261125);
  EXPECT_LE(more_looks, 50U) << "with looks after 7, 10 and 12 rounds";
  RecordProperty("periodic", static_cast<int>(periodic));
  RecordProperty("both", static_cast<int>(both));
  RecordProperty("more_looks", static_cast<int>(more_looks));
}

TEST(PairedRoundsSimulation, FiguresWithoutADifferenceKeepTheirPromiseBesideOthersThatDiffer) {
  Drift drift;
  drift.periodic = 0.1;
  drift.autocorrelation = 0.8;
  std::mt19937_64 generator(20261127);
  constexpr size_t kTrials = 2'000;
  size_t wrong = 0;
  for (size_t trial = 0; trial < kTrials; ++trial) {
    Rounds measured = Measure(8, kBlockSizes * kFiguresOfASize, 1, drift, generator);
    for (size_t figure = 0; figure < kFiguresOfASize; ++figure) {
      for (double& difference : measured.differences[figure]) difference += std::log(1.5);
    }
    const std::vector<double> p = PairedPValues(measured.differences, PlannedLooks(8), Tail::kBoth);
    wrong += *std::min_element(p.begin() + kFiguresOfASize, p.end()) < 0.05 ? 1U : 0U;
  }
  EXPECT_LE(wrong, kTrials * 5 / 100);
  RecordProperty("wrong", static_cast<int>(wrong));
}

TEST(PairedRoundsSimulation, ATenPercentDifferenceUnderDriftIsFoundWithinEightRoundsWhereUnpairedRunsSayNothing) {
  Drift drift;
  drift.linear = 0.2;
  constexpr size_t kTrials = 1'000;
  std::mt19937_64 generator(20261126);
  size_t paired = 0;
  size_t unpaired = 0;
  size_t covered = 0;
  for (size_t trial = 0; trial < kTrials; ++trial) {
    const Rounds measured = Measure(8, kFiguresOfASize, 1.1, drift, generator);
    paired += PairedPValues(measured.differences, PlannedLooks(8), Tail::kBoth).front() < 0.05 ? 1U : 0U;
    const PairedInterval interval = PairedConfidence(measured.differences.front(), PlannedLooks(8), 0.05, Tail::kBoth);
    covered += interval.low <= std::log(1.1) && std::log(1.1) <= interval.high ? 1U : 0U;
    std::vector<double> p;
    for (size_t figure = 0; figure < kFiguresOfASize; ++figure) {
      p.push_back(TestRuns(measured.first[figure], measured.second[figure], 0.05, 999, trial).p);
    }
    unpaired += HolmAdjusted(p).front() < 0.05 ? 1U : 0U;
  }
  EXPECT_GE(paired, kTrials * 90 / 100);
  EXPECT_LE(unpaired, kTrials * 5 / 100);
  EXPECT_GE(covered, kTrials * 95 / 100);
  RecordProperty("paired", static_cast<int>(paired));
  RecordProperty("unpaired", static_cast<int>(unpaired));
}

}  // namespace
}  // namespace plimsoll
