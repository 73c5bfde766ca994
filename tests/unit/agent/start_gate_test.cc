#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"

namespace plimsoll {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kHour = 3'600'000 * kMs;

// Threads that go through the gate once each and say when, and what for.
class Runners {
 public:
  struct Pass {
    std::optional<StartGate::Start> start;
    int64_t at_ns = 0;
  };
  Runners(StartGate& gate, int count, uint64_t after = 0) : passes_(static_cast<size_t>(count)) {
    for (Pass& pass : passes_) {
      threads_.emplace_back([&gate, &pass, after] {
        pass.start = gate.AwaitStart(after, 0, 50'000);
        pass.at_ns = MonotonicNowNs();
      });
    }
  }
  const std::vector<Pass>& Join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return passes_;
  }

 private:
  std::vector<Pass> passes_;
  std::vector<std::thread> threads_;
};

TEST(StartGate, NobodyGoesBeforeTheStart) {
  StartGate gate;
  Runners runners(gate, 4);
  ASSERT_TRUE(gate.Arm(2, MonotonicNowNs() + kHour));
  EXPECT_FALSE(gate.begun());
  const int64_t start_ns = MonotonicNowNs() + 20 * kMs;
  ASSERT_TRUE(gate.Arm(3, start_ns));
  for (const Runners::Pass& pass : runners.Join()) {
    ASSERT_TRUE(pass.start);
    EXPECT_EQ(pass.start->step, 3U);
    EXPECT_EQ(pass.start->start_ns, start_ns);
    EXPECT_GE(pass.at_ns, start_ns);
  }
  EXPECT_TRUE(gate.begun());
}

TEST(StartGate, ArmingAgainReplacesTheStartForSleepersToo) {
  StartGate gate;
  ASSERT_TRUE(gate.Arm(0, MonotonicNowNs() + kHour));
  Runners runners(gate, 3);
  const int64_t start_ns = MonotonicNowNs() + 20 * kMs;
  ASSERT_TRUE(gate.Arm(1, start_ns));
  for (const Runners::Pass& pass : runners.Join()) {
    ASSERT_TRUE(pass.start);
    EXPECT_EQ(pass.start->step, 1U);
    EXPECT_EQ(pass.start->start_ns, start_ns);
    EXPECT_GE(pass.at_ns, start_ns);
  }
}

// However close to the start another arming comes: either all go at the first or all at the second.
TEST(StartGate, AnArmingAtTheLastMomentHoldsForAllOrForNobody) {
  StartGate gate;
  uint64_t after = 0;
  for (int round = 0; round < 30; ++round) {
    Runners runners(gate, 3, after);
    const int64_t first_ns = MonotonicNowNs() + 4 * kMs;
    ASSERT_TRUE(gate.Arm(1, first_ns));
    SleepUntilNs(first_ns - 60'000 + round * 4000);
    const bool replaced = gate.Arm(2, MonotonicNowNs() + 4 * kMs);
    for (const Runners::Pass& pass : runners.Join()) {
      ASSERT_TRUE(pass.start);
      ASSERT_EQ(pass.start->step, replaced ? 2U : 1U) << round;
      after = pass.start->arming;
    }
    gate.End();
  }
}

TEST(StartGate, ABegunStepCannotBeArmedAgainBeforeItsEnd) {
  StartGate gate;
  Runners runners(gate, 1);
  ASSERT_TRUE(gate.Arm(0, MonotonicNowNs() + kMs));
  const uint64_t arming = runners.Join()[0].start->arming;
  EXPECT_FALSE(gate.Arm(1, MonotonicNowNs() + kMs));
  EXPECT_FALSE(gate.Disarm());
  gate.End();
  EXPECT_FALSE(gate.begun());
  Runners next(gate, 2, arming);
  EXPECT_TRUE(gate.Arm(1, MonotonicNowNs() + kMs));
  for (const Runners::Pass& pass : next.Join()) EXPECT_EQ(pass.start->step, 1U);
}

TEST(StartGate, OpeningNowBeginsTheArmedStepForSleepers) {
  StartGate gate;
  Runners runners(gate, 3);
  const int64_t start_ns = MonotonicNowNs() + kHour;
  ASSERT_TRUE(gate.Arm(0, start_ns));
  gate.OpenNow();
  EXPECT_TRUE(gate.begun());
  for (const Runners::Pass& pass : runners.Join()) {
    ASSERT_TRUE(pass.start);
    EXPECT_LT(pass.at_ns, start_ns);
  }
}

TEST(StartGate, OpeningWithoutAnArmingBeginsNothing) {
  StartGate gate;
  gate.OpenNow();
  EXPECT_FALSE(gate.begun());
  ASSERT_TRUE(gate.Arm(0, MonotonicNowNs() + kHour));
  ASSERT_TRUE(gate.Disarm());
  gate.OpenNow();
  EXPECT_FALSE(gate.begun());
}

TEST(StartGate, ADisarmedStartComesToNothing) {
  StartGate gate;
  Runners runners(gate, 2);
  const int64_t never_ns = MonotonicNowNs() + 2000 * kMs;
  ASSERT_TRUE(gate.Arm(0, never_ns));
  ASSERT_TRUE(gate.Disarm());
  // The moment that was disarmed passes.
  ASSERT_TRUE(gate.Arm(1, never_ns + 10 * kMs));
  for (const Runners::Pass& pass : runners.Join()) EXPECT_EQ(pass.start->step, 1U);
}

TEST(StartGate, ClosingWakesEverybodyWithNothing) {
  StartGate gate;
  Runners idle(gate, 2);
  std::thread watcher([&] { EXPECT_FALSE(gate.AwaitArming(0)); });
  gate.Close();
  for (const Runners::Pass& pass : idle.Join()) EXPECT_FALSE(pass.start);
  watcher.join();
  EXPECT_FALSE(gate.AwaitStart(0, 0, 0));
}

TEST(StartGate, AnArmingIsSeenAtOnce) {
  StartGate gate;
  ASSERT_TRUE(gate.Arm(5, MonotonicNowNs() + kHour));
  const auto armed = gate.AwaitArming(0);
  ASSERT_TRUE(armed);
  EXPECT_EQ(armed->step, 5U);
  EXPECT_FALSE(gate.begun());
}

}  // namespace
}  // namespace plimsoll
