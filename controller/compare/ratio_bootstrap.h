// The studentised block bootstrap of a figure that is a ratio of two sums over seconds.
//
// Every figure that is compared is one: writes over seconds (IO/s), time in writes over writes (mean), writes not
// slower than some latency over writes (a percentile seen from the other side). A replicate is a run put together from
// blocks of neighbouring seconds, which keep what the seconds of a block have to do with one another.
#pragma once

#include <cstddef>
#include <vector>

#include "controller/compare/block_resamples.h"

namespace plimsoll {

// One observation (a second, mostly) each; of equal length, the denominators' sum above 0.
struct RatioSeries {
  std::vector<double> numerator;
  std::vector<double> denominator;
};

// In which scale differences are looked at.
enum class Scale { kLinear, kLog };

// See RatioBootstrap::variance().
inline constexpr double kFewestEffective = 6;

// One side's figure, its standard error, and the same of every replicate. Immutable.
class RatioBootstrap {
 public:
  // `resamples` must be for as many observations as the series has. `phi` is the autocorrelation of neighbouring
  // observations, see SeriesPhi; 0 where they are independent, as whole runs are. The logarithm of a figure that is 0
  // is not asked for.
  RatioBootstrap(const RatioSeries& series, Scale scale, double phi, const BlockResamples& resamples);

  // The figure in its scale.
  double value() const { return value_; }
  // Variance of value(): that of the circular block means (Künsch, Annals of Statistics 17, 1989), made larger by what
  // blocks of this length cannot see of an AR(1) process with this autocorrelation. Where the observations tell
  // no more than kFewestEffective independent ones would, nobody knows how much they depend on one another, and the
  // figure counts as no better known than that of a single one.
  double variance() const { return variance_; }
  size_t replicates() const { return deviation_.size(); }
  // The replicate's value less value(), and the variance of it as its own blocks tell it (Davison and Hinkley,
  // Bootstrap Methods and their Application, 1997, 8.2.3).
  double deviation(size_t replicate) const { return deviation_[replicate]; }
  double variance(size_t replicate) const { return replicate_variance_[replicate]; }

 private:
  double value_ = 0;
  double variance_ = 0;
  std::vector<double> deviation_;
  std::vector<double> replicate_variance_;
};

// The parts of the figure by observation: numerator less figure times denominator, over the mean denominator. Their
// mean is 0, and the figure's deviation is theirs (the delta method).
std::vector<double> Influence(const RatioSeries& series);

// Autocorrelation of Influence(series), but not below `at_least`, nor below 0.
double SeriesPhi(const RatioSeries& series, double at_least = 0);

// |difference / error| of two sides' replicates, sorted: what chance makes of the studentised difference.
class StudentisedDifference {
 public:
  // Both sides with as many replicates.
  StudentisedDifference(const RatioBootstrap& first, const RatioBootstrap& second);

  // second.value() - first.value(), and its standard error.
  double difference() const { return difference_; }
  double error() const { return error_; }
  // Two-sided p-value of the hypothesis that the true difference is `truth`: the share of replicates, this one
  // included, that are at least as far out.
  double PValue(double truth = 0) const;
  // Beyond this many errors lie `share` of the replicates.
  double Critical(double share) const;

 private:
  double difference_;
  double error_;
  std::vector<double> sorted_;
};

}  // namespace plimsoll
