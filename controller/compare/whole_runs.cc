#include "controller/compare/whole_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "controller/compare/ratio_bootstrap.h"
#include "controller/compare/student_t.h"

namespace plimsoll {
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
