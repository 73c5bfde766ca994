// Random arrivals: a pure function of their key, and Poisson distributed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "agent/writer/rate_schedule.h"
#include "tests/random_seed.h"

namespace plimsoll {
namespace {

using Key = PoissonArrivals::Key;

std::vector<int64_t> InOrder(Key key, uint64_t rate_micro, size_t count) {
  const PoissonArrivals arrivals(key, rate_micro);
  std::vector<int64_t> moments;
  for (size_t n = 0; n < count; ++n) moments.push_back(arrivals.At(n));
  return moments;
}

TEST(PoissonArrivals, AnyOrderOfQuestionsGetsTheAnswersOfTheirOrder) {
  const auto seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const uint64_t rate_micro : {1'000ULL, 30'000'000ULL, 999'999'999'999ULL, 1'000'000'000'000ULL}) {
    const Key key{seed, 3, 7};
    const std::vector<int64_t> moments = InOrder(key, rate_micro, 5'000);
    ASSERT_TRUE(std::is_sorted(moments.begin(), moments.end()));
    const PoissonArrivals shuffled(key, rate_micro);
    for (int round = 0; round < 5'000; ++round) {
      const size_t n = random() % moments.size();
      ASSERT_EQ(shuffled.At(n), moments[n]) << n;
      // Exactly those before a moment count, whether it is an arrival's or not.
      const int64_t moment = moments[random() % moments.size()] + static_cast<int64_t>(random() % 3) - 1;
      const auto before = std::lower_bound(moments.begin(), moments.end(), moment) - moments.begin();
      ASSERT_EQ(shuffled.Before(moment), static_cast<uint64_t>(before)) << moment;
    }
  }
}

TEST(PoissonArrivals, HoldFarFromTheStart) {
  const auto seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const PoissonArrivals arrivals({seed, 0, 1}, 1'000'000'000'000);
  for (int round = 0; round < 20'000; ++round) {
    const uint64_t n = random() % (uint64_t{1} << (1 + random() % 50));
    const int64_t moment = arrivals.At(n);
    ASSERT_LE(arrivals.Before(moment), n);
    ASSERT_GT(arrivals.Before(moment + 1), n);
    ASSERT_LE(moment, arrivals.At(n + 1));
  }
  EXPECT_EQ(arrivals.At(UINT64_MAX), int64_t{1} << 62) << "there is an end";
  EXPECT_EQ(arrivals.Before(0), 0U);
  EXPECT_EQ(arrivals.Before(-5), 0U);
}

// The largest distance of the sorted values, mapped to (0, 1), from a uniform distribution, times the root of how many
// there are: above 1.95 in one of a thousand samples.
double KolmogorovSmirnov(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    distance = std::max(
        {distance, values[i] - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - values[i]});
  }
  return distance * std::sqrt(count);
}

// Fixed seeds: a test of chance that is right once is right for ever.
TEST(PoissonArrivals, IntervalsAreExponential) {
  for (const double rate : {0.5, 30.0, 1234.5, 40'000.0}) {
    const std::vector<int64_t> moments = InOrder({42, 1, 1}, static_cast<uint64_t>(rate * 1e6), 200'001);
    std::vector<double> shares;
    for (size_t n = 1; n < moments.size(); ++n) {
      shares.push_back(1 - std::exp(-rate * static_cast<double>(moments[n] - moments[n - 1]) / 1e9));
    }
    EXPECT_LT(KolmogorovSmirnov(shares), 1.95) << rate;
    // Neighbours know nothing of one another: the correlation of 200,000 pairs is within 4 of its standard errors.
    double sum = 0;
    for (size_t n = 1; n < shares.size(); ++n) sum += 12 * (shares[n] - 0.5) * (shares[n - 1] - 0.5);
    EXPECT_LT(std::abs(sum / static_cast<double>(shares.size() - 1)), 4 / std::sqrt(200'000.0)) << rate;
  }
}

TEST(PoissonArrivals, CountsOfEqualTimesArePoisson) {
  // Windows of 10 arrivals on average, as many as make 2^20 arrivals: mean and variance are both 10.
  const PoissonArrivals arrivals({7, 0, 1}, 1'000'000'000);
  const int windows = 100'000;
  double sum = 0;
  double squares = 0;
  uint64_t before = 0;
  for (int window = 1; window <= windows; ++window) {
    const uint64_t now = arrivals.Before(int64_t{window} * 10'000'000);
    const auto count = static_cast<double>(now - before);
    before = now;
    sum += count;
    squares += count * count;
  }
  const double mean = sum / windows;
  EXPECT_NEAR(mean, 10, 4 * std::sqrt(10.0 / windows));
  EXPECT_NEAR(squares / windows - mean * mean, 10, 4 * 10 * std::sqrt(2.1 / windows));
}

TEST(PoissonArrivals, TheRateIsHeldOverAnyTime) {
  for (uint32_t writer = 1; writer <= 50; ++writer) {
    const PoissonArrivals arrivals({11, 0, writer}, 30'000'000);
    for (const double seconds : {100.0, 86'400.0, 1e7}) {
      const double expected = 30 * seconds;
      EXPECT_NEAR(static_cast<double>(arrivals.Before(static_cast<int64_t>(seconds * 1e9))), expected,
                  5 * std::sqrt(expected));
    }
  }
}

TEST(PoissonArrivals, WritersHostsAndSeedsAreIndependent) {
  const std::vector<int64_t> one = InOrder({1, 0, 1}, 1'000'000'000, 20'000);
  for (const Key other : {Key{1, 0, 2}, Key{1, 1, 1}, Key{2, 0, 1}}) {
    // Where the other's next arrival falls in this one's interval is uniform.
    const PoissonArrivals arrivals(other, 1'000'000'000);
    std::vector<double> shares;
    for (size_t n = 1; n < one.size(); ++n) {
      const int64_t next = arrivals.At(arrivals.Before(one[n]));
      shares.push_back(1 - std::exp(-static_cast<double>(next - one[n]) / 1e6));
    }
    EXPECT_LT(KolmogorovSmirnov(shares), 1.95 * 2) << "neighbours share the other's arrivals";
    EXPECT_NE(arrivals.At(0), one[0]);
  }
}

TEST(RateSchedule, RandomArrivalsAreThoseOfTheirKeyAfterTheStart) {
  const RateSchedule schedule = RateSchedule::Poisson(1'000, 30, {5, 2, 9});
  const PoissonArrivals arrivals({5, 2, 9}, 30'000'000);
  for (uint64_t n = 0; n < 1'000; ++n) {
    EXPECT_EQ(schedule.DueAt(n), 1'000 + arrivals.At(n));
    EXPECT_EQ(schedule.DueBefore(schedule.DueAt(n)), arrivals.Before(arrivals.At(n)));
  }
  const RateSchedule copy = schedule;
  EXPECT_EQ(copy.DueAt(17), schedule.DueAt(17));
}

}  // namespace
}  // namespace plimsoll
