// The figures of one block size from a report, ready for comparing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/compare/comparable.h"
#include "controller/statistics/second_statistics.h"
#include "plimsoll/v1/compare.pb.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Longer runs are looked at in groups of seconds: this many observations determine the autocorrelation well enough.
inline constexpr size_t kMaxObservations = 3'600;

// What an observation is. Minutes, where a compared step was so long that its frames were folded by age: its later
// seconds have no distributions.
enum class TimeUnit : uint32_t { kSecond = 1, kMinute = 60 };

// "second", "minute".
const char* NameOf(TimeUnit unit);

// The seconds of all steps of one block size, as observations of one second, or of several where there are many. With
// TimeUnit::kMinute, minutes stand in place of seconds throughout.
struct SecondsData {
  TimeUnit unit = TimeUnit::kSecond;
  // Whole seconds of the cluster's series, without those of which only the sum over several is known.
  size_t seconds = 0;
  size_t left_out = 0;
  // Seconds in one observation.
  size_t group = 1;
  // Writes over observations, and time in writes over writes, by observation.
  RatioSeries rate;
  RatioSeries mean;
  // Rate and mean by second where several make an observation; these show how much seconds depend on one another.
  RatioSeries rate_by_second;
  RatioSeries mean_by_second;
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

// Whether the distributions of seconds are made ready, which takes most of the memory: for runs that are resampled.
enum class Histograms { kMake, kLeaveOut };

// Names of the operations beside the main one that every step of that block size measured, in the order of the first
// step: the parts of writes, and the reads beside them.
std::vector<std::string> OperationsOf(const v1::Report& report, uint64_t block_size_bytes);

// What steps of that block size are compared by: minutes, where any of them, of any side, was folded by age.
TimeUnit CommonUnit(const std::vector<SideInput>& sides, uint64_t block_size_bytes);

// One of BlockSizes(report). Steps that repeat it are taken together: counts and times are added, percentiles taken
// from the added distributions. `operation`: one of OperationsOf, whose times take the place of the writes'; a part has
// no rates, the reads have their own. Empty: the main operation. `unit`: kMinute where CommonUnit is;
// steps with whole seconds throughout are added up by minute then.
StepData MakeStepData(const v1::Report& report, uint64_t block_size_bytes, Histograms histograms = Histograms::kMake,
                      const std::string& operation = "", TimeUnit unit = TimeUnit::kSecond);

// Highest value of a bucket of a DistributionReport: 128 for each power of two, below 128 ns one each.
uint64_t DistributionEndNs(uint64_t from_ns);

// Makes the response times of all runs their latencies: series, distributions, and the cluster's figures, where writes
// that were not issued count as closing writes. Does nothing unless every step with writes of every run has a target
// rate and response times. Runs that have been changed already stay as they are.
void UseResponseTimes(std::vector<SideInput>& sides);

// A figure of a run, if it is known.
std::optional<double> FigureOf(const v1::RunFigures& figures, v1::Figure figure);

}  // namespace plimsoll
