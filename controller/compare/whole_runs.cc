#include "controller/compare/whole_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "common/algorithm.h"
#include "controller/compare/block_bootstrap.h"

namespace plimsoll {
namespace {

// Continued fraction of the incomplete beta function; converges fast for x < (a + 1) / (a + b + 2).
double BetaFraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-15;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 10'000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return fraction;
}

// Regularised incomplete beta function; `rest` is 1 - x, known better than by subtraction.
double IncompleteBeta(double x, double rest, double a, double b) {
  if (x <= 0) return 0;
  if (rest <= 0) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log(rest));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(x, a, b) / a;
  return 1 - front * BetaFraction(rest, b, a) / b;
}

}  // namespace

double TwoSidedT(double t, double degrees) {
  if (std::isinf(t)) return 0;
  const double square = t * t;
  return IncompleteBeta(degrees / (degrees + square), square / (degrees + square), degrees / 2, 0.5);
}

double CriticalT(double share, double degrees) {
  double low = 0;
  double high = 1;
  while (TwoSidedT(high, degrees) > share && high < 1e300) high *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    (TwoSidedT(middle, degrees) > share ? low : high) = middle;
  }
  return high;
}

std::vector<double> HolmAdjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  StableSort(order, [&p](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - i) * p[order[i]]));
    adjusted[order[i]] = largest;
  }
  return adjusted;
}

namespace {

constexpr size_t kFewestForBootstrap = 6;
constexpr size_t kFewestForWelch = 3;

struct Moments {
  double count = 0;
  double mean = 0;
  // Sum of the squared deviations from the mean.
  double squares = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  Moments moments;
  moments.count = static_cast<double>(values.size());
  moments.mean = std::accumulate(values.begin(), values.end(), 0.0) / moments.count;
  for (const double value : values) moments.squares += (value - moments.mean) * (value - moments.mean);
  return moments;
}

RunsTest ByT(const Moments& first, const Moments& second, double error, double degrees, double level) {
  RunsTest test;
  test.difference = second.mean - first.mean;
  test.error = error;
  if (test.difference != 0) test.p = error > 0 ? TwoSidedT(std::abs(test.difference) / error, degrees) : 0;
  test.half_width = CriticalT(level, degrees) * error;
  return test;
}

RunsTest Student(const Moments& first, const Moments& second, double level) {
  const double degrees = first.count + second.count - 2;
  const double variance = (first.squares + second.squares) / degrees;
  return ByT(first, second, std::sqrt(variance * (1 / first.count + 1 / second.count)), degrees, level);
}

RunsTest Welch(const Moments& first, const Moments& second, double level) {
  const double a = first.squares / (first.count - 1) / first.count;
  const double b = second.squares / (second.count - 1) / second.count;
  const double spread = a * a / (first.count - 1) + b * b / (second.count - 1);
  const double degrees = spread > 0 ? (a + b) * (a + b) / spread : first.count + second.count - 2;
  return ByT(first, second, std::sqrt(a + b), degrees, level);
}

RunsTest Bootstrap(const std::vector<double>& first, const std::vector<double>& second, double level, size_t replicates,
                   uint64_t seed) {
  const auto side = [&](const std::vector<double>& values, uint64_t own_seed) {
    // Blocks of one run.
    return RatioBootstrap({values, std::vector<double>(values.size(), 1.0)}, Scale::kLinear, 0,
                          BlockResamples(values.size(), 1, replicates, own_seed));
  };
  const StudentisedDifference difference(side(first, seed), side(second, seed + 1));
  RunsTest test;
  test.difference = difference.difference();
  test.error = difference.error();
  test.p = difference.PValue();
  // Nothing scatters: nothing to multiply an infinite bound with.
  test.half_width = test.error > 0 ? difference.Critical(level) * test.error : 0;
  return test;
}

}  // namespace

RunsMethod MethodForRuns(size_t first, size_t second) {
  const size_t fewest = std::min(first, second);
  if (fewest >= kFewestForBootstrap) return RunsMethod::kBootstrap;
  return fewest >= kFewestForWelch ? RunsMethod::kWelch : RunsMethod::kStudent;
}

RunsTest TestRuns(const std::vector<double>& first, const std::vector<double>& second, double level, size_t replicates,
                  uint64_t seed) {
  switch (MethodForRuns(first.size(), second.size())) {
    case RunsMethod::kBootstrap:
      return Bootstrap(first, second, level, replicates, seed);
    case RunsMethod::kWelch:
      return Welch(MomentsOf(first), MomentsOf(second), level);
    case RunsMethod::kStudent:
      return Student(MomentsOf(first), MomentsOf(second), level);
  }
  return {};
}

}  // namespace plimsoll
