// Pure parts of the write path: places of blocks, schedule, intervals.
#include <gtest/gtest.h>

#include <random>

#include "agent/writer/log_files.h"
#include "agent/writer/rate_schedule.h"
#include "agent/writer/writer_tally.h"
#include "tests/random_seed.h"

namespace plimsoll {
namespace {

TEST(ExtentLayout, PlacesAreTheSameStepByStepAndByNumber) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const uint64_t block = 512 * (1 + random() % 64);
    const uint64_t file = block + random() % (block * 20);
    const auto files = static_cast<uint32_t>(1 + random() % 6);
    const ExtentLayout layout(file, files, block);
    const uint64_t first = random() % 100;
    ExtentWalk walk(layout, first);
    for (uint64_t n = 0; n < 300; ++n) {
      const BlockPlace place = walk.Take(block);
      ASSERT_EQ(place, layout.PlaceOf(first + n));
      ASSERT_LT(place.extent, files);
      ASSERT_LE(place.offset_bytes + block, file);
      ASSERT_EQ(place.offset_bytes % block, 0U);
    }
    EXPECT_EQ(layout.PlaceOf(layout.blocks_per_lap()), layout.PlaceOf(0));
  }
}

TEST(ExtentLayout, ExtentsOfTwoAndFourGibibytesAreNothingSpecial) {
  for (const uint64_t gibibytes : {2U, 4U, 5U, 1024U}) {
    const uint64_t file = gibibytes << 30U;
    const ExtentLayout layout(file, 3, 4096);
    const uint64_t last = file / 4096 - 1;
    EXPECT_EQ(layout.PlaceOf(last), (BlockPlace{0, file - 4096}));
    ExtentWalk walk(layout, last);
    EXPECT_EQ(walk.Take(4096), (BlockPlace{0, file - 4096}));
    EXPECT_EQ(walk.Take(4096), (BlockPlace{1, 0}));
    EXPECT_EQ(layout.PlaceOf(3 * (last + 1) - 1), (BlockPlace{2, file - 4096}));
    EXPECT_EQ(layout.blocks_per_lap(), 3 * (file / 4096));
  }
}

TEST(ExtentWalk, BlocksOfSeveralSizesFollowOneAnotherAndOneThatDoesNotFitGoesToTheNextExtent) {
  ExtentWalk walk(ExtentLayout(10'000, 2, 6'000), 0);
  EXPECT_EQ(walk.Take(4'000), (BlockPlace{0, 0}));
  EXPECT_EQ(walk.Take(6'000), (BlockPlace{0, 4'000}));
  EXPECT_EQ(walk.Take(5'000), (BlockPlace{1, 0}));
  EXPECT_EQ(walk.Take(5'001), (BlockPlace{0, 0}));
  EXPECT_EQ(walk.laps(), 1U);
  EXPECT_EQ(walk.Take(1), (BlockPlace{0, 5'001}));
}

TEST(RateSchedule, IsExactAfterYears) {
  const RateSchedule schedule(5, 3.0);
  EXPECT_EQ(schedule.DueAt(0), 5);
  EXPECT_EQ(schedule.DueAt(1), 5 + 333'333'333);
  // Ten years at a million a second.
  const RateSchedule fast(0, 1e6);
  EXPECT_EQ(fast.DueAt(315'360'000'000'000), 315'360'000'000'000'000);
  EXPECT_EQ(schedule.DueAt(3'000'000'000), 5 + 1'000'000'000'000'000'000);
}

TEST(RateSchedule, CountsExactlyTheWritesThatAreDueBefore) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20'000; ++round) {
    const double rate = std::exp2(static_cast<double>(random() % 3000) / 100.0 - 9.5);
    if (rate < 0.001 || rate > 1e6) continue;
    const auto start = static_cast<int64_t>(random() % 1'000'000'000'000);
    const RateSchedule schedule(start, rate);
    const auto moment = start + static_cast<int64_t>(random() % 100'000'000'000'000);
    const uint64_t due = schedule.DueBefore(moment);
    ASSERT_GE(schedule.DueAt(due), moment) << rate;
    if (due > 0) {
      ASSERT_LT(schedule.DueAt(due - 1), moment) << rate;
    }
    // Never off by more than the nanosecond that the floor takes.
    const auto exact = static_cast<long double>(due) * 1e9L / static_cast<long double>(rate);
    ASSERT_NEAR(static_cast<double>(schedule.DueAt(due) - start), static_cast<double>(exact),
                2.0 + static_cast<double>(exact) * 1e-6 / rate);
  }
  EXPECT_EQ(RateSchedule(100, 5).DueBefore(100), 0U);
  EXPECT_EQ(RateSchedule(100, 5).DueBefore(101), 1U);
}

TEST(RateSchedule, EvenWritersShareThePeriod) {
  // 4 writers at 10/s: 25 ms apart.
  for (uint64_t writer = 0; writer < 4; ++writer) {
    const RateSchedule schedule = RateSchedule::Even(1'000, 10, writer, 4);
    const auto phase = static_cast<int64_t>(writer) * 25'000'000;
    EXPECT_EQ(schedule.DueAt(0), 1'000 + phase);
    EXPECT_EQ(schedule.DueAt(7), 1'000 + phase + 700'000'000);
    EXPECT_EQ(schedule.DueBefore(1'000 + phase), 0U);
    EXPECT_EQ(schedule.DueBefore(1'001 + phase), 1U);
  }
  // The slowest rate over the most writers does not overflow.
  EXPECT_EQ(RateSchedule::Even(0, 0.001, 4096 * 4096 - 1, 4096 * 4096).DueAt(0), 999'999'940'395);
}

TEST(StepTimes, IntervalsBelowZeroAreWarmUp) {
  const StepTimes times(1000, 250, 1000, 100);
  EXPECT_EQ(times.measured_start_ns(), 1250);
  EXPECT_EQ(times.end_ns(), 2250);
  EXPECT_EQ(times.first_interval(), -3);
  EXPECT_EQ(times.IntervalOf(1000), -3);
  EXPECT_EQ(times.EndOf(-3), 1050);
  EXPECT_EQ(times.IntervalOf(1050), -2);
  EXPECT_EQ(times.IntervalOf(1249), -1);
  EXPECT_EQ(times.IntervalOf(1250), 0);
  EXPECT_EQ(times.closing_interval(), 10);
  EXPECT_EQ(times.IntervalOf(2249), 9);
  EXPECT_EQ(times.IntervalOf(2250), 10);
  EXPECT_EQ(times.IntervalOf(99999), 10);
}

TEST(StepTimes, TheLastIntervalEndsWithTheStep) {
  const StepTimes times(0, 0, 1030, 100);
  EXPECT_EQ(times.closing_interval(), 11);
  EXPECT_EQ(times.EndOf(9), 1000);
  EXPECT_EQ(times.EndOf(10), 1030);
  EXPECT_EQ(times.IntervalOf(1029), 10);
  EXPECT_EQ(times.IntervalOf(1030), 11);
}

TEST(StepTimes, EveryMomentLiesInTheIntervalThatItIsSaidToLieIn) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 10'000; ++round) {
    const auto interval = static_cast<int64_t>(1 + random() % 500);
    const StepTimes times(static_cast<int64_t>(random() % 10'000), static_cast<int64_t>(random() % 3000),
                          static_cast<int64_t>(1 + random() % 5000), interval);
    const int64_t moment =
        times.start_ns() + static_cast<int64_t>(random() % static_cast<uint64_t>(times.end_ns() - times.start_ns()));
    const int32_t k = times.IntervalOf(moment);
    ASSERT_GE(k, times.first_interval());
    ASSERT_LT(k, times.closing_interval());
    ASSERT_LT(moment, times.EndOf(k));
    ASSERT_GE(moment, times.EndOf(k - 1));
  }
}

}  // namespace
}  // namespace plimsoll
