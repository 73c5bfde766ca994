#include "agent/writer/step_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <vector>

#include "agent/writer/writer_tally.h"
#include "tests/testing.h"
#include "tests/unit/agent/step_moments.h"

namespace plimsoll::tests {
namespace {

class Sink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch frames) override { batches.push_back(std::move(frames)); }
  void OnStepDone(v1::StepDone /*done*/) override {}
  void OnMessage(v1::AgentMessage /*message*/) override {}
  void OnFault(v1::Fault fault) override { faults.push_back(std::move(fault)); }
  std::vector<v1::FrameBatch> batches;
  std::vector<v1::Fault> faults;
};

// Three writers that the test plays, a step of 1 s with intervals of 250 ms.
class StepRecorderTest : public ::testing::Test {
 protected:
  StepRecorderTest() { MakeRecorder(100 * kMs); }
  void MakeRecorder(int64_t stall_ns, uint64_t pass_blocks = 0) {
    recorder_.reset();
    states_.clear();
    std::vector<TallyParams> params;
    std::vector<WriterState*> states;
    for (uint32_t qm = 1; qm <= 3; ++qm) {
      params.push_back({.step = 0,
                        .qm = qm,
                        .times = StepTimes(kStartNs, 0, 1000 * kMs, 250 * kMs),
                        .layout = ExtentLayout(65536, 3, 4096),
                        .schedule = std::nullopt,
                        .trace = false,
                        .pass_blocks = pass_blocks,
                        .stall_ns = stall_ns});
      states_.push_back(std::make_unique<WriterState>());
      states.push_back(states_.back().get());
    }
    StepRecorder::Hooks hooks;
    hooks.sample_host = [this] {
      ++samples_;
      return v1::HostSample();
    };
    hooks.describe_failure = [](uint32_t qm, const WriteFailure& failure) {
      v1::Fault fault;
      fault.set_qm(qm);
      fault.set_message("write failed with " + std::to_string(failure.error_number));
      return fault;
    };
    recorder_ = std::make_unique<StepRecorder>(params, states, control_, stop_trace_at_ns_, std::move(hooks), sink_);
  }
  void Finish(size_t writer, int64_t now_ns, LoopEnd end = LoopEnd::kRanToEnd) {
    states_[writer]->mark = WriterState::kIdle;
    states_[writer]->end = end;
    states_[writer]->finished_ns = now_ns;
    states_[writer]->finished = true;
  }

  std::atomic<int64_t> lease_deadline_ns_{StopControl::kNever};
  StopControl control_{lease_deadline_ns_};
  std::atomic<int64_t> stop_trace_at_ns_{StopControl::kNever};
  Sink sink_;
  int samples_ = 0;
  std::vector<std::unique_ptr<WriterState>> states_;
  std::unique_ptr<StepRecorder> recorder_;
};

TEST_F(StepRecorderTest, FramesOfOneCutLeaveTogether) {
  recorder_->Poll(kStartNs + 100 * kMs, 0);
  EXPECT_THAT(sink_.batches, IsEmpty());
  // One writer's next sample tells early that its interval is over.
  ASSERT_TRUE(states_[1]->ring.TryPush({kStartNs + 249 * kMs, static_cast<uint64_t>(kMs)}));
  recorder_->Poll(kStartNs + 250 * kMs, 0);
  EXPECT_THAT(sink_.batches, IsEmpty());
  recorder_->Poll(kStartNs + 250 * kMs + kMarginNs, 0);
  ASSERT_THAT(sink_.batches, SizeIs(1));
  ASSERT_EQ(sink_.batches[0].frames_size(), 3);
  for (const v1::Frame& frame : sink_.batches[0].frames()) EXPECT_EQ(frame.first_interval(), 0);
}

TEST_F(StepRecorderTest, AWriterThatDoesNotPublishHoldsTheOthersBackOnlyBriefly) {
  states_[0]->mark = WriterState::kReturned;
  recorder_->Poll(kStartNs + 252 * kMs, 0);
  EXPECT_THAT(sink_.batches, IsEmpty());
  recorder_->Poll(kStartNs + 252 * kMs + StepRecorder::kPatienceNs, 0);
  ASSERT_THAT(sink_.batches, SizeIs(1));
  EXPECT_EQ(sink_.batches[0].frames_size(), 2);
  ASSERT_TRUE(states_[0]->ring.TryPush({kStartNs + 100 * kMs, static_cast<uint64_t>(kMs)}));
  states_[0]->mark = WriterState::kIdle;
  recorder_->Poll(kStartNs + 290 * kMs, 0);
  ASSERT_THAT(sink_.batches, SizeIs(2));
  ASSERT_EQ(sink_.batches[1].frames_size(), 1);
  EXPECT_EQ(sink_.batches[1].frames(0).qm(), 1U);
  EXPECT_EQ(sink_.batches[1].frames(0).latency().count(), 1U);
}

TEST_F(StepRecorderTest, AOnePassStepEndsWithItsLastWriterAndAllHaveTheSameIntervals) {
  MakeRecorder(100 * kMs, /*pass_blocks=*/1);
  for (const size_t writer : {0U, 1U, 2U}) {
    ASSERT_TRUE(states_[writer]->ring.TryPush({kStartNs, static_cast<uint64_t>(90 * kMs)}));
  }
  Finish(0, kStartNs + 90 * kMs);
  recorder_->Poll(kStartNs + 252 * kMs, 0);
  recorder_->Poll(kStartNs + 502 * kMs, 0);
  EXPECT_FALSE(recorder_->done());
  for (const size_t writer : {1U, 2U}) {
    ASSERT_TRUE(states_[writer]->ring.TryPush({kStartNs + 90 * kMs, static_cast<uint64_t>(510 * kMs)}));
    Finish(writer, kStartNs + 600 * kMs);
  }
  recorder_->Poll(kStartNs + 604 * kMs, 0);
  EXPECT_TRUE(recorder_->done());
  std::map<uint32_t, std::vector<uint64_t>> counts;
  for (const v1::FrameBatch& batch : sink_.batches) {
    for (const v1::Frame& frame : batch.frames()) {
      EXPECT_EQ(frame.first_interval(), static_cast<int32_t>(counts[frame.qm()].size()));
      EXPECT_FALSE(frame.closing());
      EXPECT_TRUE(frame.qm() != 1 || (frame.stalls().empty() && !frame.has_growing_stall())) << "it has ended";
      counts[frame.qm()].push_back(frame.latency().count());
    }
  }
  EXPECT_THAT(counts, UnorderedElementsAre(Pair(1U, ElementsAre(1U, 0U, 0U)), Pair(2U, ElementsAre(1U, 0U, 1U)),
                                           Pair(3U, ElementsAre(1U, 0U, 1U))));
  EXPECT_EQ(recorder_->Finish("").stopped(), "");
}

TEST_F(StepRecorderTest, APassThatTheStepsEndCutIsReported) {
  MakeRecorder(100 * kMs, /*pass_blocks=*/2);
  for (const size_t writer : {0U, 1U, 2U}) {
    ASSERT_TRUE(states_[writer]->ring.TryPush({kStartNs, static_cast<uint64_t>(90 * kMs)}));
    if (writer != 1) {
      ASSERT_TRUE(states_[writer]->ring.TryPush({kStartNs + 90 * kMs, static_cast<uint64_t>(90 * kMs)}));
    }
    Finish(writer, kStartNs + 1000 * kMs);
  }
  recorder_->Poll(kStartNs + 1001 * kMs, 0);
  ASSERT_TRUE(recorder_->done());
  EXPECT_EQ(recorder_->Finish("").stopped(), "the pass was not finished within --duration 1s; use a longer --duration");
}

TEST_F(StepRecorderTest, SamplesTheHostOnceASecondAndAtTheEnd) {
  for (int64_t at = 4 * kMs; at < 900 * kMs; at += 4 * kMs) recorder_->Poll(kStartNs + at, at == 8 * kMs ? 77 : 5);
  EXPECT_EQ(samples_, 0);
  for (const size_t writer : {0U, 1U, 2U}) Finish(writer, kStartNs + 1000 * kMs);
  recorder_->Poll(kStartNs + 1001 * kMs, 3);
  EXPECT_EQ(samples_, 1);
  ASSERT_TRUE(sink_.batches.back().has_sample());
  EXPECT_EQ(sink_.batches.back().sample().time_ns(), kStartNs + 1001 * kMs);
  EXPECT_EQ(sink_.batches.back().sample().recorder_late_max_ns(), 77U);
  EXPECT_TRUE(recorder_->done());
}

TEST_F(StepRecorderTest, ReportsWhenItDidNotRunItself) {
  recorder_->Poll(kStartNs + 4 * kMs, 0);
  recorder_->Poll(kStartNs + 60 * kMs, 50 * kMs - 1);  // a little too short to tell
  recorder_->Poll(kStartNs + 114 * kMs, 50 * kMs);
  recorder_->Poll(kStartNs + 900 * kMs, 700 * kMs);
  EXPECT_EQ(samples_, 0);
  recorder_->Poll(kStartNs + 1252 * kMs, 0);
  ASSERT_TRUE(sink_.batches.back().has_sample());
  const v1::HostSample& sample = sink_.batches.back().sample();
  ASSERT_EQ(sample.pauses_size(), 2);
  EXPECT_EQ(sample.pauses(0).begin_ns(), kStartNs + 64 * kMs);
  EXPECT_EQ(sample.pauses(0).end_ns(), kStartNs + 114 * kMs);
  EXPECT_EQ(sample.pauses(1).begin_ns(), kStartNs + 200 * kMs);
  EXPECT_EQ(sample.pauses(1).end_ns(), kStartNs + 900 * kMs);
  // A pause at the step's end is told with the last frames, whenever the last sample was.
  for (const size_t writer : {0U, 1U, 2U}) Finish(writer, kStartNs + 1000 * kMs);
  recorder_->Poll(kStartNs + 1500 * kMs, 240 * kMs);
  ASSERT_TRUE(recorder_->done());
  ASSERT_TRUE(sink_.batches.back().has_sample());
  EXPECT_EQ(sink_.batches.back().sample().pauses_size(), 1);
}

TEST_F(StepRecorderTest, WhatTheLastSecondCostIsReportedAtTheEndWhateverItIs) {
  recorder_->Poll(kStartNs + 950 * kMs, 0);
  ASSERT_FALSE(recorder_->done());
  recorder_->Poll(kStartNs + 1'001 * kMs, 0);
  ASSERT_TRUE(sink_.batches.back().has_sample());
  for (const size_t writer : {0U, 1U, 2U}) Finish(writer, kStartNs + 1'000 * kMs);
  // Late by less than what is told as a pause, and a little after the sample of the first second.
  recorder_->Poll(kStartNs + 1'040 * kMs, 39 * kMs);
  ASSERT_TRUE(recorder_->done());
  ASSERT_TRUE(sink_.batches.back().has_sample());
  EXPECT_EQ(sink_.batches.back().sample().recorder_late_max_ns(), static_cast<uint64_t>(39 * kMs));
  EXPECT_EQ(sink_.batches.back().sample().pauses_size(), 0);
}

TEST_F(StepRecorderTest, FromFiftyMillisecondsOnAPauseIsReportedHoweverLongAStallIs) {
  MakeRecorder(3'000 * kMs);
  recorder_->Poll(kStartNs + 4 * kMs, 0);
  recorder_->Poll(kStartNs + 60 * kMs, 50 * kMs - 1);
  recorder_->Poll(kStartNs + 114 * kMs, 50 * kMs);
  for (const size_t writer : {0U, 1U, 2U}) Finish(writer, kStartNs + 1'000 * kMs);
  recorder_->Poll(kStartNs + 1'001 * kMs, 0);
  ASSERT_EQ(sink_.batches.back().sample().pauses_size(), 1);
  EXPECT_EQ(sink_.batches.back().sample().pauses(0).end_ns(), kStartNs + 114 * kMs);
}

TEST_F(StepRecorderTest, AHungWriterKeepsTheStepOpenAndNothingElse) {
  states_[2]->mark = kStartNs + 10 * kMs;
  for (const size_t writer : {0U, 1U}) Finish(writer, kStartNs + 1000 * kMs);
  recorder_->Poll(kStartNs + 1001 * kMs, 0);
  EXPECT_FALSE(recorder_->done());
  int frames = 0;
  for (const v1::FrameBatch& batch : sink_.batches) frames += batch.frames_size();
  EXPECT_EQ(frames, 12);
  ASSERT_TRUE(states_[2]->ring.TryPush({kStartNs + 10 * kMs, static_cast<uint64_t>(7000 * kMs)}));
  Finish(2, kStartNs + 7010 * kMs);
  recorder_->Poll(kStartNs + 7011 * kMs, 0);
  EXPECT_TRUE(recorder_->done());
  ASSERT_EQ(sink_.batches.back().frames_size(), 1);
  EXPECT_TRUE(sink_.batches.back().frames(0).closing());
  EXPECT_EQ(recorder_->Finish("").stopped(), "");
}

TEST_F(StepRecorderTest, AFailureIsReportedOnceAndNamesTheReason) {
  states_[1]->failure = {WriteFailure::Kind::kWrite, EIO, 0, 0, 4096, 0};
  control_.StopAt(kStartNs + 300 * kMs);
  Finish(1, kStartNs + 300 * kMs, LoopEnd::kFailed);
  recorder_->Poll(kStartNs + 301 * kMs, 0);
  recorder_->Poll(kStartNs + 305 * kMs, 0);
  ASSERT_THAT(sink_.faults, SizeIs(1));
  EXPECT_EQ(sink_.faults[0].qm(), 2U);
  for (const size_t writer : {0U, 2U}) Finish(writer, kStartNs + 310 * kMs, LoopEnd::kStopped);
  recorder_->Poll(kStartNs + 311 * kMs, 0);
  ASSERT_TRUE(recorder_->done());
  const v1::StepDone done = recorder_->Finish("");
  EXPECT_EQ(done.stopped(), "qm2: write failed with 5");
  EXPECT_EQ(done.writers_size(), 3);
}

TEST_F(StepRecorderTest, SaysWhyAStepWasStopped) {
  for (const size_t writer : {0U, 1U, 2U}) Finish(writer, kStartNs + 310 * kMs, LoopEnd::kStopped);
  recorder_->Poll(kStartNs + 311 * kMs, 0);
  EXPECT_EQ(recorder_->Finish("the user asked").stopped(), "the user asked");
  EXPECT_EQ(recorder_->Finish("").stopped(), "stopped");
}

TEST_F(StepRecorderTest, PollsAgainBeforeTheRingsCanFill) {
  EXPECT_LE(recorder_->Poll(kStartNs + 4 * kMs, 0), kStartNs + 4 * kMs + StepRecorder::kTickNs);
  EXPECT_LE(StepRecorder::kTickNs / 1000 * 4, static_cast<int64_t>(SampleRing::kDefaultCapacity));
  // And right when an interval can be cut.
  EXPECT_EQ(recorder_->Poll(kStartNs + 249 * kMs, 0), kStartNs + 250 * kMs + kMarginNs);
}

}  // namespace
}  // namespace plimsoll::tests
