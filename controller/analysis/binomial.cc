#include "controller/analysis/binomial.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

double ChanceOfAtLeast(uint64_t count, uint64_t n, double share) {
  const auto of = static_cast<double>(n);
  const auto least = static_cast<double>(count);
  if (least <= of * share) return 1;
  if (count > n) return 0;
  // The first term, and then each by its ratio to the one before: above the expected number they fall at least as fast
  // as a geometric series.
  const double log_first = std::lgamma(of + 1) - std::lgamma(least + 1) - std::lgamma(of - least + 1) +
                           least * std::log(share) + (of - least) * std::log1p(-share);
  const double odds = share / (1 - share);
  constexpr double kNegligible = 1e-12;
  constexpr int kMostTerms = 10'000'000;
  double sum = 1;
  double term = 1;
  double i = least;
  for (int terms = 0; i < of && term > kNegligible * sum && terms < kMostTerms; ++terms, ++i) {
    term *= (of - i) / (i + 1) * odds;
    sum += term;
  }
  return std::min(1.0, std::exp(log_first) * sum);
}

}  // namespace plimsoll
