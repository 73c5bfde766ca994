#include "common/student_t.h"

#include <cmath>

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
    if (middle <= low || middle >= high) break;
    (TwoSidedT(middle, degrees) > share ? low : high) = middle;
  }
  return high;
}

}  // namespace plimsoll
