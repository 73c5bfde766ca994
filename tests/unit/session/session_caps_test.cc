// What sessions have of the agent's caps.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/session/session.h"
#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

constexpr int64_t kSecond = kNsPerSecond;

class SessionCapsTest : public ::testing::Test {
 protected:
  static v1::AgentLimits Limits() {
    v1::AgentLimits limits;
    limits.set_max_bytes(1000);
    limits.set_max_writers(3);
    limits.set_max_duration_ns(30 * kSecond);
    return limits;
  }
  // A step of ten seconds that starts at `start_ns` and goes on for `took_ns`.
  absl::Status Run(int64_t start_ns, int64_t took_ns) {
    absl::Status begun = caps_.BeginStep(&session_, start_ns, 10 * kSecond);
    if (begun.ok()) caps_.EndStep(&session_, start_ns + took_ns);
    return begun;
  }
  SessionCaps caps_{Limits()};
  const int session_ = 0;
};

TEST_F(SessionCapsTest, TakesStepsUpToTheCapAndNotOneMore) {
  // Each lasts a little longer than its time: a last write, the way of a message. That is not writing.
  for (int64_t i = 0; i < 3; ++i) EXPECT_THAT(Run(i * 20 * kSecond, 10 * kSecond + 5), IsOk());
  EXPECT_THAT(Run(100 * kSecond, 1),
              StatusIs(StatusCode::kOutOfRange, "--max-duration is 30s, the writers of this controller wrote for 30s"));
}

TEST_F(SessionCapsTest, AStepThatIsAddedIsHeldAgainstWhatIsLeft) {
  EXPECT_THAT(caps_.AllowsStep(&session_, 30 * kSecond), IsOk());
  ASSERT_THAT(caps_.BeginStep(&session_, 0, 10 * kSecond), IsOk());
  caps_.EndStep(&session_, 10 * kSecond);
  EXPECT_THAT(caps_.AllowsStep(&session_, 20 * kSecond), IsOk()) << "asking takes nothing";
  EXPECT_THAT(caps_.AllowsStep(&session_, 20 * kSecond + 1), StatusIs(absl::StatusCode::kOutOfRange, "--max-duration"));
}

TEST_F(SessionCapsTest, StepsThatAreStoppedAndArmedAgainAddUp) {
  EXPECT_THAT(Run(0, 9 * kSecond), IsOk());
  EXPECT_THAT(Run(20 * kSecond, 9 * kSecond), IsOk());
  EXPECT_THAT(Run(40 * kSecond, 9 * kSecond), IsOk());
  EXPECT_THAT(Run(60 * kSecond, 9 * kSecond), StatusIs(StatusCode::kOutOfRange, "wrote for 27s"));
}

TEST_F(SessionCapsTest, AStepThatNeverStartedCostsNothing) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(caps_.BeginStep(&session_, 100 * kSecond, 10 * kSecond), IsOk());
    caps_.StepNotArmed(&session_);
    EXPECT_THAT(caps_.BeginStep(&session_, 100 * kSecond, 10 * kSecond), IsOk());
    caps_.EndStep(&session_, 50 * kSecond);  // stopped before its start
  }
}

TEST_F(SessionCapsTest, ArmingAgainWhileAStepRunsDoesNotHideItsTime) {
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_THAT(caps_.BeginStep(&session_, i * 20 * kSecond, 10 * kSecond), IsOk());
    EXPECT_THAT(caps_.BeginStep(&session_, 900 * kSecond, 10 * kSecond), IsOk());
    caps_.StepNotArmed(&session_);
    caps_.EndStep(&session_, i * 20 * kSecond + 10 * kSecond);
  }
  EXPECT_THAT(caps_.BeginStep(&session_, 100 * kSecond, 11 * kSecond),
              StatusIs(StatusCode::kOutOfRange, "wrote for 20s"));
}

TEST(SessionCaps, WithoutACapNothingIsRefused) {
  SessionCaps caps{v1::AgentLimits()};
  const int session = 0;
  for (int64_t i = 0; i < 100; ++i) {
    EXPECT_THAT(caps.BeginStep(&session, i * kSecond, 3600 * kSecond), IsOk());
    caps.EndStep(&session, 3600 * kSecond);
  }
}

// So many bytes, threads and seconds.
WorkDemand Demand(uint64_t bytes, uint64_t threads, int64_t seconds) {
  WorkDemand demand;
  demand.bytes = {bytes, absl::StrCat("asks for ", bytes, " bytes"), "--file-size"};
  demand.threads = {threads, absl::StrCat("asks for ", threads, " threads"), "--qm"};
  demand.duration_ns = {static_cast<uint64_t>(seconds * kSecond), absl::StrCat("takes ", seconds, " s"), "--duration"};
  return demand;
}

TEST_F(SessionCapsTest, WhatSessionsAskForTogetherIsWithinTheCaps) {
  const int other = 0;
  EXPECT_THAT(caps_.Join(&session_, Demand(600, 2, 20)), IsOk());
  EXPECT_THAT(caps_.Join(&other, Demand(401, 1, 10)),
              StatusIs(StatusCode::kOutOfRange,
                       "asks for 401 bytes in addition to 600 bytes of the same controller's other session"));
  EXPECT_THAT(caps_.Join(&other, Demand(400, 2, 10)), StatusIs(StatusCode::kOutOfRange, "--max-writers"));
  EXPECT_THAT(caps_.Join(&other, Demand(400, 1, 11)), StatusIs(StatusCode::kOutOfRange, "--max-duration"));
  EXPECT_THAT(caps_.Join(&other, Demand(400, 1, 10)), IsOk());
  caps_.Leave(&session_);
  caps_.Leave(&other);
  EXPECT_THAT(caps_.Join(&other, Demand(1000, 3, 30)), IsOk());
}

TEST_F(SessionCapsTest, StepsOfBothSessionsTakeFromTheSameTime) {
  const int other = 0;
  ASSERT_THAT(Run(0, 10 * kSecond), IsOk());
  ASSERT_THAT(caps_.BeginStep(&other, 20 * kSecond, 10 * kSecond), IsOk());
  EXPECT_THAT(caps_.AllowsStep(&session_, 10 * kSecond), IsOk());
  EXPECT_THAT(caps_.AllowsStep(&session_, 10 * kSecond + 1), StatusIs(StatusCode::kOutOfRange, "wrote for 20s"));
  // Side by side they take as much as one after the other.
  ASSERT_THAT(caps_.BeginStep(&session_, 20 * kSecond, 10 * kSecond), IsOk());
  caps_.EndStep(&session_, 30 * kSecond);
  caps_.EndStep(&other, 30 * kSecond);
  EXPECT_THAT(caps_.AllowsStep(&session_, 1), StatusIs(StatusCode::kOutOfRange, "wrote for 30s"));
}

}  // namespace
}  // namespace plimsoll
