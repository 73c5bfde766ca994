#include "controller/statistics/second_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

namespace plimsoll {
namespace {

constexpr size_t kFewest = 8;
constexpr double kLargestPhi = 0.99;

}  // namespace

double Autocovariance(const std::vector<double>& values, size_t lag) {
  const size_t count = values.size();
  if (lag >= count) return 0;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count);
  double sum = 0;
  for (size_t i = lag; i < count; ++i) sum += (values[i] - mean) * (values[i - lag] - mean);
  return sum / static_cast<double>(count);
}

double Autocorrelation(const std::vector<double>& values) {
  if (values.size() < kFewest) return 0;
  const double variance = Autocovariance(values, 0);
  if (!(variance > 0)) return 0;
  const auto count = static_cast<double>(values.size());
  const double sample = Autocovariance(values, 1) / variance;
  return std::clamp((count * sample + 1) / (count - 3), -kLargestPhi, kLargestPhi);
}

double VarianceInflation(double phi, size_t count) {
  const auto n = static_cast<double>(count);
  const double rest = 1 - phi;
  // The sum's closed form.
  return (1 + phi) / rest - 2 * phi * (1 - std::pow(phi, n)) / (n * rest * rest);
}

double EffectiveCount(double phi, size_t count) {
  return count == 0 ? 0 : static_cast<double>(count) / VarianceInflation(phi, count);
}

size_t CountFor(double phi, double effective) {
  // It grows with the count; for large counts by (1 - phi) / (1 + phi) each.
  size_t high = 1;
  while (EffectiveCount(phi, high) < effective) high *= 2;
  size_t low = high / 2;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    (EffectiveCount(phi, middle) < effective ? low : high) = middle;
  }
  return high;
}

namespace {

// Flat-top lag window: 1 up to a half, then falling to 0 at 1.
double FlatTop(double t) {
  return std::clamp(2 * (1 - std::abs(t)), 0.0, 1.0);
}

double PolitisWhite(const std::vector<double>& values, double variance) {
  const auto n = static_cast<double>(values.size());
  const auto insignificant_needed = static_cast<size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(n)))));
  const auto farthest =
      std::min(values.size() - 1, static_cast<size_t>(std::ceil(std::sqrt(n))) + insignificant_needed);
  std::vector<double> covariance;
  for (size_t lag = 0; lag <= farthest; ++lag) covariance.push_back(Autocovariance(values, lag));
  const double threshold = 2 * std::sqrt(std::log10(n) / n);
  // The largest lag before so many neighbours without significance.
  size_t last_significant = 0;
  for (size_t lag = 1; lag <= farthest && lag - last_significant <= insignificant_needed; ++lag) {
    if (std::abs(covariance[lag] / variance) > threshold) last_significant = lag;
  }
  const size_t window = std::min(2 * std::max<size_t>(last_significant, 1), farthest);
  double spectrum = covariance[0];
  double slope = 0;
  for (size_t lag = 1; lag <= window; ++lag) {
    const double weight = FlatTop(static_cast<double>(lag) / static_cast<double>(window));
    spectrum += 2 * weight * covariance[lag];
    slope += 2 * weight * static_cast<double>(lag) * covariance[lag];
  }
  const double d = 4.0 / 3 * spectrum * spectrum;
  return d > 0 ? std::cbrt(2 * slope * slope / d * n) : 1;
}

double ForFirstOrder(double phi, double n) {
  const double ratio = 2 * phi / (1 - phi * phi);
  return std::cbrt(1.5 * ratio * ratio * n);
}

}  // namespace

size_t BlockLength(const std::vector<double>& values) {
  const double variance = Autocovariance(values, 0);
  const size_t longest = std::max<size_t>(values.size() / 8, 1);
  if (values.size() < 8 || !(variance > 0)) return 1;
  const double length = std::max(PolitisWhite(values, variance), ForFirstOrder(std::max(Autocorrelation(values), 0.0),
                                                                               static_cast<double>(values.size())));
  return std::clamp<size_t>(static_cast<size_t>(std::lround(std::min(length, 1e9))), 1, longest);
}

BlockResamples::BlockResamples(size_t observations, size_t block_length, size_t replicates, uint64_t seed)
    : observations_(observations),
      block_length_(block_length),
      blocks_(std::max<size_t>((observations + block_length / 2) / block_length, 2)),
      starts_(replicates * blocks_) {
  std::mt19937_64 random(seed);
  // The upper half of 64 bits is enough for a range of 32.
  for (uint32_t& start : starts_) start = static_cast<uint32_t>(((random() >> 32) * observations) >> 32);
}

namespace {

// What differs by less, relatively, differs by rounding.
constexpr double kRounding = 1e-12;

// Sums of the first i values, going round once, so that a circular block's sum is one subtraction.
std::vector<double> RoundSums(const std::vector<double>& values) {
  std::vector<double> sums = {0};
  sums.reserve(2 * values.size() + 1);
  for (int round = 0; round < 2; ++round) {
    for (const double value : values) sums.push_back(sums.back() + value);
  }
  return sums;
}

// How much larger the variance of the mean of all `count` values is than circular blocks of `length` let see, where the
// values are an AR(1) process: blocks miss what reaches beyond them, and the mean that they are compared with varies
// too.
double BlockCorrection(double phi, size_t length, size_t count) {
  const double all = VarianceInflation(phi, count);
  const double seen = VarianceInflation(phi, length) - all * static_cast<double>(length) / static_cast<double>(count);
  return seen > 0 ? all / seen : all;
}

}  // namespace

std::vector<double> Influence(const RatioSeries& series) {
  const double denominators = std::accumulate(series.denominator.begin(), series.denominator.end(), 0.0);
  const double figure = std::accumulate(series.numerator.begin(), series.numerator.end(), 0.0) / denominators;
  const double mean = denominators / static_cast<double>(series.denominator.size());
  std::vector<double> parts(series.numerator.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    const double expected = figure * series.denominator[i];
    const double deviation = series.numerator[i] - expected;
    // Where nothing scatters, what rounding leaves would.
    parts[i] = std::abs(deviation) > kRounding * std::abs(expected) ? deviation / mean : 0;
  }
  return parts;
}

double SeriesPhi(const RatioSeries& series, double at_least) {
  return std::max({Autocorrelation(Influence(series)), at_least, 0.0});
}

RatioBootstrap::RatioBootstrap(const RatioSeries& series, Scale scale, double phi, const BlockResamples& resamples) {
  const size_t count = series.numerator.size();
  const size_t length = resamples.block_length();
  const size_t blocks = resamples.blocks();
  const double denominators = std::accumulate(series.denominator.begin(), series.denominator.end(), 0.0);
  const double figure = std::accumulate(series.numerator.begin(), series.numerator.end(), 0.0) / denominators;
  const bool log = scale == Scale::kLog;
  value_ = log ? std::log(figure) : figure;

  const std::vector<double> parts = Influence(series);
  // Weights of mean 1.
  std::vector<double> weights = series.denominator;
  for (double& weight : weights) weight *= static_cast<double>(count) / denominators;
  const std::vector<double> part_sums = RoundSums(parts);
  const std::vector<double> weight_sums = RoundSums(weights);

  double squares = 0;
  for (size_t start = 0; start < count; ++start) {
    const double sum = part_sums[start + length] - part_sums[start];
    squares += sum * sum;
  }
  // Variance of the block means, over so many blocks as there are in all observations.
  const auto n = static_cast<double>(count);
  const auto l = static_cast<double>(length);
  variance_ = squares / n / (l * l) * (l / n) * BlockCorrection(phi, length, count);
  if (phi > 0 && EffectiveCount(phi, count) < kFewestEffective) {
    variance_ = std::max(variance_, Autocovariance(parts, 0));
  }
  if (log) variance_ /= figure * figure;

  deviation_.resize(resamples.replicates());
  replicate_variance_.resize(resamples.replicates());
  const auto k = static_cast<double>(blocks);
  for (size_t replicate = 0; replicate < deviation_.size(); ++replicate) {
    const uint32_t* starts = resamples.starts(replicate);
    double z = 0;
    double w = 0;
    double zz = 0;
    double zw = 0;
    double ww = 0;
    for (size_t block = 0; block < blocks; ++block) {
      const size_t start = starts[block];
      const double part = part_sums[start + length] - part_sums[start];
      const double weight = weight_sums[start + length] - weight_sums[start];
      z += part;
      w += weight;
      zz += part * part;
      zw += part * weight;
      ww += weight * weight;
    }
    if (!(w > 0)) {  // seconds without a write only
      deviation_[replicate] = -std::numeric_limits<double>::infinity();
      replicate_variance_[replicate] = 0;
      continue;
    }
    const double shift = z / w;  // the replicate's figure less the figure
    const double spread = std::max(zz - 2 * shift * zw + shift * shift * ww, 0.0);
    double variance = spread * k / (k - 1) / (w * w);
    double deviation = shift;
    if (log) {
      const double replicate_figure = figure + shift;
      deviation = std::log(std::max(replicate_figure, 0.0) / figure);
      variance = replicate_figure > 0 ? variance / (replicate_figure * replicate_figure) : 0;
    }
    deviation_[replicate] = deviation;
    replicate_variance_[replicate] = variance;
  }
}

StudentisedDifference::StudentisedDifference(const RatioBootstrap& first, const RatioBootstrap& second)
    : difference_(second.value() - first.value()), error_(std::sqrt(first.variance() + second.variance())) {
  const size_t replicates = std::min(first.replicates(), second.replicates());
  sorted_.resize(replicates);
  for (size_t i = 0; i < replicates; ++i) {
    const double deviation = second.deviation(i) - first.deviation(i);
    const double error = std::sqrt(first.variance(i) + second.variance(i));
    // Without any spread in it, a replicate that deviates is as far out as can be.
    sorted_[i] = deviation == 0 ? 0 : error > 0 ? std::abs(deviation / error) : std::numeric_limits<double>::infinity();
    if (std::isnan(sorted_[i])) sorted_[i] = std::numeric_limits<double>::infinity();
  }
  std::sort(sorted_.begin(), sorted_.end());
}

double StudentisedDifference::PValue(double truth) const {
  const double deviation = std::abs(difference_ - truth);
  if (deviation <= kRounding) return 1;
  const double t = error_ > 0 ? deviation / error_ : std::numeric_limits<double>::infinity();
  const auto beyond = sorted_.end() - std::lower_bound(sorted_.begin(), sorted_.end(), t);
  return static_cast<double>(beyond + 1) / static_cast<double>(sorted_.size() + 1);
}

double StudentisedDifference::Critical(double share) const {
  if (sorted_.empty()) return std::numeric_limits<double>::infinity();
  const auto n = static_cast<double>(sorted_.size());
  // So that PValue is at most `share` beyond it.
  const double rank = std::ceil((1 - share) * (n + 1));
  return rank > n ? std::numeric_limits<double>::infinity() : sorted_[static_cast<size_t>(rank) - 1];
}

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
  // where no shift is rejected.
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
