#include "controller/statistics/run_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>

#include "common/algorithm.h"
#include "common/student_t.h"
#include "controller/statistics/second_statistics.h"

namespace plimsoll {

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

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Up to here all assignments of signs are looked at, above as many that are drawn.
constexpr size_t kMostExactRounds = 14;
constexpr size_t kAssignments = size_t{1} << kMostExactRounds;
constexpr size_t kFirstLook = 7;
// A little more than the first look needs at a level of 5 % to show anything: two of 2^7 assignments.
constexpr double kFirstShare = 0.32;
constexpr double kLastShare = 0.4;
// Sums of the same numbers in another order are equal up to this.
constexpr double kSame = 1e-9;

// Sets of rounds whose signs are turned; the first is empty: what was observed. Of many rounds they are drawn, and with
// the observed one among them the p-value holds all the same (Phipson and Smyth, Statistical Applications in Genetics
// and Molecular Biology 9, 2010).
std::vector<uint64_t> TurnedRounds(size_t rounds) {
  std::vector<uint64_t> sets(rounds <= kMostExactRounds ? size_t{1} << rounds : kAssignments);
  if (rounds <= kMostExactRounds) {
    std::iota(sets.begin(), sets.end(), uint64_t{0});
    return sets;
  }
  std::mt19937_64 generator(rounds);
  const uint64_t all = (uint64_t{1} << rounds) - 1;
  for (size_t i = 1; i < sets.size(); ++i) sets[i] = generator() & all;
  return sets;
}

bool IsTurned(uint64_t set, size_t round) {
  return (set >> round & 1) != 0;
}

// The figure's statistic for each assignment: the sum of its differences over the root of the sum of their squares,
// which no assignment changes. So figures of different scatter can be compared with one another.
std::vector<double> Statistics(const RoundDifferences& differences, size_t rounds, const std::vector<uint64_t>& sets,
                               Tail tail) {
  double squares = 0;
  for (size_t round = 0; round < rounds; ++round) squares += differences[round] * differences[round];
  std::vector<double> statistics(sets.size(), 0.0);
  if (!(squares > 0)) return statistics;
  const double scale = 1 / std::sqrt(squares);
  for (size_t i = 0; i < sets.size(); ++i) {
    double sum = 0;
    for (size_t round = 0; round < rounds; ++round) {
      sum += IsTurned(sets[i], round) ? -differences[round] : differences[round];
    }
    statistics[i] = (tail == Tail::kBoth ? std::abs(sum) : sum) * scale;
  }
  return statistics;
}

// p-values of one look, adjusted for all figures.
std::vector<double> StepDown(const std::vector<RoundDifferences>& figures, size_t rounds, Tail tail) {
  const std::vector<uint64_t> sets = TurnedRounds(rounds);
  std::vector<std::vector<double>> statistics;
  statistics.reserve(figures.size());
  for (const RoundDifferences& figure : figures) statistics.push_back(Statistics(figure, rounds, sets, tail));
  std::vector<size_t> order(figures.size());
  std::iota(order.begin(), order.end(), size_t{0});
  StableSort(order, [&](size_t a, size_t b) { return statistics[a].front() < statistics[b].front(); });
  // From the smallest statistic on, the largest of those so far: what the next larger one is compared with.
  std::vector<double> largest(sets.size(), -kInfinity);
  std::vector<double> p(figures.size(), 1.0);
  for (const size_t figure : order) {
    size_t beyond = 0;
    const double observed = statistics[figure].front() - kSame;
    for (size_t i = 0; i < sets.size(); ++i) {
      largest[i] = std::max(largest[i], statistics[figure][i]);
      if (largest[i] >= observed) ++beyond;
    }
    p[figure] = static_cast<double>(beyond) / static_cast<double>(sets.size());
  }
  // No p-value is smaller than that of a larger statistic.
  double least = 0;
  for (auto figure = order.rbegin(); figure != order.rend(); ++figure) {
    p[*figure] = least = std::max(least, p[*figure]);
  }
  return p;
}

double MeanOf(const RoundDifferences& differences, size_t rounds, uint64_t set, bool turned) {
  double sum = 0;
  size_t count = 0;
  for (size_t round = 0; round < rounds; ++round) {
    if (IsTurned(set, round) != turned) continue;
    sum += differences[round];
    ++count;
  }
  return count == 0 ? kInfinity : sum / static_cast<double>(count);
}

// The interval of one look at its own level. A difference m below the mean is contradicted by an assignment unless the
// mean of the turned rounds, or for both tails of the others, is m or less; likewise above.
PairedInterval OneLook(const RoundDifferences& differences, size_t rounds, double level, Tail tail) {
  const std::vector<uint64_t> sets = TurnedRounds(rounds);
  std::vector<double> low(sets.size());
  std::vector<double> high(sets.size());
  for (size_t i = 0; i < sets.size(); ++i) {
    const double turned = MeanOf(differences, rounds, sets[i], true);
    const double others = MeanOf(differences, rounds, sets[i], false);
    // All rounds turned, or none, contradict nothing.
    const bool none = std::isinf(turned);
    const bool all = std::isinf(others);
    low[i] = none || all ? -kInfinity : std::min(turned, others);
    high[i] = tail == Tail::kBoth ? (none || all ? kInfinity : std::max(turned, others)) : turned;
  }
  const auto allowed = static_cast<size_t>(level * static_cast<double>(sets.size()) + kSame);
  PairedInterval interval{-kInfinity, kInfinity};
  if (allowed >= sets.size()) return interval;
  const auto nth = static_cast<std::ptrdiff_t>(allowed);
  if (tail == Tail::kBoth) {
    std::nth_element(low.begin(), low.begin() + nth, low.end());
    interval.low = low[allowed];
  }
  std::nth_element(high.begin(), high.begin() + nth, high.end(), std::greater<>());
  interval.high = high[allowed];
  return interval;
}

}  // namespace

std::vector<Look> PlannedLooks(size_t planned) {
  if (planned <= kFirstLook) return {{planned, 1}};
  std::vector<Look> looks = {{kFirstLook, kFirstShare}};
  for (size_t next = (kFirstLook * 4 + 2) / 3; next + 1 < planned; next = (next * 4 + 2) / 3)
    looks.push_back({next, 0});
  const double between = 1 - kFirstShare - kLastShare;
  const auto middle = static_cast<double>(looks.size() - 1);
  for (size_t i = 1; i < looks.size(); ++i) looks[i].share = between / middle;
  looks.push_back({planned, middle > 0 ? kLastShare : 1 - kFirstShare});
  return looks;
}

std::vector<double> PairedPValues(const std::vector<RoundDifferences>& figures, const std::vector<Look>& looks,
                                  Tail tail) {
  std::vector<double> p(figures.size(), 1.0);
  if (figures.empty()) return p;
  for (const Look& look : looks) {
    if (look.rounds > figures.front().size()) break;
    const std::vector<double> here = StepDown(figures, look.rounds, tail);
    for (size_t i = 0; i < p.size(); ++i) p[i] = std::min(p[i], here[i] / look.share);
  }
  return p;
}

PairedInterval PairedConfidence(const RoundDifferences& differences, const std::vector<Look>& looks, double level,
                                Tail tail) {
  PairedInterval interval{-kInfinity, kInfinity};
  for (const Look& look : looks) {
    if (look.rounds > differences.size()) break;
    const PairedInterval here = OneLook(differences, look.rounds, level * look.share, tail);
    interval.low = std::max(interval.low, here.low);
    interval.high = std::min(interval.high, here.high);
  }
  return interval;
}

}  // namespace plimsoll
