#include "controller/app/protection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/units.h"
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

}  // namespace
}  // namespace plimsoll::tests
