// Recorded writes on their way from the controller to the work.
#include <string>
#include <utility>
#include <vector>

#include "common/load_pattern.h"
#include "tests/testing.h"
#include "tests/unit/session/session_fixture.h"

namespace plimsoll {
namespace {

class SessionPatternTest : public SessionTest {
 protected:
  void Chunk(uint32_t stream) {
    v1::ControllerMessage message;
    message.mutable_pattern_chunk()->set_stream(stream);
    AddEntry({5, 1, 1}, *message.mutable_pattern_chunk());
    session_->Deliver(std::move(message));
  }
  // Another session, after the end of the first.
  void OpenAgain() {
    session_.reset();
    {
      MutexLock lock(mutex_);
      result_.reset();
    }
    Open();
  }
  using M = v1::AgentMessage;
};

TEST_F(SessionPatternTest, TheWorkGetsTheChunksInTheirOrderBeforeItFills) {
  state_->PlayStreams(2);
  Open();
  Place();
  Chunk(1);
  Chunk(0);
  Chunk(1);
  Fill();
  state_->AwaitPreparing();
  EXPECT_THAT(state_->order(), ElementsAre("chunk of stream 1", "chunk of stream 0", "chunk of stream 1", "prepare"));
  Release();
  EXPECT_THAT(AwaitEnd(), IsOk());
  EXPECT_EQ(Sent(), (std::vector<M::MessageCase>{M::kPlaced, M::kPrepareProgress, M::kPrepared, M::kReleased}));
}

TEST_F(SessionPatternTest, EachChunkIsProgress) {
  state_->PlayStreams(1);
  Open();
  Place();
  Fill();
  state_->AwaitPreparing();
  Release();
  ASSERT_THAT(AwaitEnd(), IsOk());
  const uint64_t without = session_->Progress();
  OpenAgain();
  Place();
  Chunk(0);
  Chunk(0);
  Fill();
  Release();
  ASSERT_THAT(AwaitEnd(), IsOk());
  EXPECT_EQ(session_->Progress(), without + 2);
}

TEST_F(SessionPatternTest, AChunkThatTheWorkRefusesEndsTheSessionWithItsReason) {
  state_->PlayStreams(1);
  Open();
  Place();
  Chunk(0);
  Chunk(1);
  Fill();
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kInvalidArgument, "no such stream"));
  EXPECT_TRUE(state_->released());
  EXPECT_THAT(state_->order(), Not(Contains("prepare")));
}

TEST_F(SessionPatternTest, ChunksThatComeWhileTheWorkFillsAreNotKeptWithoutABound) {
  state_->PlayStreams(1);
  state_->BlockPrepare();
  Open();
  Place();
  Fill();
  state_->AwaitPreparing();
  v1::ControllerMessage large;
  large.mutable_pattern_chunk()->mutable_gap_ns()->Resize(64 << 10, 1);
  // 25 MiB.
  for (int i = 0; i < 100; ++i) session_->Deliver(large);
  EXPECT_EQ(AwaitEnd().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(state_->stops(), Contains("the controller sends more than the agent can take"));
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionPatternTest, AChunkBeforePrepareOrAfterFillIsRefused) {
  state_->PlayStreams(1);
  Open();
  Chunk(0);
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kFailedPrecondition, "a session begins with Prepare"));
  OpenAgain();
  Prepare();
  Chunk(0);
  EXPECT_THAT(AwaitEnd(), StatusIs(absl::StatusCode::kFailedPrecondition, "the agent is prepared"));
  EXPECT_TRUE(state_->released());
}

TEST_F(SessionPatternTest, WorkThatPlaysNothingRefusesChunks) {
  class Idle final : public Work {
    absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& /*progress*/) override {
      return v1::Prepared();
    }
    void Stop(const std::string& /*reason*/) override {}
    uint64_t Progress() const override { return 0; }
  };
  Idle idle;
  Work& work = idle;
  EXPECT_THAT(work.Take(v1::PatternChunk()),
              StatusIs(absl::StatusCode::kInvalidArgument, "this kind of work plays no recording"));
}

}  // namespace
}  // namespace plimsoll
