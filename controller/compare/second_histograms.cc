#include "controller/compare/second_histograms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace plimsoll {
namespace {

constexpr double kPositionsPerLog = SecondHistograms::kBucketsPerOctave / std::numbers::ln2;

// Two sides under the hypothesis that the second one's times are as many times longer as `shift` positions mean.
class Pair {
 public:
  Pair(const PercentileSide& first, const PercentileSide& second, double share)
      : first_(first), second_(second), share_(share) {}

  // How many positions the second side's percentile lies behind that of the first.
  double Shift() const { return second_.histograms.Quantile(share_) - first_.histograms.Quantile(share_); }

  StudentisedDifference Difference(double shift) const {
    const double position = Pooled(shift);
    return {Bootstrap(first_, position - shift), Bootstrap(second_, position)};
  }

  // How many positions from Shift() on, upwards (1) or downwards (-1), shifts begin to be rejected at `level`; infinite
  // where none is.
  double Reach(double direction, double level) const {
    const double coarse = Shift();
    const auto rejected = [&](double reach) { return Difference(coarse + direction * reach).PValue() <= level; };
    // Far enough that the two distributions lie apart.
    const double farthest = first_.histograms.highest() - first_.histograms.lowest() + second_.histograms.highest() -
                            second_.histograms.lowest() + 2;
    double inside = 0;
    double outside = 0.5;
    while (!rejected(outside)) {
      if (outside > farthest) return std::numeric_limits<double>::infinity();
      inside = outside;
      outside *= 2;
    }
    while (outside - inside > 0.02 * outside + 0.005) {
      const double middle = (inside + outside) / 2;
      (rejected(middle) ? outside : inside) = middle;
    }
    return (inside + outside) / 2;
  }

 private:
  static RatioBootstrap Bootstrap(const PercentileSide& side, double position) {
    const RatioSeries series = side.histograms.SharesBelow(position);
    return {series, Scale::kLinear, SeriesPhi(series, side.least_phi), side.resamples};
  }

  // Position, on the second side's axis, of the percentile of both sides together, each with the same weight.
  double Pooled(double shift) const {
    const SecondHistograms& first = first_.histograms;
    const SecondHistograms& second = second_.histograms;
    double low = std::min(first.lowest() + shift, second.lowest());
    double high = std::max(first.highest() + shift, second.highest());
    for (int i = 0; i < 60; ++i) {
      const double middle = (low + high) / 2;
      const double below = (first.ShareBelow(middle - shift) + second.ShareBelow(middle)) / 2;
      (below < share_ ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  const PercentileSide& first_;
  const PercentileSide& second_;
  double share_;
};

}  // namespace

void SecondHistograms::Widen(uint32_t first, uint32_t last) {
  if (total_.empty()) {
    first_ = first;
    total_ = {0};
    for (std::vector<double>& below : below_) below = {0};  // observations without a write
  }
  const size_t before = first < first_ ? first_ - first : 0;
  const size_t end = first_ + total_.size() - 1;  // bucket behind the last
  const size_t behind = last + 1 > end ? last + 1 - end : 0;
  if (before == 0 && behind == 0) return;
  const auto widen = [&](std::vector<double>& below) {
    below.insert(below.begin(), before, 0.0);
    below.insert(below.end(), behind, below.back());
  };
  widen(total_);
  for (std::vector<double>& below : below_) widen(below);
  first_ -= static_cast<uint32_t>(before);
}

void SecondHistograms::Add(const std::vector<Bucket>& buckets) {
  for (const Bucket& bucket : buckets) {
    if (bucket.bucket < kBuckets) Widen(bucket.bucket, bucket.bucket);
  }
  std::vector<double> below(total_.size(), 0.0);
  for (const Bucket& bucket : buckets) {
    if (bucket.bucket < kBuckets) below[bucket.bucket - first_ + 1] += static_cast<double>(bucket.count);
  }
  for (size_t i = 1; i < below.size(); ++i) below[i] += below[i - 1];
  for (size_t i = 0; i < below.size(); ++i) total_[i] += below[i];
  writes_.push_back(below.empty() ? 0 : below.back());
  below_.push_back(std::move(below));
}

double SecondHistograms::Interpolate(const std::vector<double>& below, double position) const {
  const double place = position - static_cast<double>(first_);
  if (!(place > 0)) return 0;
  const auto index = static_cast<size_t>(place);
  if (index + 1 >= below.size()) return below.empty() ? 0 : below.back();
  return below[index] + (place - static_cast<double>(index)) * (below[index + 1] - below[index]);
}

double SecondHistograms::ShareBelow(double position) const {
  return writes() > 0 ? Interpolate(total_, position) / writes() : 0;
}

double SecondHistograms::Quantile(double share) const {
  const double wanted = share * writes();
  const auto found = std::lower_bound(total_.begin(), total_.end(), wanted);
  if (found == total_.begin()) return lowest();
  if (found == total_.end()) return highest();
  const double above = *found;
  const double below = *(found - 1);
  return static_cast<double>(first_) + static_cast<double>(found - total_.begin() - 1) +
         (wanted - below) / (above - below);
}

RatioSeries SecondHistograms::SharesBelow(double position) const {
  RatioSeries series;
  series.denominator = writes_;
  series.numerator.reserve(below_.size());
  for (const std::vector<double>& below : below_) series.numerator.push_back(Interpolate(below, position));
  return series;
}

double PercentilePValue(const PercentileSide& first, const PercentileSide& second, double share, double ratio) {
  const Pair pair(first, second, share);
  return pair.Difference(pair.Shift() - std::log(ratio) * kPositionsPerLog).PValue();
}

PercentileTest TestPercentile(const PercentileSide& first, const PercentileSide& second, double share, double ratio,
                              double level) {
  const Pair pair(first, second, share);
  // What the coarse histograms make of a ratio of 1.
  const double offset = pair.Shift() - std::log(ratio) * kPositionsPerLog;
  PercentileTest test;
  test.p = pair.Difference(offset).PValue();
  test.low = ratio * std::exp(-pair.Reach(-1, level) / kPositionsPerLog);
  test.high = ratio * std::exp(pair.Reach(1, level) / kPositionsPerLog);
  return test;
}

PercentileLimit TestPercentileLimit(const PercentileSide& first, const PercentileSide& second, double share,
                                    double ratio, double limit, double level) {
  const Pair pair(first, second, share);
  PercentileLimit test;
  test.p = pair.Difference(pair.Shift() + std::log(limit / ratio) * kPositionsPerLog).PValue();
  test.high = ratio * std::exp(pair.Reach(1, level) / kPositionsPerLog);
  return test;
}

}  // namespace plimsoll
