// Ages of writes that were never started, by the histogram's edges and one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "agent/writer/access_order.h"
#include "agent/writer/rate_schedule.h"
#include "common/histogram.h"
#include "common/units.h"
#include "tests/random_seed.h"

namespace plimsoll {
namespace {

v1::Distribution OneByOne(const RateSchedule& schedule, uint64_t from, uint64_t to, int64_t end_ns) {
  Histogram ages;
  for (uint64_t write = from; write < to; ++write) {
    ages.Record(static_cast<uint64_t>(end_ns - schedule.DueAt(write)));
  }
  return ages.ToProto();
}

TEST(NotIssuedAges, AreThoseOfTheWritesOneByOne) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-3, 6);
  for (int round = 0; round < 1000; ++round) {
    // From one write in a quarter of an hour to a million a second.
    const double rate = std::pow(10, exponent(random));
    const auto start_ns = static_cast<int64_t>(random() % 1'000'000'000'000'000);
    const RateSchedule schedule(start_ns, rate);
    const uint64_t writes = random() % 3000;
    // No more than three years after the start.
    const uint64_t from = random() % 3 == 0 ? 0 : random() % static_cast<uint64_t>(std::min(1e9, 1e8 * rate));
    // Often right at a write's due moment.
    const int64_t end_ns =
        schedule.DueAt(from + writes) +
        (random() % 2 == 0 ? 0 : static_cast<int64_t>(random() % static_cast<uint64_t>(1e9 / rate + 1)));
    const uint64_t to = schedule.DueBefore(end_ns);
    ASSERT_LE(to - from, 3002U);
    ASSERT_EQ(NotIssuedAges(schedule, from, to, end_ns).ShortDebugString(),
              OneByOne(schedule, from, to, end_ns).ShortDebugString())
        << "rate " << rate << ", start " << start_ns << ", writes " << from << " to " << to << ", end " << end_ns;
  }
}

TEST(NotIssuedAges, OfRandomArrivalsAreThoseOfTheWritesOneByOne) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    const auto rate = static_cast<double>(1 + random() % 100'000);
    const auto start_ns = static_cast<int64_t>(random() % 1'000'000'000'000);
    const RateSchedule schedule =
        RateSchedule::Poisson(start_ns, rate, {static_cast<uint32_t>(random()), 3, static_cast<uint32_t>(round)});
    const uint64_t from = random() % 10'000;
    const int64_t end_ns = schedule.DueAt(from + random() % 3'000) + static_cast<int64_t>(random() % 1'000'000);
    const uint64_t to = schedule.DueBefore(end_ns);
    ASSERT_EQ(NotIssuedAges(schedule, from, to, end_ns).ShortDebugString(),
              OneByOne(schedule, from, to, end_ns).ShortDebugString())
        << "rate " << rate << ", writes " << from << " to " << to << ", end " << end_ns;
  }
}

TEST(NotIssuedAges, OfChosenWritesAreThoseOfTheChosenOnesOneByOne) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    const RateSchedule schedule(static_cast<int64_t>(random() % 1'000'000'000),
                                static_cast<double>(1 + random() % 9'999));
    const Access access(/*random=*/false, static_cast<uint32_t>(1 + random() % 99), /*read_operation=*/1,
                        {static_cast<uint32_t>(random()), 0, 1});
    const uint64_t from = random() % 10'000;
    const uint64_t to = from + random() % 1'000;
    const int64_t end_ns = schedule.DueAt(to) + 1;
    const ChosenWrites reads{[&access](uint64_t number) { return access.ReadsBelow(number); }};
    Histogram ages;
    for (uint64_t number = from; number < to; ++number) {
      if (access.Reads(number)) ages.Record(static_cast<uint64_t>(end_ns - schedule.DueAt(number)));
    }
    const v1::Distribution expected = ages.count() == 0 ? v1::Distribution() : ages.ToProto();
    ASSERT_EQ(ChosenNotIssuedAges(schedule, from, to, end_ns, reads).ShortDebugString(), expected.ShortDebugString())
        << "writes " << from << " to " << to;
  }
}

TEST(NotIssuedAges, OfMoreRandomArrivalsThanAreSummedDifferInTheSumAlone) {
  // Up to three hours, which is more than a histogram's largest value.
  const RateSchedule schedule = RateSchedule::Poisson(5, 100, {7, 1, 1});
  const int64_t end_ns = int64_t{3} * 3'600 * kNsPerSecond;
  const uint64_t to = schedule.DueBefore(end_ns);
  v1::Distribution exact = NotIssuedAges(schedule, 10, to, end_ns);
  v1::Distribution sliced = NotIssuedAges(schedule, 10, to, end_ns, /*most_summed=*/1'000);
  const auto sum = static_cast<double>(SumNs(exact));
  EXPECT_NEAR(static_cast<double>(SumNs(sliced)), sum, 1e-4 * sum);
  Histogram read;
  EXPECT_TRUE(read.Merge(sliced).ok());
  sliced.set_sum_ns(exact.sum_ns());
  sliced.set_sum_ns_high(exact.sum_ns_high());
  EXPECT_EQ(sliced.ShortDebugString(), exact.ShortDebugString());
}

TEST(NotIssuedAges, OfNoWriteAreEmpty) {
  EXPECT_EQ(NotIssuedAges(RateSchedule(0, 100), 5, 5, kNsPerSecond).ShortDebugString(), "");
}

TEST(NotIssuedAges, OfMillionsASecondOverHoursAreExact) {
  // Write n is due after n microseconds.
  const RateSchedule schedule(1'000, 1'000'000);
  const uint64_t writes = uint64_t{8} * 3'600 * 1'000'000;
  const int64_t end_ns = schedule.DueAt(writes);
  ASSERT_EQ(schedule.DueBefore(end_ns), writes);
  const v1::Distribution ages = NotIssuedAges(schedule, 0, writes, end_ns);
  EXPECT_EQ(ages.count(), writes);
  EXPECT_EQ(SumNs(ages), absl::uint128(1'000) * writes * (writes + 1) / 2);
  EXPECT_GT(ages.sum_ns_high(), 0U);
  EXPECT_EQ(ages.min_ns(), 1'000U);
  EXPECT_EQ(ages.max_ns(), 1'000 * writes);
  // All but those of the last hour.
  EXPECT_EQ(ages.histogram().clamped(), writes - uint64_t{3'600} * 1'000'000);
  Histogram read;
  EXPECT_TRUE(read.Merge(ages).ok());
}

}  // namespace
}  // namespace plimsoll
