// Statistics of runs: pure functions of numbers. Sides of several runs each are compared with the runs as the
// observations (TestRuns), or, where they were measured in turn, round by round (PairedPValues).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

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
  // Half the width of the difference's interval at the requested level.
  double half_width = 0;
};

// Tests whether two sides differ. The values are one figure of each run, in logarithms mostly; each side has at least
// one, and both together three. `level` is 0.05 for an interval of 95 %. The bootstrap takes `replicates` repetitions
// with the generator of BlockResamples.
RunsTest TestRuns(const std::vector<double>& first, const std::vector<double>& second, double level, size_t replicates,
                  uint64_t seed);

// Two sides that were measured in turn, round by round: tests and intervals that hold whatever drifts, and that may be
// looked at while rounds are still being measured.
//
// A round measures each side once, in an order drawn by a fair coin. Where the sides do not differ, the coin alone
// decides which of the round's two figures is called A's, so that the sign of each difference is a coin's: every
// assignment of signs is as likely as the one that was seen. That is the test (Fisher, The Design of Experiments, 1935,
// 21; Pitman, Supplement to the JRSS 4, 1937), and it is exact for any drift, period, autocorrelation or distribution.
//
// Many figures at once: each assignment of signs applies to all figures of a round, and the largest statistic among
// them is what an observed one is compared with, step by step (maxT: Westfall and Young, Resampling-Based Multiple
// Testing, 1993). Many looks at once: a group-sequential design, in which each planned look has a share of the level
// that is fixed beforehand (Slud and Wei, JASA 77, 1982; for randomisation tests Plamadeala and Rosenberger, Annals of
// Statistics 40, 2012). The shares add up to 1, so that by Bonferroni's inequality all looks together keep the level,
// whatever makes the rounds end after one.

// With fewer rounds no order of signs is rarer than 5 %: two of 2^5 are 6.25 %.
inline constexpr size_t kFewestRounds = 6;
// More than anybody waits for.
inline constexpr size_t kMostRounds = 60;

// A number of complete rounds at which the figures are tested, and its share of the level.
struct Look {
  size_t rounds = 0;
  double share = 1;
};

// The looks of `planned` rounds, kFewestRounds to kMostRounds, in ascending order; the last is after all of them. The
// first is after 7 rounds, where the rarest signs are 1.6 %; each later one adds a third of the rounds before it.
std::vector<Look> PlannedLooks(size_t planned);

// Which differences count as evidence.
enum class Tail { kBoth, kAbove };

// One figure's differences of logarithms (B less A), by round.
using RoundDifferences = std::vector<double>;

// By figure, p-values of "no difference" (kBoth) or of "none above 0" (kAbove), adjusted for all figures and looks: the
// chance that any of them falls to `level` or below without cause, at any look, is at most `level`. All figures have
// the same rounds. 1 where no look has been reached.
std::vector<double> PairedPValues(const std::vector<RoundDifferences>& figures, const std::vector<Look>& looks,
                                  Tail tail);

// Where a figure's true difference lies, for this figure by itself, at all looks together.
struct PairedInterval {
  double low = 0;
  double high = 0;
};

// The differences that no look reached so far contradicts at `level`: those that, taken off each round, leave
// differences whose signs a coin may have made. Both ends are means of some of the rounds (Hartigan, JASA 64, 1969).
// Infinite where nothing bounds it. With kAbove `low` is infinite and `high` a one-sided bound.
PairedInterval PairedConfidence(const RoundDifferences& differences, const std::vector<Look>& looks, double level,
                                Tail tail);

}  // namespace plimsoll
