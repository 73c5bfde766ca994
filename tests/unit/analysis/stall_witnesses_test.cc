// Who can vouch that the storage served during another's stall, and who cannot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/testing.h"
#include "tests/unit/analysis/stalls_fixture.h"

namespace plimsoll::tests {
namespace {

TEST_F(StallsTest, APausedHostCannotVouchForTheStorage) {
  BothStalled(0, 1000, 1700);
  BothStalled(1, 1000, 1700);
  for (const uint32_t qm : {1U, 2U}) StalledFor(2, qm, 1000, 1700).paused_ns = 690 * kMs;
  Paused(2, 1003, 1695);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  const Stall& storage = stalls[0].stall_class == v1::STALL_CLASS_HOST_PAUSED ? stalls[1] : stalls[0];
  EXPECT_EQ(storage.stall_class, v1::STALL_CLASS_ALL_HOSTS);
  EXPECT_THAT(storage.hosts, ElementsAre(0, 1));
  EXPECT_THAT(storage.others, IsEmpty());
  EXPECT_FALSE(storage.unsure);
}

TEST_F(StallsTest, APauseThatCoversLittleOfTheStallDoesNotKeepAHostFromVouching) {
  BothStalled(0, 1000, 1700);
  Paused(1, 900, 1200);
  EXPECT_THAT(FindOne().others, ElementsAre(1, 2));
  Paused(1, 900, 1400);
  EXPECT_THAT(FindOne().others, ElementsAre(2));
}

TEST_F(StallsTest, WithNobodyLeftToVouchNothingIsSaidOfTheStorage) {
  BothStalled(0, 1000, 1700);
  Paused(1, 900, 1800);
  hosts_[2].to_ns = 1100 * kMs;  // it was lost
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_SINGLE_HOST);
  EXPECT_FALSE(stall.unsure);
}

TEST_F(StallsTest, AHostThatWasLostOrHadNotBegunIsNotRunning) {
  BothStalled(0, 1000, 1700);
  BothStalled(1, 1000, 1700);
  hosts_[2].to_ns = 1100 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ALL_HOSTS);
  hosts_[2].to_ns = 10'000 * kMs;
  hosts_[2].from_ns = 1600 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ALL_HOSTS);
  hosts_[2].from_ns = 1200 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SOME_HOSTS);
}

TEST_F(StallsTest, AHostThatHadNothingToWriteCannotVouch) {
  BothStalled(0, 1000, 1700);
  hosts_[1].between_writes_ns = 500 * kMs;
  hosts_[2].between_writes_ns = 350 * kMs;
  EXPECT_THAT(FindOne().others, ElementsAre(2));
}

TEST_F(StallsTest, AnIntervalThatIsTooShortToCountKeepsItsHostFromVouching) {
  BothStalled(0, 1000, 1700);
  StalledFor(1, 1, 1000, 1290).counts = false;
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_ONE_HOST);
  EXPECT_THAT(stall.others, ElementsAre(2));
  EXPECT_FALSE(stall.unsure) << "that is no matter of clocks";
}

TEST_F(StallsTest, AHostOfWhichAnIntervalIsMissingMeanwhileCannotVouch) {
  BothStalled(0, 1000, 1700);
  hosts_[1].left_out = CoveredTime({{1690 * kMs, 1800 * kMs}});
  hosts_[2].left_out = CoveredTime({{1800 * kMs, 9000 * kMs}});
  EXPECT_THAT(FindOne().others, ElementsAre(2));
  hosts_[0].left_out = hosts_[1].left_out;
  intervals_.pop_back();
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_HOST) << "the other writer may have stood, too";
}

TEST_F(StallsTest, AHostWithWritesInEveryPartOfTheStallVouchesInSpiteOfShortIntervals) {
  BothStalled(0, 1000, 6000);
  for (const uint32_t host : {1U, 2U}) StalledFor(host, 1, 1500, 2100).counts = false;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SINGLE_HOST);
  const auto proves = [this](int64_t longest_ms, int64_t last_ms, int64_t least_ms = 100) {
    constexpr int64_t kFar = int64_t{1} << 61;
    const ServedTime served{
        least_ms * kMs,
        {{-kFar, 500 * kMs, kFar}, {500 * kMs, 5900 * kMs, longest_ms * kMs}, {last_ms * kMs, kFar, kFar}}};
    const std::vector<Stall> stalls = FindStalls(
        hosts_, intervals_, [this](uint32_t, int64_t) { return error_ns_; },
        [&served](uint32_t host, uint32_t qm) { return host == 1 && qm == 2 ? &served : nullptr; });
    return !stalls.empty() && stalls[0].stall_class == v1::STALL_CLASS_ONE_HOST &&
           stalls[0].others == std::vector<uint32_t>{1};
  };
  EXPECT_TRUE(proves(2499, 5800));
  EXPECT_FALSE(proves(2500, 5800)) << "half of the stall";
  EXPECT_FALSE(proves(600, 5800, 2501)) << "a gap of half of the stall may be missing";
  EXPECT_TRUE(proves(600, 3501)) << "the data end within its last half";
  EXPECT_FALSE(proves(600, 3500)) << "where the clock error makes it more than half";
  // One that would count and may have been at that time leaves it unsure.
  intervals_[2].counts = true;
  intervals_[2].begin_ns = 5999 * kMs;
  intervals_[2].end_ns = 6300 * kMs;
  error_ns_ = 500 * kMs;
  intervals_[2].error_ns = error_ns_;
  EXPECT_FALSE(proves(600, 8000));
}

TEST_F(StallsTest, WhatTheClocksAllowOfAPauseKeepsAHostFromVouching) {
  error_ns_ = 400 * kMs;
  BothStalled(0, 5000, 5700);
  Paused(1, 5900, 6500);
  const Stall stall = FindOne();
  EXPECT_THAT(stall.others, ElementsAre(2));
  EXPECT_TRUE(stall.unsure);
}

}  // namespace
}  // namespace plimsoll::tests
