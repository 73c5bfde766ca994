#include "controller/compare/ratio_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "controller/compare/autocorrelation.h"

namespace plimsoll {
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
  // Of the block means, over so many blocks as there are in all observations.
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

}  // namespace plimsoll
