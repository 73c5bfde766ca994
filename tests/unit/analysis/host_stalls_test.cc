// What is kept of the intervals that a host tells, and what of them may be a stall.
#include "controller/analysis/host_stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kMs = kNsPerMs;

v1::Frame FrameWithStall(int64_t begin_ms, int64_t end_ms) {
  v1::Frame frame;
  frame.set_qm(1);
  v1::StalledInterval& stall = *frame.add_stalls();
  stall.set_begin_ns(begin_ms * kMs);
  stall.set_end_ns(end_ms * kMs);
  stall.set_writes(1);
  return frame;
}

TEST(HostStalls, AnIntervalOfManyWritesCountsByTheLongestOfThem) {
  // On a schedule, late by 60 ms all the time.
  StallBudget budget;
  StepShape shape;
  shape.stall_ns = 100 * kMs;
  HostStalls stalls(shape, budget);
  v1::Frame frame = FrameWithStall(1'000, 5'000);
  frame.mutable_stalls(0)->set_longest_ns(60 * kMs);
  stalls.Take(frame, kMs, 1'000);
  const HostStalls::Intervals found = stalls.OfWriter(1, 100 * kMs, kMs);
  EXPECT_THAT(found.stalls, IsEmpty());
  EXPECT_THAT(found.others, SizeIs(1));
}

TEST(HostStalls, OfStallsOfSixteenHundredWritersTheLongestAreKept) {
  StallBudget budget;
  std::vector<std::unique_ptr<HostStalls>> hosts;
  for (int host = 0; host < 16; ++host) hosts.push_back(std::make_unique<HostStalls>(StepShape{}, budget));
  const auto all_stand = [&hosts](int64_t begin_ms, int64_t end_ms) {
    for (auto& host : hosts) {
      for (uint32_t qm = 1; qm <= 100; ++qm) {
        v1::Frame frame = FrameWithStall(begin_ms, end_ms);
        frame.set_qm(qm);
        host->Take(frame, 0, 0);
      }
    }
  };
  for (int64_t i = 0; i < 62; ++i) all_stand(i * 1'000 + 1'000, i * 1'000 + 1'200);
  EXPECT_EQ(budget.intervals_left, 800U);
  // Half of the 63rd finds room that nobody else needs; the others of that length find none.
  all_stand(70'000, 70'200);
  EXPECT_EQ(budget.intervals_left, 0U);
  EXPECT_EQ(budget.intervals_left_out, 800U);
  // One that is longer is kept, whole, whatever came before it.
  all_stand(80'000, 85'000);
  all_stand(90'000, 90'150);
  EXPECT_EQ(budget.intervals_left_out, 800U + 1'600 + 1'600);
  EXPECT_EQ(budget.kept.size(), 100'000U);
  size_t kept = 0;
  for (auto& host : hosts) {
    for (uint32_t qm = 1; qm <= 100; ++qm) {
      const HostStalls::Intervals found = host->OfWriter(qm, 100 * kMs, 0);
      kept += found.stalls.size();
      ASSERT_FALSE(found.stalls.empty());
      EXPECT_EQ(found.stalls.back().begin_ns, 80'000 * kMs);
      EXPECT_EQ(found.complete_until_ns, INT64_MAX) << "what is missing is known by its time";
    }
    EXPECT_EQ(host->left_out().back().begin_ns, 90'000 * kMs);
    EXPECT_EQ(host->left_out().back().end_ns, 90'150 * kMs);
  }
  EXPECT_EQ(kept, 100'000U);
}

TEST(HostStalls, WhereIntervalsAreMissingIsKnownInABoundedNumberOfSpans) {
  StallBudget budget{.intervals_left = 1};
  HostStalls stalls(StepShape{}, budget);
  stalls.Take(FrameWithStall(1, 9'000), 0, 0);
  for (int64_t i = 1; i <= 3'000; ++i) stalls.Take(FrameWithStall(i * 10'000, i * 10'000 + 200 + i), 0, 0);
  EXPECT_EQ(budget.intervals_left_out, 3'000U);
  EXPECT_THAT(stalls.left_out(), SizeIs(1'000));
  const CoveredTime covered(stalls.left_out());
  for (int64_t i = 1; i <= 3'000; ++i) {
    EXPECT_EQ(covered.Within(i * 10'000 * kMs, (i * 10'000 + 200 + i) * kMs), (200 + i) * kMs);
  }
  EXPECT_EQ(covered.Within(0, 9'000 * kMs), 0);
}

TEST(HostStalls, ARowThatHasGrownIsAsLongAsItIs) {
  StallBudget budget{.intervals_left = 2};
  StepShape shape;
  shape.stall_ns = 100 * kMs;
  HostStalls stalls(shape, budget);
  for (int64_t i = 1; i <= 5; ++i) stalls.Take(FrameWithStall(i * 150, i * 150 + 150), 150 * kMs, 1'000);
  stalls.Take(FrameWithStall(2'000, 2'300), 150 * kMs, 1'000);
  stalls.Take(FrameWithStall(3'000, 3'400), 150 * kMs, 1'000);
  const HostStalls::Intervals found = stalls.OfWriter(1, 100 * kMs, 150 * kMs);
  ASSERT_THAT(found.stalls, SizeIs(2));
  EXPECT_EQ(found.stalls[0].length_ns(), 750 * kMs);
  EXPECT_EQ(found.stalls[1].begin_ns, 3'000 * kMs);
}

TEST(HostStalls, KeepsNoMoreThanItsBudgetAndCountsTheRest) {
  StallBudget budget{.intervals_left = 3, .pauses_left = 2};
  StepShape shape;
  shape.stall_ns = 100 * kMs;
  HostStalls stalls(shape, budget);
  for (int64_t i = 1; i <= 5; ++i) stalls.Take(FrameWithStall(i * 1'000, i * 1'000 + 200), 0, 0);
  EXPECT_EQ(budget.intervals_left_out, 2U);
  const HostStalls::Intervals found = stalls.OfWriter(1, 100 * kMs, 0);
  EXPECT_THAT(found.stalls, SizeIs(3));
  ASSERT_THAT(stalls.left_out(), SizeIs(2));
  EXPECT_EQ(stalls.left_out()[0].begin_ns, 4'000 * kMs);
  EXPECT_EQ(stalls.left_out()[1].end_ns, 5'200 * kMs);
  v1::HostSample sample;
  for (int64_t i = 1; i <= 5; ++i) {
    sample.add_pauses()->set_begin_ns(i);
    sample.mutable_pauses()->rbegin()->set_end_ns(i + 1);
  }
  EXPECT_THAT(stalls.AddPauses(sample), IsOk());
  EXPECT_THAT(stalls.pauses(), SizeIs(2));
  EXPECT_EQ(budget.pauses_left_out, 3U);
}

TEST(HostStalls, UsualIntervalsInARowNeedNoBudgetWhereThePlanSaysWhatAStallIs) {
  StallBudget budget{.intervals_left = 1};
  StepShape shape;
  shape.stall_ns = 100 * kMs;
  HostStalls stalls(shape, budget);
  for (int64_t i = 1; i <= 5; ++i) stalls.Take(FrameWithStall(i * 150, i * 150 + 150), 150 * kMs, 1'000);
  const HostStalls::Intervals found = stalls.OfWriter(1, 100 * kMs, 150 * kMs);
  ASSERT_THAT(found.stalls, SizeIs(1));
  EXPECT_EQ(found.stalls[0].length_ns(), 750 * kMs);
  EXPECT_TRUE(found.stalls[0].in_a_row);
  EXPECT_EQ(found.stalls[0].writes, 5U);
  EXPECT_EQ(found.stalls[0].longest_ns, 150 * kMs);
  EXPECT_EQ(budget.intervals_left_out, 0U);
}

TEST(HostStalls, UsualWritesNeedNoBudgetUnlessTheyTurnOutToHaveBeenUnusual) {
  for (const int64_t final_median_ms : {150, 7}) {
    StallBudget budget;
    HostStalls stalls(StepShape{}, budget);
    stalls.Take(FrameWithStall(100, 250), 150 * kMs, 99);  // too few writes to know
    stalls.Take(FrameWithStall(250, 400), 150 * kMs, 100);
    stalls.Take(FrameWithStall(400, 700), 150 * kMs, 101);  // two medians are kept
    EXPECT_EQ(budget.intervals_left, 100'000U - 2);
    const HostStalls::Intervals found = stalls.OfWriter(1, 20 * final_median_ms * kMs, final_median_ms * kMs);
    const bool unusual = final_median_ms == 7;
    EXPECT_EQ(budget.intervals_left_out, unusual ? 1U : 0U);
    EXPECT_THAT(found.stalls, SizeIs(unusual ? 2 : 0));
    // Whether it came before the median was known or after: only what is as long as two medians may keep from vouching.
    ASSERT_THAT(found.others, SizeIs(unusual ? 0 : 1));
    if (!unusual) {
      EXPECT_EQ(found.others[0].begin_ns, 400 * kMs);
    }
    EXPECT_EQ(found.complete_until_ns, unusual ? 250 * kMs : INT64_MAX);
  }
}

}  // namespace
}  // namespace plimsoll
