// Compares runs: a pure function of their reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/compare/comparable.h"
#include "controller/compare/step_data.h"
#include "controller/statistics/run_statistics.h"
#include "controller/statistics/second_statistics.h"
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
  // Options of the plan in which sides may differ: see CheckComparable.
  StatedDifferences differs;
  // Runs were measured in pairs: the n-th of both sides form a round (two sides, see PairUp). complete_rounds is set by
  // Compare, and the looks where there are none: a single one after all runs.
  std::optional<v1::PairedDesign> paired;
  // The second of two sides is a control of the first (control.h).
  bool control = false;
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
// CheckComparable, of PairUp where runs are paired, and FAILED_PRECONDITION where more than kMostBlockSizes are common
// to all runs.
absl::StatusOr<v1::Comparison> Compare(const std::vector<SideInput>& sides, const CompareSettings& settings);

// Runs that were measured in turn (paired_runs.cc): which of them form a round, after which rounds they are tested, and
// when more rounds would add nothing. run_statistics.h has the statistics.

// Takes each side's only run apart where its plan repeats block sizes (--repeat): the n-th step of every block size
// makes the n-th run. Sides of several runs stay as they are. FAILED_PRECONDITION unless there are two sides with as
// many runs then, kMostRounds at most.
absl::Status PairUp(std::vector<SideInput>& sides);

// `design` for that many complete rounds. Where it plans no looks, as for runs that are there already: one after all of
// them.
v1::PairedDesign CompleteDesign(v1::PairedDesign design, size_t rounds);

// Looks of PlannedLooks as a design has them, and back.
void SetLooks(const std::vector<Look>& looks, v1::PairedDesign& design);
std::vector<Look> LooksOf(const v1::PairedDesign& design);

// Whether more rounds would hardly say more: of each of these figures at each block size the difference is significant
// and its interval beyond the minimum effect, or the interval is no wider than from the minimum effect below to the
// minimum effect above, and no figure is inconclusive; and where something is gated, the gate has its answer.
bool IsDecided(const v1::Comparison& comparison, const std::vector<v1::Figure>& figures);

// What a side measured at one block size.
struct SideSteps {
  std::string label;
  // What an operation is called: "write" or "read".
  std::string noun = "write";
  // By run; the method's figures (autocorrelation, block length, effective seconds) are filled in by PrepareSteps.
  std::vector<StepData> runs;
  // Blocks of its observations: one element where it is one run with seconds enough, else none.
  std::vector<BlockResamples> resamples;
  // Blocks for the gate, which must not depend on how many tests there are: CompareSettings::replicates as the caller
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
  // For runs in pairs, by round: how much slower, less the limit, in logarithms. slower_p comes of all rows' together.
  RoundDifferences rounds = {};
};

struct PairResult {
  // Without adjusted p-values, findings and words, which need all rows of the comparison.
  v1::PairComparison pair;
  // Largest |log ratio| of IO/s that this p-value would go with; empty where IO/s were not tested.
  std::function<double(double p)> half_width;
  // The gated figures in their order; empty where nothing is gated.
  std::vector<GatedRow> gated;
  // For runs in pairs: the differences of each row that counts, in the order of the rows.
  std::vector<RoundDifferences> rounds;
};

// Compares two prepared sides. With one run each, seconds are resampled, else whole runs are compared.
PairResult ComparePair(const SideSteps& first, const SideSteps& second, const CompareSettings& settings,
                       size_t gate_replicates, uint64_t seed);

// Fewer seconds than this are no basis for an interval.
inline constexpr size_t kFewestSeconds = 10;
// With fewer independent seconds than this a longer run is requested.
inline constexpr double kEnoughEffectiveSeconds = 12;
// Where seconds depend on one another more than this, the comparison always reports how long a run would have to be.
inline constexpr double kPromisedAutocorrelation = 0.5;
// Number of independent seconds that the method's promises are made for: 60 s at that autocorrelation.
inline constexpr double kPromisedEffectiveSeconds = 20;

}  // namespace plimsoll
