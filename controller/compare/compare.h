// Compares runs: a pure function of their reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/compare/comparable.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

struct CompareSettings {
  // A difference must be larger than this to be clear: the larger of two figures over the smaller, less 1.
  double min_effect = 0.03;
  // Asks of every row of the gated figures whether it is worse by more than this, as min_effect is measured: see
  // Comparison.gate, slower and undecided.
  std::optional<double> fail_if_slower;
  // Figures that this is asked of; never the maximum, which cannot be tested.
  std::vector<v1::Figure> gate = {v1::FIGURE_IOPS, v1::FIGURE_AVG, v1::FIGURE_P50, v1::FIGURE_P99};
  // Repetitions of the bootstrap at least: a p-value is a multiple of 1 / (replicates + 1), so that there are more
  // where there are many tests (kMostReplicates). Fewer are for simulations.
  size_t replicates = 9'999;
  // Without intervals of percentiles, which take most of the time; for simulations, that look at findings only.
  bool percentile_intervals = true;
};

// "iops", "mb_per_second", "avg", "p50", "p99", "p99_9", separated by commas: figures for CompareSettings::gate.
// INVALID_ARGUMENT for others, for none, or for one twice.
absl::StatusOr<std::vector<v1::Figure>> ParseGate(const std::string& names);

// Chance of any finding without a cause in a whole comparison, and what intervals leave out.
inline constexpr double kLevel = 0.05;

// Repetitions grow with the tests up to this, so that any of them can be clear; beyond, the limits say that none can.
inline constexpr size_t kMostReplicates = 99'999;
// Each block size is tested on its own, and the more tests there are, the more replicates each of them needs: the work
// grows with the square of their number. Some 10 s for as many of a minute each.
inline constexpr size_t kMostBlockSizes = 100;

// Compares each side with the first; two sides at least. The same input gives the same output. The errors are those of
// CheckComparable, and FAILED_PRECONDITION where more than kMostBlockSizes are common to all runs.
absl::StatusOr<v1::Comparison> Compare(const std::vector<SideInput>& sides, const CompareSettings& settings);

}  // namespace plimsoll
