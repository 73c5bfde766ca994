// Statistics of seconds: the studentised block bootstrap of a figure that is a ratio of two sums over seconds. How much
// seconds depend on the seconds before them, how long blocks must be for that, and which blocks make up each replicate.
//
// Every figure that is compared is such a ratio: writes over seconds (IO/s), time in writes over writes (mean), writes
// not slower than some latency over writes (a percentile seen from the other side, by the distributions of the seconds'
// latencies). A replicate is a run put together from blocks of neighbouring seconds, which keep what the seconds of a
// block have to do with one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

// Sample autocovariance of `values` at `lag`, with the divisor n (Box, Jenkins, Reinsel: Time Series Analysis, 2.1.5).
// 0 where the lag reaches beyond the values.
double Autocovariance(const std::vector<double>& values, size_t lag);

// Autocorrelation of neighbours (phi of an AR(1) process), in [-0.99, 0.99]. The sample's is too low by (1 + 3 phi) / n
// on average (Kendall, Note on bias in the estimation of autocorrelation, Biometrika 41, 1954); this is corrected:
// (n r + 1) / (n - 3). 0 for fewer than 8 values, and where all are equal.
double Autocorrelation(const std::vector<double>& values);

// By how much the variance of a mean of `count` neighbouring values of an AR(1) process is larger than that of as many
// independent ones: 1 + 2 sum over k < count of (1 - k / count) phi^k.
double VarianceInflation(double phi, size_t count);

// How many independent values determine the mean as well as `count` neighbouring ones.
double EffectiveCount(double phi, size_t count);

// The least count whose EffectiveCount reaches `effective`.
size_t CountFor(double phi, double effective);

// Length of the blocks for a circular block bootstrap of the mean of `values`, at least 1 and at most an eighth of
// their number, so that there are blocks enough to draw from. The longer of two:
// - Politis and White's automatic length from the correlogram (Econometric Reviews 23, 2004), as corrected by Patton,
//   Politis and White (28, 2009);
// - the length that is best for an AR(1) process of the measured autocorrelation (Carlstein, Annals of Statistics 14,
//   1986), since in a short run the correlogram often shows nothing although something is there.
size_t BlockLength(const std::vector<double>& values);

// Starts of blocks, drawn once, so that all figures of a side are made from the same resampled seconds. Circular: a
// block that reaches the end goes on at the beginning, so that every second is drawn equally often (Politis and Romano,
// A circular block-resampling procedure for stationary data, 1992). Immutable.
class BlockResamples {
 public:
  // All > 0, and the blocks not longer than the observations. The same arguments draw the same blocks on every machine:
  // std::mt19937_64, whose output the standard fixes, mapped to a range by multiplication (Lemire, ACM TOMACS 29, 2019;
  // without his rejection, whose absence is worth less than 2^-40 here).
  BlockResamples(size_t observations, size_t block_length, size_t replicates, uint64_t seed);

  size_t observations() const { return observations_; }
  size_t block_length() const { return block_length_; }
  // Blocks of one replicate, at least 2: as many as hold about as many observations as there are.
  size_t blocks() const { return blocks_; }
  size_t replicates() const { return starts_.size() / blocks_; }
  // First observation of each of the replicate's blocks(): starts(replicate)[0 .. blocks() - 1].
  const uint32_t* starts(size_t replicate) const { return starts_.data() + replicate * blocks_; }

 private:
  size_t observations_;
  size_t block_length_;
  size_t blocks_;
  std::vector<uint32_t> starts_;
};

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
  // blocks of this length cannot see of an AR(1) process with this autocorrelation. Where the observations are worth no
  // more than kFewestEffective independent ones, how much they depend on one another is not known, and the figure
  // counts as no better known than that of a single one.
  double variance() const { return variance_; }
  size_t replicates() const { return deviation_.size(); }
  // The replicate's value less value(), and its variance as estimated from its own blocks (Davison and Hinkley,
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
  // Takes two sides with equally many replicates.
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

// Distributions of seconds (or of groups of them) in buckets of 2^(1/32). A position on the axis is 32 log2(ns): bucket
// b reaches from b to b + 1, and its writes are taken to lie evenly in between.
class SecondHistograms {
 public:
  static constexpr double kBucketsPerOctave = 32;

  // Adds one observation. Buckets are those of SecondDistributionsReport, any order, below kBuckets.
  struct Bucket {
    uint32_t bucket = 0;
    uint64_t count = 0;
  };
  static constexpr uint32_t kBuckets = 2048;  // 2^64 ns
  void Add(const std::vector<Bucket>& buckets);
  // The lowest and the highest bucket that is going to be added: with it, adding does not have to move what was added
  // before.
  void Expect(uint32_t lowest, uint32_t highest) { Widen(lowest, highest); }

  size_t observations() const { return writes_.size(); }
  double writes() const { return total_.empty() ? 0 : total_.back(); }
  // Share of all writes below the position; 0 where there is none.
  double ShareBelow(double position) const;
  // The position below which `share` of all writes lie.
  double Quantile(double share) const;
  // By observation: writes below the position, over writes.
  RatioSeries SharesBelow(double position) const;
  // Lowest and highest position that holds a write.
  double lowest() const { return first_; }
  double highest() const { return static_cast<double>(first_) + static_cast<double>(total_.size()) - 1; }

 private:
  double Interpolate(const std::vector<double>& below, double position) const;
  void Widen(uint32_t first, uint32_t last);

  // Writes below each bucket's start, from bucket first_ on, and one more for the end: of all, and by observation.
  uint32_t first_ = 0;
  std::vector<double> total_;
  std::vector<std::vector<double>> below_;
  std::vector<double> writes_;
};

// One side of a test.
struct PercentileSide {
  const SecondHistograms& histograms;
  const BlockResamples& resamples;
  // See SeriesPhi.
  double least_phi = 0;
};

// What can be said about the ratio of a percentile of two sides (second over first).
struct PercentileTest {
  // For the hypothesis that both are the same.
  double p = 1;
  // Ratios that the data do not contradict, at the level asked for; infinite where nothing bounds them.
  double low = 0;
  double high = 0;
};

// Tests the percentile `share` (0.99) without guessing how dense writes are around it: with the second side's times
// divided by a supposed ratio, the two sides' shares of writes below the percentile of both together must be alike but
// for chance (an interval of a percentile from that of its share: Woodruff, JASA 47, 1952). Chance is what the block
// bootstrap makes of the seconds' shares. `ratio` is the sides' exact ratio; the coarse histograms show only how far
// chance can shift it. `level` is 0.05 for an interval of 95 %.
PercentileTest TestPercentile(const PercentileSide& first, const PercentileSide& second, double share, double ratio,
                              double level);

// What can be said about whether the ratio is as large as `limit`.
struct PercentileLimit {
  // Two-sided p-value of the hypothesis that the ratio is `limit`.
  double p = 1;
  // Largest ratio that the data do not contradict, as PercentileTest::high.
  double high = 0;
};

// As TestPercentile, for one limit.
PercentileLimit TestPercentileLimit(const PercentileSide& first, const PercentileSide& second, double share,
                                    double ratio, double limit, double level);

// Only PercentileTest::p; some ten times as fast.
double PercentilePValue(const PercentileSide& first, const PercentileSide& second, double share, double ratio);

}  // namespace plimsoll
