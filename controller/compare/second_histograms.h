// How the latencies of each second are distributed, and what chance can do to a percentile of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "controller/compare/block_bootstrap.h"

namespace plimsoll {

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
// bootstrap makes of the seconds' shares. `ratio` is the sides' exact ratio; the coarse histograms tell only how far
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
