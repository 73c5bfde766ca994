#include "controller/compare/autocorrelation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

}  // namespace plimsoll
