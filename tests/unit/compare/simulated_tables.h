// How often comparisons of simulated runs find what is not there, and what is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/compare/compare.h"
#include "tests/unit/compare/simulated_reports.h"

namespace plimsoll::tests {

struct TableRates {
  size_t tables = 0;
  // Tables that call any difference clear.
  size_t any_clear = 0;
  // Tables in which any adjusted p is below the level, whatever the size of the difference: what --min-effect 0 would
  // call clear.
  size_t any_by_chance = 0;
  // Mean latencies, three a table, and those of them that are called clearly longer.
  size_t means = 0;
  size_t means_longer = 0;
  // Tables that tell how long runs would be needed.
  size_t run_longer = 0;
  // Intervals of 95 % of the mean and of p99, and those that hold the true ratio; of p99 only where they were asked
  // for.
  size_t mean_intervals = 0;
  size_t mean_covered = 0;
  size_t p99_intervals = 0;
  size_t p99_covered = 0;
};

// What it costs to have the intervals of percentiles too: some ten times the time.
enum class Intervals { kMean, kMeanAndPercentiles };

// Compares `tables` pairs of runs with three block sizes each, of which the second run's latencies are `slower` times
// those of the first.
TableRates CompareTables(const SimulatedLaw& law, double slower, size_t tables, size_t replicates, uint64_t seed,
                         Intervals intervals = Intervals::kMean);

}  // namespace plimsoll::tests
