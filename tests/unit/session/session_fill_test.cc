// What a session does between Prepare and Prepared.
#include <string>
#include <utility>
#include <vector>

#include "tests/testing.h"
#include "tests/unit/session/session_fixture.h"

namespace plimsoll {
namespace {

class SessionFillTest : public SessionTest {
 protected:
  void Look(uint32_t round) {
    v1::ControllerMessage message;
    message.mutable_look()->set_round(round);
    session_->Deliver(std::move(message));
  }
  using M = v1::AgentMessage;
};

TEST_F(SessionFillTest, NothingIsFilledBeforeFillHoweverOftenItLooks) {
  Open();
  Place();
  Look(1);
  Look(2);
  Release();
  EXPECT_TRUE(AwaitEnd().ok());
  EXPECT_EQ(Sent(), (std::vector<M::MessageCase>{M::kPlaced, M::kPlaced, M::kPlaced, M::kReleased}));
}

TEST_F(SessionFillTest, AFillThatIsRepeatedIsAnsweredWithTheSame) {
  Open();
  Place();
  Look(1);
  Fill();
  Fill();
  Release();
  EXPECT_TRUE(AwaitEnd().ok());
  EXPECT_EQ(Sent(), (std::vector<M::MessageCase>{M::kPlaced, M::kPlaced, M::kPrepareProgress, M::kPrepared,
                                                 M::kPrepared, M::kReleased}));
}

TEST_F(SessionFillTest, AStopInsteadOfFillEndsTheSession) {
  Open();
  Place();
  Stop();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionFillTest, AStopReachesAFillThatBlocksOrHasNotBegun) {
  state_->BlockPrepare();
  Open();
  Place();
  Fill();
  Stop();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionFillTest, AnArmBeforeFillIsRefused) {
  Open();
  Place();
  Arm();
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace plimsoll
