// The time that a session's writers have.
#include <gtest/gtest.h>

#include "agent/session/session.h"
#include "common/units.h"
#include "tests/status_matchers.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kSecond = kNsPerSecond;

class StepBudgetTest : public ::testing::Test {
 protected:
  StepBudgetTest() { budget_.SetMax(30 * kSecond); }
  // A step of ten seconds that starts at `start_ns` and goes on for `took_ns`.
  absl::Status Run(int64_t start_ns, int64_t took_ns) {
    absl::Status begun = budget_.Begin(start_ns, 10 * kSecond);
    if (begun.ok()) budget_.End(start_ns + took_ns);
    return begun;
  }
  StepBudget budget_;
};

TEST_F(StepBudgetTest, TakesStepsUpToTheCapAndNotOneMore) {
  // Each lasts a little longer than its time: a last write, the way of a message. That is not writing.
  for (int64_t i = 0; i < 3; ++i) EXPECT_THAT(Run(i * 20 * kSecond, 10 * kSecond + 5), IsOk());
  EXPECT_THAT(Run(100 * kSecond, 1),
              StatusIs(StatusCode::kOutOfRange, "--max-duration is 30s, this session's writers wrote for 30s"));
}

TEST_F(StepBudgetTest, AStepThatIsAddedIsHeldAgainstWhatIsLeft) {
  EXPECT_THAT(budget_.Allows(30 * kSecond), IsOk());
  ASSERT_THAT(budget_.Begin(0, 10 * kSecond), IsOk());
  budget_.End(10 * kSecond);
  EXPECT_THAT(budget_.Allows(20 * kSecond), IsOk()) << "asking takes nothing";
  EXPECT_THAT(budget_.Allows(20 * kSecond + 1), StatusIs(absl::StatusCode::kOutOfRange, "--max-duration"));
}

TEST_F(StepBudgetTest, StepsThatAreStoppedAndArmedAgainAddUp) {
  EXPECT_THAT(Run(0, 9 * kSecond), IsOk());
  EXPECT_THAT(Run(20 * kSecond, 9 * kSecond), IsOk());
  EXPECT_THAT(Run(40 * kSecond, 9 * kSecond), IsOk());
  EXPECT_THAT(Run(60 * kSecond, 9 * kSecond), StatusIs(StatusCode::kOutOfRange, "wrote for 27s"));
}

TEST_F(StepBudgetTest, AStepThatNeverStartedCostsNothing) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(budget_.Begin(100 * kSecond, 10 * kSecond), IsOk());
    budget_.NotArmed();
    EXPECT_THAT(budget_.Begin(100 * kSecond, 10 * kSecond), IsOk());
    budget_.End(50 * kSecond);  // stopped before its start
  }
}

TEST_F(StepBudgetTest, ArmingAgainWhileAStepRunsDoesNotHideItsTime) {
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_THAT(budget_.Begin(i * 20 * kSecond, 10 * kSecond), IsOk());
    EXPECT_THAT(budget_.Begin(900 * kSecond, 10 * kSecond), IsOk());
    budget_.NotArmed();
    budget_.End(i * 20 * kSecond + 10 * kSecond);
  }
  EXPECT_THAT(budget_.Begin(100 * kSecond, 11 * kSecond), StatusIs(StatusCode::kOutOfRange, "wrote for 20s"));
}

TEST(StepBudget, WithoutACapNothingIsRefused) {
  StepBudget budget;
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_THAT(budget.Begin(i * kSecond, 3600 * kSecond), IsOk());
    budget.End(3600 * kSecond);
  }
}

}  // namespace
}  // namespace plimsoll
