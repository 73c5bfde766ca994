// Work that plays recorded writes, on real files.
#include <cstdint>
#include <map>
#include <string>

#include "tests/unit/agent/log_work_fixture.h"
#include "tests/unit/agent/playback_plan.h"

namespace plimsoll::tests {
namespace {

// The two writers play one stream: a write of two pages each 5 ms.
class PlaybackWorkTest : public LogWorkTest {
 protected:
  PlaybackWorkTest() {
    PlayPattern(v1::PLAYBACK_MODE_DEMAND, 1, step());
    v1::PatternParts& parts = *plan_.mutable_log()->mutable_pattern();
    AddStream(2, 10 * kMs, parts);
    parts.add_stream_of_writer(0);
    parts.add_stream_of_writer(0);
    plan_.mutable_log()->set_trace(false);
  }

  static v1::PatternChunk OneWrite() { return ChunkOf(0, {{5 * kNsPerMs, 2, 1}}); }
  void CreateAndFill() {
    ASSERT_THAT(Create(), IsOk());
    ASSERT_THAT(work_->Take(OneWrite()), IsOk());
    ASSERT_THAT(work_->Take(OneWrite()), IsOk());
    ASSERT_THAT(Prepare(), IsOk());
  }
  // By operation, of both writers together: how many completed, once frames and totals agree.
  std::map<uint32_t, uint64_t> RunStep(uint32_t number) {
    sink_.Clear();
    EXPECT_FALSE(ArmIn(kSoon, number).late());
    const v1::StepDone done = sink_.NextDone();
    EXPECT_EQ(done.stopped(), "");
    EXPECT_EQ(done.writers_size(), 4);
    std::map<uint32_t, uint64_t> counted;
    std::map<uint32_t, uint64_t> framed;
    for (const v1::WriterTotals& totals : done.writers()) {
      counted[totals.operation()] += totals.writes();
      EXPECT_GT(totals.bytes(), 0U);
      EXPECT_EQ(totals.bytes() % 8192, 0U);
    }
    for (const v1::Frame& frame : sink_.Frames()) framed[frame.operation()] += frame.latency().count();
    EXPECT_EQ(counted, framed);
    return counted;
  }
};

TEST_F(PlaybackWorkTest, PlaysTheRecordingInEachStepAndFasterInOneThatIsAdded) {
  CreateAndFill();
  v1::Command command;
  v1::AddStep& add = *command.mutable_add_step();
  add.set_step(1);
  add.mutable_spec()->set_duration_ns(100 * kMs);
  PlayPattern(v1::PLAYBACK_MODE_DEMAND, 10, *add.mutable_spec());
  ASSERT_THAT(work_->Do(command), IsOk());
  // The last of 20 recorded writes arrives when the step ends. What arrives during a long write leaves with the next.
  const std::map<uint32_t, uint64_t> once = RunStep(0);
  EXPECT_LE(once.at(1), 2 * 19U);
  const std::map<uint32_t, uint64_t> faster = RunStep(1);
  EXPECT_LE(faster.at(1), 2 * 199U);
  EXPECT_GT(faster.at(1), once.at(1));
  const std::map<uint32_t, uint64_t> again = RunStep(0);
  EXPECT_LE(again.at(1), 2 * 19U);
}

TEST_F(PlaybackWorkTest, PlaysTheRecordedWritesOneByOne) {
  PlayPattern(v1::PLAYBACK_MODE_WRITES, 20, step());
  CreateAndFill();
  const std::map<uint32_t, uint64_t> counted = RunStep(0);
  EXPECT_EQ(counted.at(0), counted.at(1)) << "no write holds two recorded ones";
  EXPECT_GT(counted.at(0), 0U);
}

TEST_F(PlaybackWorkTest, FillsNothingWhileRecordedWritesAreMissing) {
  ASSERT_THAT(Create(), IsOk());
  ASSERT_THAT(work_->Take(OneWrite()), IsOk());
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  "stream 0 of the recording has 1 of its 2 entries: all must arrive before Fill"));
  EXPECT_THAT(progress_, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(ExtentPath(1, 0)));
}

TEST_F(PlaybackWorkTest, RefusesRecordedWritesThatItDidNotAskFor) {
  ASSERT_THAT(Create(), IsOk());
  EXPECT_THAT(work_->Take(ChunkOf(1, {{5, 2, 1}})), StatusIs(absl::StatusCode::kInvalidArgument, "stream 1"));
  plan_.mutable_log()->clear_pattern();
  step().Clear();
  step().set_block_size_bytes(4096);
  step().set_duration_ns(100 * kMs);
  ASSERT_THAT(Create(), IsOk());
  EXPECT_THAT(work_->Take(OneWrite()), StatusIs(absl::StatusCode::kInvalidArgument, "plays no recording"));
  EXPECT_THAT(Prepare(), IsOk());
}

}  // namespace
}  // namespace plimsoll::tests
