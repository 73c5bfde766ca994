#include "controller/analysis/stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/testing.h"
#include "tests/unit/analysis/stalls_fixture.h"

namespace plimsoll::tests {
namespace {

TEST_F(StallsTest, OnlyAWriterInTheSameDirectoryShowsThatTheWayToItWasOpen) {
  StallHost& host = hosts_[3];
  host.directory_of = {{1, 0}, {2, 1}};
  StalledFor(3, 1, 1'000, 1'900);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SINGLE_HOST) << "the other writes on another storage, perhaps";
  host.qms = 3;
  host.directory_of = {{1, 0}, {2, 1}, {3, 0}};
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
  StalledFor(3, 2, 1'000, 1'900);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SINGLE_HOST) << "all that write in the second directory";
}

TEST_F(StallsTest, WithoutAnIntervalThereIsNoStall) {
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(StallsTest, AllHostsOfAStorageMeanTheStorage) {
  BothStalled(0, 1000, 1700);
  BothStalled(1, 1002, 1701);
  BothStalled(2, 999, 1710);
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_ALL_HOSTS);
  EXPECT_EQ(stall.storage, 1U);
  EXPECT_EQ(stall.begin_ns, 999 * kMs);
  EXPECT_EQ(stall.end_ns, 1710 * kMs);
  EXPECT_EQ(stall.error_ns, kErrorNs);
  EXPECT_THAT(stall.hosts, ElementsAre(0, 1, 2));
  EXPECT_THAT(stall.others, IsEmpty());
  EXPECT_THAT(stall.intervals, ElementsAre(4, 5, 0, 1, 2, 3)) << "the longest first";
  EXPECT_FALSE(stall.open);
  EXPECT_FALSE(stall.unsure);
}

TEST_F(StallsTest, SomeHostsAreNamedAndSoAreTheOthers) {
  BothStalled(0, 1000, 1700);
  StalledFor(2, 1, 1000, 1700);
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_SOME_HOSTS);
  EXPECT_THAT(stall.hosts, ElementsAre(0, 2));
  EXPECT_THAT(stall.others, ElementsAre(1));
}

TEST_F(StallsTest, OneHostWithAllItsWritersMeansItsPath) {
  BothStalled(1, 1000, 1700);
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_ONE_HOST);
  EXPECT_THAT(stall.hosts, ElementsAre(1));
  EXPECT_THAT(stall.others, ElementsAre(0, 2));
}

TEST_F(StallsTest, OneOrSomeWritersOfAHostAreDistinguished) {
  hosts_[1].qms = 3;
  StalledFor(1, 2, 1000, 1700);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
  StalledFor(1, 3, 1000, 1700);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SOME_QMS);
  StalledFor(1, 1, 1000, 1700);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_HOST);
}

TEST_F(StallsTest, AWriterThatStoodALittleTooShortIsNotTakenToHaveRun) {
  for (const auto& [host, whole] :
       {std::pair(1U, v1::STALL_CLASS_ONE_HOST), std::pair(3U, v1::STALL_CLASS_SINGLE_HOST)}) {
    intervals_.clear();
    StalledFor(host, 1, 1000, 1110);
    StalledFor(host, 2, 1000, 1110).counts = false;
    EXPECT_EQ(FindOne().stall_class, whole);
    // A third one that ran tells that it is not the path.
    hosts_[host].qms = 3;
    EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
    // One that stood at another time can tell, too.
    hosts_[host].qms = 2;
    intervals_.back().begin_ns -= 100 * kMs;
    intervals_.back().end_ns -= 100 * kMs;
    EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
  }
}

TEST_F(StallsTest, AnIntervalTooShortToCountLeavesAHostUnsureWhereOnlyTheClocksErrorMakesItOverlapByHalf) {
  error_ns_ = 100 * kMs;
  BothStalled(0, 1000, 2000);
  StalledFor(1, 1, 1900, 2100).counts = false;  // overlaps by half
  EXPECT_FALSE(FindOne().unsure) << "whatever the clocks, the host is not known to be unaffected";
  EXPECT_THAT(FindOne().others, ElementsAre(2));
  intervals_.back().begin_ns += 1 * kMs;
  intervals_.back().end_ns += 1 * kMs;
  EXPECT_TRUE(FindOne().unsure);
  EXPECT_THAT(FindOne().others, ElementsAre(2));
}

TEST_F(StallsTest, AWriterWithNothingToWriteIsNotTakenToHaveRun) {
  StalledFor(3, 1, 1000, 1600);
  hosts_[3].between_writes_ns = 1'000 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SINGLE_HOST);
  hosts_[3].between_writes_ns = 300 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
  // Nor is one whose data end in the stall.
  hosts_[3].to_ns = 1'250 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_SINGLE_HOST);
}

TEST_F(StallsTest, AWriterOfAPausedHostIsNotTakenToHaveRun) {
  StalledFor(3, 1, 1000, 1600).paused_ns = 200 * kMs;
  Paused(3, 1000, 1200);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
  StalledFor(3, 2, 1000, 1300).paused_ns = 200 * kMs;
  for (const Stall& stall : Find()) {
    if (stall.stall_class == v1::STALL_CLASS_HOST_PAUSED) continue;
    EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_SINGLE_HOST) << "the other one stood, if for another reason";
  }
}

TEST_F(StallsTest, ARowOfUsualWritesDoesNotMakeTheStallOfAnotherHostItsOwn) {
  // Alpha's writes always take 25 ms, as long as a stall of the plan, for ten seconds; beta's path stands for two.
  for (const uint32_t qm : {1U, 2U}) StalledFor(0, qm, 0, 10'000).row_of_ns = 25 * kMs;
  BothStalled(1, 5000, 7000);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  EXPECT_EQ(stalls[0].stall_class, v1::STALL_CLASS_ONE_HOST);
  EXPECT_THAT(stalls[0].hosts, ElementsAre(0));
  EXPECT_THAT(stalls[0].others, ElementsAre(1, 2));
  EXPECT_EQ(stalls[1].stall_class, v1::STALL_CLASS_ONE_HOST);
  EXPECT_EQ(stalls[1].end_ns - stalls[1].begin_ns, 2'000 * kMs);
  EXPECT_THAT(stalls[1].hosts, ElementsAre(1));
  EXPECT_THAT(stalls[1].others, ElementsAre(0, 2)) << "alpha wrote 80 times meanwhile";
}

TEST_F(StallsTest, ARowCannotVouchWhereOneOfItsWritesTakesHalfOfTheStall) {
  for (const uint32_t qm : {1U, 2U}) StalledFor(0, qm, 0, 10'000).row_of_ns = 1'000 * kMs;
  BothStalled(1, 5000, 7000);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  EXPECT_THAT(stalls[1].hosts, ElementsAre(1));
  EXPECT_THAT(stalls[1].others, ElementsAre(2));
  EXPECT_FALSE(stalls[1].unsure) << "that is no matter of clocks";
}

TEST_F(StallsTest, RowsBelongTogetherWhereTheyOverlapByHalfOfTheLongerOne) {
  error_ns_ = 0;
  for (const uint32_t host : {0U, 1U, 2U}) StalledFor(host, 1, 0, host == 2 ? 5'000 : 10'000).row_of_ns = 25 * kMs;
  EXPECT_THAT(FindOne().hosts, ElementsAre(0, 1, 2));
  intervals_.back().end_ns -= 1;
  EXPECT_THAT(Find(), SizeIs(2));
}

TEST_F(StallsTest, WithOneHostTheStorageCannotBeDistinguishedFromThePath) {
  BothStalled(3, 1000, 1700);
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_SINGLE_HOST);
  EXPECT_EQ(stall.storage, 2U);
  intervals_.pop_back();
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_QM);
}

TEST_F(StallsTest, HostsWithoutAKnownStorageStandForThemselves) {
  for (auto& [number, host] : hosts_) host.storage = 0;
  BothStalled(0, 1000, 1700);
  BothStalled(1, 1000, 1700);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  for (const Stall& stall : stalls) {
    EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_SINGLE_HOST);
    EXPECT_EQ(stall.storage, 0U);
    EXPECT_THAT(stall.others, IsEmpty());
  }
}

TEST_F(StallsTest, StoragesStandApart) {
  for (const uint32_t host : {0U, 1U, 2U, 3U}) BothStalled(host, 1000, 1700);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  EXPECT_NE(stalls[0].storage, stalls[1].storage);
}

TEST_F(StallsTest, WhatOverlapsByHalfOfTheShorterOneBelongsTogether) {
  error_ns_ = 0;
  BothStalled(0, 1000, 2000);
  BothStalled(1, 1800, 2200);  // half of it
  EXPECT_THAT(FindOne().hosts, ElementsAre(0, 1));
  intervals_.resize(2);
  BothStalled(1, 1801, 2201);  // a little less
  EXPECT_THAT(Find(), SizeIs(2));
}

TEST_F(StallsTest, WhatIsConnectedThroughAnotherBelongsTogether) {
  StalledFor(0, 1, 1000, 1500);
  StalledFor(1, 1, 1200, 1900);
  StalledFor(2, 1, 1500, 2000);
  const Stall stall = FindOne();
  EXPECT_THAT(stall.hosts, ElementsAre(0, 1, 2));
  EXPECT_EQ(stall.end_ns - stall.begin_ns, 1000 * kMs);
}

TEST_F(StallsTest, OneAfterTheOtherAreTwo) {
  BothStalled(0, 1000, 1300);
  BothStalled(0, 1300, 1600);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  EXPECT_EQ(stalls[0].begin_ns, 1000 * kMs);
  EXPECT_EQ(stalls[1].begin_ns, 1300 * kMs);
}

TEST_F(StallsTest, AnAgentThatDidNotRunSaysNothingOfTheStorage) {
  for (const uint32_t qm : {1U, 2U}) StalledFor(0, qm, 1000, 1700).paused_ns = 350 * kMs;
  Paused(0, 1000, 1350);
  const Stall stall = FindOne();
  EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_HOST_PAUSED);
  EXPECT_THAT(stall.hosts, ElementsAre(0));
  EXPECT_THAT(stall.intervals, SizeIs(2));
}

TEST_F(StallsTest, APauseOfLessThanHalfIsNotTheCause) {
  for (const uint32_t qm : {1U, 2U}) StalledFor(0, qm, 1000, 1700).paused_ns = 350 * kMs - 1;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_HOST);
}

TEST_F(StallsTest, TheBacklogThatAPauseLeftIsThePauses) {
  for (const uint32_t qm : {1U, 2U}) {
    StalledInterval& interval = StalledFor(0, qm, 1000, 4900);
    interval.paused_ns = 1'504 * kMs;
    interval.longest_ns = 1'510 * kMs;
  }
  Paused(0, 1000, 2504);
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_HOST_PAUSED);
  for (StalledInterval& interval : intervals_) interval.longest_ns = 3'100 * kMs;
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_HOST) << "a write took more than twice as long as the pause";
}

TEST_F(StallsTest, APauseIsNotTheCauseOfALongRunOfSlowWrites) {
  for (const uint32_t qm : {1U, 2U}) {
    StalledInterval& interval = StalledFor(0, qm, 1000, 9000);
    interval.row_of_ns = interval.longest_ns = 120 * kMs;
    interval.paused_ns = 100 * kMs;
  }
  EXPECT_EQ(FindOne().stall_class, v1::STALL_CLASS_ONE_HOST);
}

TEST_F(StallsTest, PausedHostsAreStallsOfTheirOwnEachForItself) {
  for (const uint32_t host : {0U, 1U}) {
    for (const uint32_t qm : {1U, 2U}) StalledFor(host, qm, 1000, 1700).paused_ns = 690 * kMs;
    Paused(host, 1003, 1695);
  }
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  for (const Stall& stall : stalls) {
    EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_HOST_PAUSED);
    EXPECT_THAT(stall.intervals, SizeIs(2));
  }
}

TEST_F(StallsTest, AnOpenIntervalMakesAnOpenStall) {
  BothStalled(0, 1000, 1700);
  StalledFor(1, 1, 1000, 2000).open = true;
  EXPECT_TRUE(FindOne().open);
}

TEST_F(StallsTest, WhatClocksLeaveOpenIsNotGuessed) {
  // On the timeline they fall together, but each clock may be wrong by more than they last.
  error_ns_ = 800 * kMs;
  BothStalled(0, 5000, 5700);
  BothStalled(1, 5000, 5700);
  const std::vector<Stall> stalls = Find();
  ASSERT_THAT(stalls, SizeIs(2));
  for (const Stall& stall : stalls) {
    EXPECT_TRUE(stall.unsure);
    EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_ONE_HOST);
    EXPECT_THAT(stall.others, ElementsAre(2)) << "which is known to have run all the time";
    EXPECT_EQ(stall.error_ns, 800 * kMs);
  }
  // Without it nothing certain is left.
  hosts_[2].storage = 2;
  for (const Stall& stall : Find()) {
    EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_SINGLE_HOST);
    EXPECT_TRUE(stall.unsure);
  }
}

TEST_F(StallsTest, StallsFarEnoughApartAreDistinguishedByPoorClocksToo) {
  error_ns_ = 200 * kMs;
  BothStalled(0, 1000, 1700);
  BothStalled(1, 3000, 3700);
  for (const Stall& stall : Find()) {
    EXPECT_EQ(stall.stall_class, v1::STALL_CLASS_ONE_HOST);
    EXPECT_THAT(stall.others, SizeIs(2));
    EXPECT_FALSE(stall.unsure);
  }
}

TEST_F(StallsTest, WritersOfOneHostShareTheirClockHoweverPoorItIs) {
  error_ns_ = 5000 * kMs;
  BothStalled(3, 5000, 5300);
  EXPECT_THAT(FindOne().intervals, SizeIs(2));
}

TEST_F(StallsTest, AShortStallWithinALongOneIsCertainWhereTheErrorLeavesItThere) {
  error_ns_ = 200 * kMs;
  BothStalled(0, 1000, 3000);
  BothStalled(1, 1500, 1800);  // may have been from 1100 to 2200
  EXPECT_THAT(FindOne().hosts, ElementsAre(0, 1));
}

TEST(CoveredTime, CountsWhatOverlapsOnce) {
  const CoveredTime covered({{50, 60}, {10, 20}, {15, 30}, {40, 40}, {70, 65}});
  EXPECT_EQ(covered.Within(0, 100), 30);
  EXPECT_EQ(covered.Within(12, 52), 20);
  EXPECT_EQ(covered.Within(30, 50), 0);
  EXPECT_EQ(covered.Within(60, 10), 0);
  EXPECT_EQ(CoveredTime().Within(0, 100), 0);
}

}  // namespace
}  // namespace plimsoll::tests
