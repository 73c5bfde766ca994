#include "controller/compare/block_length.h"

#include <algorithm>
#include <cmath>

#include "controller/compare/autocorrelation.h"

namespace plimsoll {
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

}  // namespace plimsoll
