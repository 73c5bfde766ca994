#include "controller/app/protection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/report/watched.h"
#include "tests/testing.h"

namespace plimsoll::tests {
namespace {

// A rule that has seen ten seconds of 100 writes that took so long each.
SlowdownRule RuleAfter(double factor, double each_ns) {
  SlowdownRule rule(factor);
  for (uint32_t second = 0; second < SlowdownRule::kBaselineSeconds; ++second) {
    EXPECT_FALSE(rule.has_baseline());
    rule.Add({100, 100 * each_ns});
  }
  return rule;
}

TEST(SlowdownRule, ComparesTheMeanOfFiveSecondsWithThatOfTenBefore) {
  SlowdownRule rule = RuleAfter(2, 1 * kNsPerMs);
  ASSERT_TRUE(rule.has_baseline());
  EXPECT_EQ(rule.baseline_ns(), 1 * kNsPerMs);
  // Slow from its first second, and judged once there are five.
  for (int second = 0; second < 4; ++second) {
    rule.Add({100, 100 * 2.1 * kNsPerMs});
    EXPECT_FALSE(rule.slowed());
  }
  rule.Add({100, 100 * 2.1 * kNsPerMs});
  EXPECT_TRUE(rule.slowed());
  EXPECT_DOUBLE_EQ(rule.worst_ns(), 2.1 * kNsPerMs);
}

TEST(SlowdownRule, AsLongAsTheFactorAllowsIsNotSlowed) {
  SlowdownRule rule = RuleAfter(2, 1 * kNsPerMs);
  for (int second = 0; second < 20; ++second) rule.Add({100, 100 * 2.0 * kNsPerMs});
  EXPECT_FALSE(rule.slowed());
  rule.Add({1, 2.0 * kNsPerMs + 1'000});
  EXPECT_TRUE(rule.slowed());
}

TEST(SlowdownRule, CountsEachWriteOnceAndForgetsWhatIsOlderThanFiveSeconds) {
  SlowdownRule rule = RuleAfter(2, 1 * kNsPerMs);
  for (int second = 0; second < 4; ++second) rule.Add({100, 100.0 * kNsPerMs});
  // One that took 50 ms beside 499 of 1 ms.
  rule.Add({100, 99.0 * kNsPerMs + 50.0 * kNsPerMs});
  EXPECT_FALSE(rule.slowed());
  EXPECT_NEAR(rule.recent_ns(), 1.098 * kNsPerMs, 1);
  for (int second = 0; second < 5; ++second) rule.Add({100, 100.0 * kNsPerMs});
  EXPECT_DOUBLE_EQ(rule.recent_ns(), 1.0 * kNsPerMs);
  EXPECT_NEAR(rule.worst_ns(), 1.098 * kNsPerMs, 1);
}

TEST(SlowdownRule, ALogThatHangsIsSlowed) {
  SlowdownRule rule = RuleAfter(2, 1 * kNsPerMs);
  for (int second = 1; second <= 5; ++second) rule.Add({1, second * 1.0 * kNsPerSecond});
  EXPECT_TRUE(rule.slowed());
}

TEST(SlowdownRule, WithoutAWriteThereIsNothingToCompare) {
  SlowdownRule rule(2);
  for (int second = 0; second < 10; ++second) rule.Add({0, 0});
  EXPECT_TRUE(rule.has_baseline());
  EXPECT_EQ(rule.baseline_ns(), 0);
  SlowdownRule idle = RuleAfter(2, 1 * kNsPerMs);
  for (int second = 0; second < 10; ++second) idle.Add({0, 0});
  EXPECT_FALSE(idle.slowed()) << "a queue manager that writes nothing is not slow";
}

TEST(SlowdownRule, WhatTheErrorOfTheSumsMayExplainIsNotSlowed) {
  SlowdownRule rule(2, /*error_ns=*/2 * kNsPerMs);
  for (int second = 0; second < 10; ++second) rule.Add({10, 10.0 * kNsPerMs});
  EXPECT_TRUE(rule.can_compare());
  // One write in five seconds, which took 2 ms and is off by as much.
  for (int second = 0; second < 4; ++second) rule.Add({0, 0});
  rule.Add({1, 4.0 * kNsPerMs});
  EXPECT_FALSE(rule.slowed());
  rule.Add({1, 4.1 * kNsPerMs + 2.0 * kNsPerMs});
  EXPECT_TRUE(rule.slowed());
}

TEST(SlowdownRule, ABaselineThatItsErrorMayExplainIsNone) {
  SlowdownRule rule(2, /*error_ns=*/2 * kNsPerMs);
  for (int second = 0; second < 10; ++second) rule.Add({10, 1.9 * kNsPerMs});
  EXPECT_FALSE(rule.can_compare());
  EXPECT_TRUE(RuleAfter(2, 1).can_compare()) << "what is timed exactly is a baseline, however short";
}

// Stands still until it is told.
class StillClock final : public Clock {
 public:
  MonotonicNs Now() const override { return now_; }
  WallNs WallNow() const override { return {}; }
  void SleepUntil(MonotonicNs /*moment*/) const override {}
  bool WaitUntil(Mutex& /*mutex*/, CondVar& /*changed*/, MonotonicNs /*moment*/) const override { return false; }

  MonotonicNs now_{1'000 * kNsPerSecond};
};

v1::TestPlan PlanThatProtects(const std::string& what) {
  v1::TestPlan plan;
  plan.set_protect(what);
  return plan;
}

// A mount whose seconds come from the test.
class ToldProtection final : public Protection {
 public:
  explicit ToldProtection(StillClock& clock)
      : Protection(PlanThatProtects("mount=/mnt/mq"), clock, {"writes to it", "nothing was written to it"}),
        still_(clock) {
    Begin("sda1 of node1", 2 * kNsPerMs);
  }
  // The reason to stop after so many more seconds of 100 writes each.
  std::string Seconds(int seconds, double each_ns) {
    for (int i = 0; i < seconds; ++i) {
      still_.now_ = still_.now_ + kNsPerSecond;
      Add({100, 100 * each_ns}, still_.now_);
    }
    return MustStop(still_.now_);
  }
  // So many seconds in which a host is missing.
  void Miss(int seconds, const std::string& host) {
    for (int i = 0; i < seconds; ++i) {
      still_.now_ = still_.now_ + kNsPerSecond;
      Protection::Miss(host, still_.now_);
    }
  }
  void Lose(const std::string& why) { EndWith({Exit::kCannotRun, {why}}, why); }

 private:
  StillClock& still_;
};

TEST(Protection, EndsTheRunInTheFifthSecondOfSlowWrites) {
  StillClock clock;
  ToldProtection protection(clock);
  EXPECT_EQ(protection.Seconds(10, 1.0 * kNsPerMs), "");
  EXPECT_EQ(protection.BaselineText(),
            "mount=/mnt/mq (sda1 of node1): writes to it took 1.000 ms on average in the 10 s before the run, which "
            "ends if they take more than 2 times as long");
  EXPECT_EQ(protection.Seconds(30, 1.5 * kNsPerMs), "");
  EXPECT_EQ(protection.Seconds(4, 2.1 * kNsPerMs), "");
  EXPECT_EQ(protection.Seconds(1, 2.1 * kNsPerMs),
            "--protect mount=/mnt/mq: writes to it took 2.100 ms on average in 5 s, more than 2 times the 1.000 ms of "
            "before the run");
  EXPECT_EQ(protection.SummaryText(),
            "Protected mount=/mnt/mq (sda1 of node1): writes to it took 1.000 ms on average in the 10 s before the "
            "run, 1.586 ms since, and up to 2.100 ms in 5 s.");
}

TEST(Protection, EndsTheRunWhenItSeesNothingForMoreThanFiveSeconds) {
  StillClock clock;
  ToldProtection protection(clock);
  EXPECT_EQ(protection.Seconds(10, 1.0 * kNsPerMs), "");
  EXPECT_EQ(protection.MustStop(clock.now_ + 5 * kNsPerSecond), "");
  EXPECT_EQ(protection.MustStop(clock.now_ + 5 * kNsPerSecond + 1),
            "--protect mount=/mnt/mq: nothing was seen of it for more than 5s");
  protection.Lose("node1: nothing is mounted on /mnt/mq");
  EXPECT_EQ(protection.MustStop(clock.now_), "--protect mount=/mnt/mq: node1: nothing is mounted on /mnt/mq");
}

TEST(Protection, SecondsWithoutAHostAreNotSeen) {
  StillClock clock;
  ToldProtection protection(clock);
  EXPECT_EQ(protection.Seconds(10, 1.0 * kNsPerMs), "");
  protection.Miss(5, "node2");
  EXPECT_EQ(protection.MustStop(clock.now_), "");
  protection.Miss(1, "node2");
  EXPECT_EQ(protection.MustStop(clock.now_),
            "--protect mount=/mnt/mq: nothing was seen of it on node2 for more than 5s");
}

TEST(Protection, WhatEndsARunIsKeptForOneThatAsksLater) {
  StillClock clock;
  ToldProtection slowed(clock);
  EXPECT_EQ(slowed.Seconds(10, 1.0 * kNsPerMs), "");
  const std::string why = slowed.Seconds(5, 2.1 * kNsPerMs);
  EXPECT_THAT(why, HasSubstr("took 2.100 ms on average in 5 s"));
  EXPECT_EQ(slowed.Seconds(60, 1.0 * kNsPerMs), why);

  ToldProtection unseen(clock);
  EXPECT_EQ(unseen.Seconds(10, 1.0 * kNsPerMs), "");
  clock.now_ = clock.now_ + 6 * kNsPerSecond;
  EXPECT_THAT(unseen.Seconds(10, 1.0 * kNsPerMs), HasSubstr("nothing was seen of it for more than 5s"));
}

TEST(ProtectedOf, TakesQueueManagersLogDirectoriesAndMounts) {
  const auto of = [](const std::string& text) {
    const Protected named = ProtectedOf(text);
    return absl::StrCat(named.host, "|", named.queue_manager, "|", named.log_dir, "|", named.mount_point.value_or("-"));
  };
  EXPECT_EQ(of("QM1"), "|QM1||-");
  EXPECT_EQ(of("node1/QM1"), "node1|QM1||-");
  EXPECT_EQ(of("/var/mqm/log/QM1/active"), "||/var/mqm/log/QM1/active|-");
  EXPECT_EQ(of("mount=/mnt/mqlog"), "|||/mnt/mqlog");
  EXPECT_EQ(of("mount=/mnt/mqlog//"), "|||/mnt/mqlog");
  EXPECT_EQ(of("mount=/"), "|||/");
  EXPECT_EQ(of("node1:7461/mount=/"), "node1:7461|||/");
  EXPECT_EQ(of("unix:/run/a.sock/mount=/mnt"), "unix:/run/a.sock|||/mnt");
  EXPECT_EQ(of("mount="), "|||");
  EXPECT_EQ(of("/mnt/mount=x"), "||/mnt/mount=x|-");
}

}  // namespace
}  // namespace plimsoll::tests
