// Comparing sides of several runs each, with runs as the observations; Student's t distribution, and many tests at
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

// Chance that |t| with `degrees` > 0 degrees of freedom, not necessarily whole, is at least `t` >= 0: the regularised
// incomplete beta function I_x(degrees / 2, 1 / 2) at x = degrees / (degrees + t^2), by Lentz's continued fraction
// (NIST Digital Library of Mathematical Functions, 8.17.22).
double TwoSidedT(double t, double degrees);

// The t beyond which |t| lies with chance `share`, in (0, 1).
double CriticalT(double share, double degrees);

// Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979): p-values that can each be held against one
// limit, so that the chance that any of them falls below it without cause is at most that limit, however the tests
// depend on one another. In the order of `p`, at most 1.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

// The test by which a difference of two sides of runs is significant.
enum class RunsMethod {
  // Runs are drawn from each side's runs, studentised (Davison and Hinkley, Bootstrap Methods and their Application,
  // 1997, 5.2.1).
  kBootstrap,
  // Welch's t-test: too few runs to draw from, for fewer than 6 runs have too few different samples.
  kWelch,
  // Student's t-test with one variance for both sides: a side of one or two runs says next to nothing of its own.
  kStudent,
};

// With so many runs on each side, at least 3 in all.
RunsMethod MethodForRuns(size_t first, size_t second);

struct RunsTest {
  // Mean of the second side's values less that of the first, and its standard error.
  double difference = 0;
  double error = 0;
  // Two-sided p-value of no difference.
  double p = 1;
  // So far on both sides of the difference reaches the interval whose level was asked for.
  double half_width = 0;
};

// Tests whether two sides differ. The values are one figure of each run, in logarithms mostly; each side has at least
// one, and both together three. `level` is 0.05 for an interval of 95 %. The bootstrap takes `replicates` repetitions
// with the generator of BlockResamples.
RunsTest TestRuns(const std::vector<double>& first, const std::vector<double>& second, double level, size_t replicates,
                  uint64_t seed);

}  // namespace plimsoll
