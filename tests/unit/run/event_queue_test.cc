#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "tests/testing.h"
#include "tests/virtual_clock.h"

namespace plimsoll {
namespace {

class EventQueueTest : public ::testing::Test {
 protected:
  MonotonicNs In(int64_t duration_ns) const { return begin_ + duration_ns; }
  void Push(size_t host) { events_.Push({host, clock_.Now(), Renewed{}}); }

  VirtualClock clock_;
  const MonotonicNs begin_ = clock_.Now();
  EventQueue events_{clock_};
};

TEST_F(EventQueueTest, AWaitForWhichNothingComesLastsUntilItsDeadlineInItsClocksTime) {
  EXPECT_THAT(events_.TakeUntil(In(3600 * kNsPerSecond)), IsEmpty());
  EXPECT_EQ(clock_.Now(), In(3600 * kNsPerSecond));
}

TEST_F(EventQueueTest, ADeadlineThatHasPassedIsNoWait) {
  EXPECT_THAT(events_.TakeUntil(begin_ - kNsPerSecond), IsEmpty());
  EXPECT_EQ(clock_.Now(), begin_);
}

TEST_F(EventQueueTest, AWaitEndsWithTheFirstEventAndNotWithTheOnesAfterIt) {
  clock_.At(In(kNsPerSecond), [this] { Push(7); });
  clock_.At(In(2 * kNsPerSecond), [this] { Push(8); });
  const std::vector<Event> first = events_.TakeUntil(In(60 * kNsPerSecond));
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].host, 7U);
  EXPECT_EQ(first[0].time, In(kNsPerSecond));
  EXPECT_EQ(clock_.Now(), In(kNsPerSecond));
  EXPECT_THAT(events_.TakeUntil(In(60 * kNsPerSecond)), SizeIs(1));
}

TEST_F(EventQueueTest, AnEventOfTheDeadlinesOwnMomentIsTaken) {
  clock_.At(In(kNsPerSecond), [this] { Push(0); });
  EXPECT_THAT(events_.TakeUntil(In(kNsPerSecond)), SizeIs(1));
}

TEST_F(EventQueueTest, SaysWhenEnoughIsWaitingAndOnceWhenThereIsRoomAgain) {
  EventQueue events(clock_, /*most_waiting_bytes=*/100);
  int rooms = 0;
  events.OnRoom([&rooms] { ++rooms; });
  EXPECT_TRUE(events.Push({0, clock_.Now(), Renewed{}}, 99));
  EXPECT_THAT(events.TakeUntil(begin_), SizeIs(1));
  EXPECT_THAT(events.TakeUntil(begin_), IsEmpty()) << "the one is handled";
  EXPECT_EQ(rooms, 0);
  EXPECT_TRUE(events.Push({0, clock_.Now(), Renewed{}}, 60));
  EXPECT_FALSE(events.Push({0, clock_.Now(), Renewed{}}, 60));
  EXPECT_FALSE(events.Push({0, clock_.Now(), Renewed{}}));
  EXPECT_THAT(events.TakeUntil(begin_), SizeIs(3)) << "what was given is kept";
  EXPECT_EQ(rooms, 0) << "the three are not handled yet";
  EXPECT_FALSE(events.HasRoom());
  EXPECT_THAT(events.TakeUntil(begin_), IsEmpty());
  EXPECT_EQ(rooms, 1);
  EXPECT_TRUE(events.HasRoom());
  EXPECT_TRUE(events.Push({0, clock_.Now(), Renewed{}}, 60));
}

TEST_F(EventQueueTest, WhoFoundNoRoomIsCalledOnceThereIsSome) {
  EventQueue events(clock_, /*most_waiting_bytes=*/100);
  int rooms = 0;
  events.OnRoom([&rooms] { ++rooms; });
  EXPECT_TRUE(events.Push({0, clock_.Now(), Renewed{}}, 99));
  EXPECT_TRUE(events.HasRoom());
  EXPECT_FALSE(events.Push({0, clock_.Now(), Renewed{}}, 1));
  EXPECT_FALSE(events.HasRoom());
  EXPECT_THAT(events.TakeUntil(begin_), SizeIs(2));
  events.Push({0, clock_.Now(), Renewed{}});
  EXPECT_THAT(events.TakeUntil(begin_), SizeIs(1));
  EXPECT_EQ(rooms, 1);
}

TEST_F(EventQueueTest, WhatIsThereIsTakenAtOnceAndInOrder) {
  for (const size_t host : {3U, 1U, 2U}) Push(host);
  const std::vector<Event> taken = events_.TakeUntil(In(kNsPerSecond));
  ASSERT_THAT(taken, SizeIs(3));
  EXPECT_EQ(taken[0].host, 3U);
  EXPECT_EQ(taken[2].host, 2U);
  EXPECT_EQ(clock_.Now(), begin_);
}

TEST_F(EventQueueTest, WhatHappensInTheWorldAndIsNoEventOfTheQueueDoesNotEndAWait) {
  int happened = 0;
  for (int i = 1; i < 10; ++i) clock_.At(In(i * kNsPerMs), [&happened] { ++happened; });
  EXPECT_THAT(events_.TakeUntil(In(kNsPerSecond)), IsEmpty());
  EXPECT_EQ(happened, 9);
  EXPECT_EQ(clock_.Now(), In(kNsPerSecond));
}

TEST_F(EventQueueTest, AnInterruptEndsOneWait) {
  clock_.At(In(kNsPerMs), [this] { events_.Interrupt(); });
  EXPECT_THAT(events_.TakeUntil(In(kNsPerSecond)), IsEmpty());
  EXPECT_EQ(clock_.Now(), In(kNsPerMs));
  EXPECT_EQ(events_.interrupts(), 1);
  EXPECT_THAT(events_.TakeUntil(In(kNsPerSecond)), IsEmpty());
  EXPECT_EQ(clock_.Now(), In(kNsPerSecond)) << "an interrupt that a call has returned for ends no other";
}

TEST_F(EventQueueTest, AWaitInASuspendedProcessLastsUntilItIsResumed) {
  clock_.At(In(kNsPerMs), [this] { clock_.own_process().Suspend(); });
  clock_.At(In(2 * kNsPerMs), clock_.own_process(), [this] { Push(0); });
  clock_.At(In(5 * kNsPerSecond), [this] { clock_.own_process().Resume(); });
  EXPECT_THAT(events_.TakeUntil(In(kNsPerSecond)), IsEmpty()) << "the deadline passed meanwhile";
  EXPECT_EQ(clock_.Now(), In(5 * kNsPerSecond));
  EXPECT_THAT(events_.TakeUntil(In(6 * kNsPerSecond)), SizeIs(1)) << "what came meanwhile waits";
}

TEST_F(EventQueueTest, AWaitInAProcessThatIsKilledDoesNotReturnAndLeavesTheQueueUsable) {
  clock_.At(In(kNsPerMs), [this] { clock_.KillOwnProcess(); });
  EXPECT_THROW(events_.TakeUntil(In(kNsPerSecond)), VirtualProcessKilled);
  Push(0);  // whoever has the lock yet would wait for ever
}

TEST(EventQueue, AWaitInTheMachinesTimeEndsWithAnEventOfAnotherThread) {
  const SystemClock clock;
  EventQueue events(clock);
  std::thread other([&] { events.Push({1, clock.Now(), Renewed{}}); });
  EXPECT_THAT(events.TakeUntil(clock.Now() + 3600 * kNsPerSecond), SizeIs(1));
  other.join();
}

TEST(EventQueue, AWaitInTheMachinesTimeEndsWithItsDeadline) {
  const SystemClock clock;
  EventQueue events(clock);
  const MonotonicNs deadline = clock.Now() + 2 * kNsPerMs;
  EXPECT_THAT(events.TakeUntil(deadline), IsEmpty());
  EXPECT_GE(clock.Now(), deadline);
}

}  // namespace
}  // namespace plimsoll
