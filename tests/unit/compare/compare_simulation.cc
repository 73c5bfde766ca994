// Measures how often `plimsoll compare` is wrong, on simulated runs; docs/compare.md has the figures.
//
//   compare_simulation [TABLES [REPLICATES [SEED]]]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "controller/statistics/run_statistics.h"
#include "tests/unit/compare/simulated_tables.h"

namespace {

using plimsoll::tests::CompareTables;
using plimsoll::tests::Intervals;
using plimsoll::tests::SimulatedLaw;
using plimsoll::tests::TableRates;

struct Case {
  std::string name;
  SimulatedLaw law;
  double slower = 1;
};

SimulatedLaw Law(double phi, size_t seconds = 60, double writes = 2'000) {
  SimulatedLaw law;
  law.phi = phi;
  law.seconds = seconds;
  law.writes = writes;
  return law;
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const double phi : {0.0, 0.3, 0.5}) cases.push_back({"equal", Law(phi)});
  for (const double phi : {0.0, 0.3, 0.5}) cases.push_back({"10 % slower", Law(phi), 1.1});
  for (const double phi : {0.3, 0.5}) cases.push_back({"5 % slower", Law(phi), 1.05});
  cases.push_back({"equal, 170 writes/s", Law(0.5, 60, 170)});
  cases.push_back({"equal, restless tail", Law(0.5)});
  cases.back().law.restless_tail = true;
  cases.push_back({"equal, bursts", Law(0.5)});
  cases.back().law.bursts = true;
  for (const size_t seconds : {size_t{10}, size_t{20}, size_t{300}}) {
    cases.push_back({"equal, " + std::to_string(seconds) + " s", Law(0.5, seconds)});
  }
  for (const double phi : {0.7, 0.8, 0.9, 0.95}) cases.push_back({"equal", Law(phi)});
  return cases;
}

// How often whole runs of equal sides are told apart, at two levels.
void PrintWholeRuns(uint64_t trials, uint64_t replicates, uint64_t seed) {
  struct Sides {
    size_t first;
    size_t second;
    // Standard deviation of the second side's runs over that of the first.
    double scatter;
  };
  std::printf("%-22s %8s %12s %12s\n", "runs a side", "scatter", "p <= 5 %", "p <= 1 %");
  for (const Sides& sides : std::vector<Sides>{{2, 2, 1},
                                               {2, 3, 1},
                                               {2, 5, 3},
                                               {5, 2, 3},
                                               {3, 3, 1},
                                               {3, 3, 3},
                                               {5, 5, 1},
                                               {6, 6, 1},
                                               {6, 6, 3},
                                               {10, 10, 1}}) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    uint64_t wrong = 0;
    uint64_t very_wrong = 0;
    for (uint64_t trial = 0; trial < trials; ++trial) {
      std::vector<double> first(sides.first);
      std::vector<double> second(sides.second);
      for (double& value : first) value = normal(random);
      for (double& value : second) value = sides.scatter * normal(random);
      const double p = plimsoll::TestRuns(first, second, 0.05, replicates, trial).p;
      if (p <= 0.05) ++wrong;
      if (p <= 0.01) ++very_wrong;
    }
    const auto percent = [trials](uint64_t count) {
      return 100 * static_cast<double>(count) / static_cast<double>(trials);
    };
    const std::string name = std::to_string(sides.first) + " and " + std::to_string(sides.second);
    std::printf("%-22s %8.0f %10.2f %% %10.2f %%\n", name.c_str(), sides.scatter, percent(wrong), percent(very_wrong));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int index, uint64_t other) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : other;
  };
  const uint64_t tables = number(1, 200);
  const uint64_t replicates = number(2, 9'999);
  const uint64_t seed = number(3, 1);
  PrintWholeRuns(tables, replicates, seed);
  const auto percent = [](size_t count, size_t all) {
    return 100 * static_cast<double>(count) / static_cast<double>(std::max<size_t>(all, 1));
  };
  std::printf("\n%-22s %5s %8s %12s %12s %13s %12s %13s\n", "pairs", "phi", "tables", "any clear", "any p < 5 %",
              "means longer", "mean held", "length told");
  for (const Case& each : Cases()) {
    const TableRates rates = CompareTables(each.law, each.slower, tables, replicates, seed);
    if (rates.tables == 0) return 1;
    std::printf("%-22s %5.2f %8zu %10.2f %% %10.2f %% %11.2f %% %10.2f %% %11.2f %%\n", each.name.c_str(), each.law.phi,
                rates.tables, percent(rates.any_clear, rates.tables), percent(rates.any_by_chance, rates.tables),
                percent(rates.means_longer, rates.means), percent(rates.mean_covered, rates.mean_intervals),
                percent(rates.run_longer, rates.tables));
    std::fflush(stdout);
  }
  // Intervals of percentiles take ten times as long.
  std::printf("\n%-22s %5s %10s %12s %12s\n", "pairs", "phi", "intervals", "mean held", "p99 held");
  for (const double phi : {0.0, 0.3, 0.5}) {
    const TableRates rates =
        CompareTables(Law(phi), 1, std::max<uint64_t>(tables / 2, 1), replicates, seed, Intervals::kMeanAndPercentiles);
    std::printf("%-22s %5.2f %10zu %10.2f %% %10.2f %%\n", "equal", phi, rates.p99_intervals,
                percent(rates.mean_covered, rates.mean_intervals), percent(rates.p99_covered, rates.p99_intervals));
    std::fflush(stdout);
  }
  return 0;
}
