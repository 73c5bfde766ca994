// What a report tells of one block size, made ready for comparing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/compare/ratio_bootstrap.h"
#include "controller/compare/second_histograms.h"
#include "plimsoll/v1/compare.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Longer runs are looked at in groups of seconds: so many observations tell the autocorrelation well enough.
inline constexpr size_t kMaxObservations = 3'600;

// The seconds of all steps of one block size, as observations of one second, or of several where there are many.
struct SecondsData {
  // Whole seconds of the cluster's series, without those of which only the sum over several is known.
  size_t seconds = 0;
  size_t left_out = 0;
  // Seconds in one observation.
  size_t group = 1;
  // Writes over observations, and time in writes over writes, by observation.
  RatioSeries rate;
  RatioSeries mean;
  // By observation, too; none, with the reason, where the seconds' distributions are not known.
  std::optional<SecondHistograms> histograms;
  std::string no_histograms;
};

// One block size of one run.
struct StepData {
  v1::RunFigures figures;
  SecondsData seconds;
};

// Block sizes that the report measured, in ascending order; steps without a write do not count.
std::vector<uint64_t> BlockSizes(const v1::Report& report);

// One of BlockSizes(report). Steps that repeat it are taken together: counts and times are added, percentiles taken
// from the added distributions.
StepData MakeStepData(const v1::Report& report, uint64_t block_size_bytes);

// A figure of a run, if it is known.
std::optional<double> FigureOf(const v1::RunFigures& figures, v1::Figure figure);

}  // namespace plimsoll
