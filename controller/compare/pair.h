// One side against the first, at one block size.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/compare/block_resamples.h"
#include "controller/compare/compare.h"
#include "controller/compare/step_data.h"
#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// What a side measured at one block size.
struct SideSteps {
  std::string label;
  // By run; the method's figures (autocorrelation, block length, effective seconds) are filled in by PrepareSteps.
  std::vector<StepData> runs;
  // Blocks of its observations: one element where it is one run with seconds enough, else none.
  std::vector<BlockResamples> resamples;
  // The same for the gate, which must not depend on how many tests there are: CompareSettings::replicates as the caller
  // gave them.
  std::vector<BlockResamples> gate_resamples;
  // Autocorrelation of its observations: the larger of that of IO/s and of the mean, at least 0.
  double phi = 0;
};

// Draws the blocks of a side's seconds and says how they were drawn in its figures. `seed` must differ between sides.
void PrepareSteps(const CompareSettings& settings, size_t gate_replicates, uint64_t seed, SideSteps& side);

// Whether a figure is worse than the limit allows; before p-values are adjusted.
struct GatedRow {
  v1::Figure figure = v1::FIGURE_UNSPECIFIED;
  // Row of the pair; -1: there is none.
  int row = -1;
  // One-sided p-values of "not slower by more than the limit" and of "slower by the limit or more"; empty, with the
  // reason, where nothing could be tested.
  std::optional<double> slower_p;
  std::optional<double> within_p;
  std::string reason;
};

struct PairResult {
  // Without adjusted p-values, findings and words, which need all rows of the comparison.
  v1::PairComparison pair;
  // Largest |log ratio| of IO/s that this p-value would go with; empty where IO/s were not tested.
  std::function<double(double p)> half_width;
  // The gated figures in their order; empty where nothing is gated.
  std::vector<GatedRow> gated;
};

// Both sides must have been prepared. With one run each, seconds are resampled, else whole runs are compared.
PairResult ComparePair(const SideSteps& first, const SideSteps& second, const CompareSettings& settings,
                       size_t gate_replicates, uint64_t seed);

// Fewer seconds than this are no basis for an interval.
inline constexpr size_t kFewestSeconds = 10;
// With fewer independent seconds than this a longer run is asked for.
inline constexpr double kEnoughEffectiveSeconds = 12;
// Where seconds depend on one another more than this, it is always told how long a run would be needed.
inline constexpr double kPromisedAutocorrelation = 0.5;
// So many independent seconds is what the method's promises are made for: 60 s at that autocorrelation.
inline constexpr double kPromisedEffectiveSeconds = 20;

}  // namespace plimsoll
