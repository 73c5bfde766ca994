#include "tests/testing.h"
#include "tests/unit/session/session_fixture.h"

namespace plimsoll {
namespace {

TEST_F(SessionTest, RunsFromPrepareToReleaseInOrder) {
  Open();
  Prepare();
  Arm();
  state_->AwaitArm();
  Release();
  EXPECT_TRUE(AwaitEnd().ok());
  using M = v1::AgentMessage;
  EXPECT_EQ(Sent(), (std::vector<M::MessageCase>{M::kPlaced, M::kPrepareProgress, M::kPrepared, M::kFrames,
                                                 M::kStepDone, M::kArmed, M::kReleased}));
  EXPECT_TRUE(state_->released());
  EXPECT_TRUE(session_->over());
}

TEST_F(SessionTest, CleansUpWhenTheStreamBreaks) {
  Open();
  Prepare();
  Arm();
  state_->AwaitArm();
  session_->Break("the controller is gone");
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(state_->released());
  EXPECT_FALSE(state_->kept());
  ASSERT_FALSE(state_->stops().empty());
  EXPECT_EQ(state_->stops().front(), "the controller is gone");
}

TEST_F(SessionTest, StopsAndCleansUpWhenTheLeaseRunsOut) {
  Open();
  Prepare(/*lease_ns=*/30 * kNsPerMs);
  const absl::Status end = AwaitEnd();
  EXPECT_EQ(end.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(end.message().find("30ms"), std::string::npos) << end.message();
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionTest, RefusesALeaseThatNoPlanHas) {
  for (const int64_t lease_ns : {int64_t{0}, int64_t{-1}, 3601 * kNsPerSecond, INT64_MAX, INT64_MIN}) {
    SCOPED_TRACE(lease_ns);
    {
      const MutexLock lock(mutex_);
      result_.reset();
    }
    Open();
    Prepare(lease_ns);
    const absl::Status end = AwaitEnd();
    EXPECT_EQ(end.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(end.message().find("lease must be above 0 and at most 1h"), std::string::npos) << end.message();
  }
  EXPECT_FALSE(state_->released()) << "there was nothing to release";
}

TEST_F(SessionTest, ShowsNobodyANameThatSteersATerminal) {
  for (const bool label : {false, true}) {
    {
      const MutexLock lock(mutex_);
      result_.reset();
    }
    Open();
    v1::ControllerMessage message;
    message.mutable_prepare()->set_protocol_version(kProtocolVersion);
    v1::HostPlan& plan = *message.mutable_prepare()->mutable_plan();
    plan.set_lease_ns(kNsPerSecond);
    plan.set_run_id(label ? "7f3a21" : "7f\x1b[2J\n21");
    plan.set_host_label(label ? "alpha\n" : "alpha");
    session_->Deliver(std::move(message));
    EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(session_->Describe().find_first_of("\x1b\n"), std::string::npos) << session_->Describe();
    EXPECT_EQ(session_->holder().run_id(), "");
  }
}

TEST_F(SessionTest, EndsWhenNoPrepareComes) {
  Open(/*first_lease_ns=*/20 * kNsPerMs);
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_FALSE(state_->released()) << "there was nothing to release";
}

TEST_F(SessionTest, KeepsFilesOfABrokenSessionWhereThePlanSaysSo) {
  Open();
  Prepare(10 * kNsPerSecond, /*keep_files=*/true);
  Arm();
  state_->AwaitArm();
  session_->Break("gone");
  AwaitEnd().IgnoreError();
  EXPECT_TRUE(state_->kept());
}

TEST_F(SessionTest, StopReachesAPreparationThatBlocks) {
  state_->BlockPrepare();
  Open();
  Prepare();
  state_->AwaitPreparing();
  Stop();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionTest, AStopDoesNotOvertakeTheArmBeforeIt) {
  Open();
  Prepare();
  state_->AwaitPreparing();
  // Until Prepared is out, the session's thread is not ready to be armed.
  while (true) {
    const auto message = session_->outbox().Pop();
    if (message.has_value() && message->has_prepared()) break;
  }
  Arm();
  Stop();
  state_->AwaitStop();
  EXPECT_EQ(state_->order(), (std::vector<std::string>{"arm", "stop"}));
  Release();
  AwaitEnd().IgnoreError();
}

TEST_F(SessionTest, AnswersHeartbeatsWhilePreparationBlocks) {
  state_->BlockPrepare();
  Open();
  Prepare();
  state_->AwaitPreparing();
  v1::ControllerMessage beat;
  beat.mutable_heartbeat()->set_id(7);
  session_->Deliver(std::move(beat));
  bool answered = false;
  while (auto message = session_->outbox().Pop()) {
    if (message->has_alive()) {
      answered = true;
      EXPECT_EQ(message->alive().id(), 7U);
      EXPECT_EQ(message->alive().state(), "preparing");
    }
  }
  EXPECT_TRUE(answered);
  session_->Break("test is over");
  AwaitEnd().IgnoreError();
}

TEST_F(SessionTest, StaysBusyWhileAWriteDoesNotReturn) {
  state_->BlockWrites(true);
  Open();
  Prepare();
  Arm();
  state_->AwaitArm();
  session_->Break("the controller is gone");
  state_->AwaitStop();
  EXPECT_FALSE(session_->over());
  EXPECT_FALSE(state_->released()) << "files of a writer in a system call must not be touched";
  state_->BlockWrites(false);
  AwaitEnd().IgnoreError();
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionTest, RefusesAPlanBeyondItsCapsBeforeAnythingIsMade) {
  limits_.set_max_writers(2);
  Open();
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion);
  v1::HostPlan& plan = *message.mutable_prepare()->mutable_plan();
  plan.set_run_id("7f3a21");
  plan.set_lease_ns(10 * kNsPerSecond);
  plan.mutable_log()->mutable_workload()->set_qm(3);
  session_->Deliver(std::move(message));
  const absl::Status end = AwaitEnd();
  EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(end.message().find("--max-writers is 2"), std::string::npos) << end;
  EXPECT_EQ(makes_, 0);
}

TEST_F(SessionTest, EndsAControllerThatArmsBeyondTheCapHoweverShortItsPlanWas) {
  limits_.set_max_duration_ns(kNsPerSecond);
  Open();
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion);
  v1::HostPlan& plan = *message.mutable_prepare()->mutable_plan();
  plan.set_run_id("7f3a21");
  plan.set_lease_ns(10 * kNsPerSecond);
  plan.mutable_log()->add_steps()->set_duration_ns(kNsPerSecond);
  session_->Deliver(std::move(message));
  Fill();
  // The same step again and again, each time as if it had run its whole second: the fake says so at once.
  for (int i = 0; i < 2; ++i) {
    v1::ControllerMessage arm;
    arm.mutable_arm()->set_start_ns(clock_.Now().value - kNsPerSecond);
    session_->Deliver(std::move(arm));
  }
  const absl::Status end = AwaitEnd();
  EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange);
  EXPECT_NE(end.message().find("--max-duration is 1s"), std::string::npos) << end;
  EXPECT_EQ(state_->order().front(), "arm");
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionTest, SaysWhyTheWorkCouldNotBeMade) {
  make_error_ = absl::PermissionDeniedError("/etc is not below --root");
  Open();
  Prepare();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kPermissionDenied);
  const auto fault = session_->outbox().Pop();
  ASSERT_TRUE(fault.has_value() && fault->has_fault());
  EXPECT_EQ(fault->fault().message(), "/etc is not below --root");
}

TEST_F(SessionTest, RefusesAnotherProtocolVersionNamingBoth) {
  Open();
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion + 1);
  session_->Deliver(std::move(message));
  const absl::Status end = AwaitEnd();
  EXPECT_EQ(end.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(end.message().find("install the same version"), std::string::npos);
}

TEST_F(SessionTest, AnswersACommandWithWhatTheWorkSaysToIt) {
  state_->BlockPrepare();
  Open();
  v1::ControllerMessage early;
  early.mutable_command()->set_id(6);
  early.mutable_command()->mutable_stop_trace();
  session_->Deliver(early);
  Prepare();
  state_->AwaitPreparing();
  // Also while the session's own thread is busy.
  const int64_t before_ns = clock_.Now().value;
  early.mutable_command()->set_id(7);
  session_->Deliver(early);
  v1::ControllerMessage unknown;
  unknown.mutable_command()->set_id(8);
  session_->Deliver(unknown);
  std::vector<v1::CommandDone> answers;
  while (auto message = session_->outbox().Pop()) {
    if (message->has_command_done()) answers.push_back(message->command_done());
  }
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].id(), 6U);
  EXPECT_EQ(answers[0].code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(answers[1].id(), 7U);
  EXPECT_EQ(answers[1].code(), 0);
  EXPECT_GE(answers[1].at_ns(), before_ns);
  EXPECT_EQ(answers[2].id(), 8U);
  EXPECT_EQ(answers[2].code(), static_cast<int>(absl::StatusCode::kUnimplemented));
  EXPECT_EQ(state_->order(), std::vector<std::string>{"stop trace"});
  session_->Break("test is over");
  AwaitEnd().IgnoreError();
}

TEST_F(SessionTest, RefusesAKindOfWorkThatItDoesNotKnow) {
  Open();
  v1::ControllerMessage message;
  message.mutable_prepare()->set_protocol_version(kProtocolVersion);
  message.mutable_prepare()->mutable_plan()->set_run_id("7f3a21");
  message.mutable_prepare()->mutable_plan()->set_lease_ns(10 * kNsPerSecond);
  message.mutable_prepare()->mutable_plan()->mutable_clean();
  session_->Deliver(std::move(message));
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(makes_, 0);
}

TEST_F(SessionTest, RefusesASessionThatDoesNotBeginWithPrepare) {
  Open();
  Arm();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace plimsoll
