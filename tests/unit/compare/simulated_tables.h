// How often comparisons of simulated runs find what is not there, and what is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "controller/compare/compare.h"
#include "tests/unit/compare/simulated_reports.h"

namespace plimsoll::testing {

struct TableRates {
  size_t tables = 0;
  // Tables that call any difference clear.
  size_t any_clear = 0;
  // Mean latencies, three a table, and those of them that are called clearly longer.
  size_t means = 0;
  size_t means_longer = 0;
  // Tables that ask for longer runs.
  size_t run_longer = 0;
};

// Compares `tables` pairs of runs with three block sizes each, of which the second run's latencies are `slower` times
// those of the first.
TableRates CompareTables(const SimulatedLaw& law, double slower, size_t tables, size_t replicates, uint64_t seed);

}  // namespace plimsoll::testing
