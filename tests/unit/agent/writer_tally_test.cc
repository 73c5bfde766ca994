#include "agent/log/writer_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/status_matchers.h"

namespace plimsoll::testing {
namespace {

using google::protobuf::RepeatedPtrField;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStartNs = 1'000 * kMs;
constexpr int64_t kMarginNs = WriterTally::kVisibilityNs;

// A step of 1 s with intervals of 250 ms; the test plays the writer.
class WriterTallyTest : public ::testing::Test {
 protected:
  TallyParams Params(int64_t warmup_ns = 0, int64_t duration_ns = 1000 * kMs) {
    return {.step = 2,
            .qm = 7,
            .times = StepTimes(kStartNs, warmup_ns, duration_ns, 250 * kMs),
            .layout = ExtentLayout(65536, 3, 4096),
            .schedule = std::nullopt,
            .trace = true};
  }
  void Push(int64_t start_ns, int64_t latency_ns) {
    ASSERT_TRUE(state_.ring.TryPush({start_ns, static_cast<uint64_t>(latency_ns)}));
  }
  void FinishAt(int64_t now_ns) {
    state_.mark = WriterState::kIdle;
    state_.finished_ns = now_ns;
    state_.finished = true;
  }

  WriterState state_;
  std::atomic<int64_t> stop_trace_at_ns_{StopControl::kNever};
  RepeatedPtrField<v1::Frame> frames_;
};

TEST_F(WriterTallyTest, AFrameSaysWhatItsWritesWere) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs + 10, 100);
  Push(kStartNs + 150, 300);
  Push(kStartNs + 460, 200);
  tally.Poll(kStartNs + 250 * kMs + kMarginNs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  const v1::Frame& frame = frames_[0];
  EXPECT_EQ(frame.step(), 2U);
  EXPECT_EQ(frame.qm(), 7U);
  EXPECT_EQ(frame.first_interval(), 0);
  EXPECT_EQ(frame.interval_count(), 1U);
  EXPECT_FALSE(frame.closing());
  EXPECT_EQ(frame.latency().count(), 3U);
  EXPECT_EQ(frame.latency().sum_ns(), 600U);
  EXPECT_EQ(frame.latency().min_ns(), 100U);
  EXPECT_EQ(frame.latency().max_ns(), 300U);
  EXPECT_FALSE(frame.has_response());
  EXPECT_EQ(frame.bytes(), 3U * 4096);
  EXPECT_EQ(frame.between_ns(), 10 + 40 + 10);
  EXPECT_EQ(frame.first_seq(), 1U);
  EXPECT_EQ(frame.first_start_ns(), kStartNs + 10);
  EXPECT_EQ(frame.last_end_ns(), kStartNs + 660);
  EXPECT_EQ(frame.slowest().seq(), 2U);
  EXPECT_EQ(frame.slowest().start_ns(), kStartNs + 150);
  EXPECT_EQ(frame.slowest().latency_ns(), 300U);
  EXPECT_EQ(frame.slowest().extent(), 0U);
  EXPECT_EQ(frame.slowest().offset_bytes(), 4096U);
  EXPECT_EQ(frame.in_flight_since_ns(), 0);
  EXPECT_EQ(frame.cut_ns(), kStartNs + 250 * kMs + kMarginNs);
  ASSERT_EQ(frame.trace_size(), 1);
  std::vector<TracedWrite> writes;
  ASSERT_THAT(DecodeTrace(frame.trace(0), writes), IsOk());
  EXPECT_EQ(writes, (std::vector<TracedWrite>{{kStartNs + 10, 100}, {kStartNs + 150, 300}, {kStartNs + 460, 200}}));
  EXPECT_EQ(frame.untraced_writes(), 0U);
}

TEST_F(WriterTallyTest, AWriteBelongsToTheIntervalInWhichItCompletes) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs + 249 * kMs, kMs - 1);    // ends just before the boundary
  Push(kStartNs + 250 * kMs, 250 * kMs);  // ends exactly on the next one
  tally.Poll(kStartNs + 500 * kMs + kMarginNs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_EQ(frames_[0].latency().count(), 1U);
  EXPECT_EQ(frames_[1].latency().count(), 0U);
  tally.Poll(kStartNs + 750 * kMs + kMarginNs, frames_);
  ASSERT_THAT(frames_, SizeIs(3));
  EXPECT_EQ(frames_[2].latency().count(), 1U);
  EXPECT_EQ(frames_[2].first_seq(), 2U);
  EXPECT_EQ(frames_[2].first_interval(), 2);
}

TEST_F(WriterTallyTest, NothingIsCutBeforeEveryStoreCanHaveArrived) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  tally.Poll(kStartNs + 250 * kMs + kMarginNs - 1, frames_);
  EXPECT_THAT(frames_, IsEmpty());
  tally.Poll(kStartNs + 250 * kMs + kMarginNs, frames_);
  EXPECT_THAT(frames_, SizeIs(1));
}

TEST_F(WriterTallyTest, AWriterThatWasPreemptedBeforePublishingIsWaitedFor) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  // The write ended at 249 ms; its writer lost the CPU between the clock and the ring, for a whole second.
  state_.mark = WriterState::kReturned;
  tally.Poll(kStartNs + 600 * kMs, frames_);
  EXPECT_THAT(frames_, IsEmpty());
  EXPECT_TRUE(tally.overdue(kStartNs + 600 * kMs));
  Push(kStartNs + 100 * kMs, 149 * kMs);
  state_.mark = kStartNs + 601 * kMs;
  tally.Poll(kStartNs + 602 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_EQ(frames_[0].latency().count(), 1U);
  EXPECT_EQ(frames_[1].latency().count(), 0U);
  EXPECT_FALSE(tally.overdue(kStartNs + 602 * kMs));
}

TEST_F(WriterTallyTest, AWriterThatShowsALaterWriteIsNotWaitedFor) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  state_.mark = WriterState::kReturned;
  Push(kStartNs + 240 * kMs, 20 * kMs);
  tally.Poll(kStartNs + 260 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  EXPECT_EQ(frames_[0].latency().count(), 0U);
}

TEST_F(WriterTallyTest, AHungWriterSendsEmptyFramesThatSayHowLong) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  state_.mark = kStartNs + 30 * kMs;
  tally.Poll(kStartNs + 800 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(3));
  for (const v1::Frame& frame : frames_) {
    EXPECT_EQ(frame.latency().count(), 0U);
    EXPECT_EQ(frame.in_flight_since_ns(), kStartNs + 30 * kMs);
    EXPECT_EQ(frame.first_seq(), 0U);
    EXPECT_FALSE(frame.has_slowest());
    EXPECT_EQ(frame.trace_size(), 0);
  }
}

TEST_F(WriterTallyTest, TheWriteInFlightAtTheEndIsInTheClosingFrame) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  state_.mark = kStartNs + 999 * kMs;
  tally.Poll(kStartNs + 1500 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(4));
  EXPECT_FALSE(tally.done());
  Push(kStartNs + 999 * kMs, 900 * kMs);
  FinishAt(kStartNs + 1899 * kMs);
  tally.Poll(kStartNs + 1900 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(5));
  EXPECT_TRUE(tally.done());
  EXPECT_TRUE(frames_[4].closing());
  EXPECT_EQ(frames_[4].first_interval(), 4);
  EXPECT_EQ(frames_[4].latency().count(), 1U);
}

TEST_F(WriterTallyTest, WithoutAWriteInFlightThereIsNoClosingFrame) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs, 1000 * kMs - 1);
  FinishAt(kStartNs + 1000 * kMs);
  tally.Poll(kStartNs + 1000 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(4));
  EXPECT_TRUE(tally.done());
  EXPECT_FALSE(frames_[3].closing());
  EXPECT_EQ(frames_[3].latency().count(), 1U);
}

TEST_F(WriterTallyTest, AWriterThatWasStoppedEndsWithItsInterval) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs + 10, 300 * kMs);
  FinishAt(kStartNs + 300 * kMs + 20);
  tally.Poll(kStartNs + 301 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_TRUE(tally.done());
  EXPECT_EQ(frames_[1].latency().count(), 1U);
}

TEST_F(WriterTallyTest, WarmUpHasNumbersBelowZeroAndTheMeasuredFramesAddUp) {
  WriterTally tally(Params(300 * kMs), state_, stop_trace_at_ns_);
  Push(kStartNs + 5, 100 * kMs);
  // In flight when the measured time begins at 300 ms: counted there, though it started before.
  Push(kStartNs + 200 * kMs, 150 * kMs);
  Push(kStartNs + 400 * kMs, 50 * kMs);
  FinishAt(kStartNs + 1300 * kMs);
  tally.Poll(kStartNs + 1300 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(6));
  EXPECT_EQ(frames_[0].first_interval(), -2);
  EXPECT_EQ(frames_[1].first_interval(), -1);
  EXPECT_EQ(frames_[0].latency().count(), 0U);
  EXPECT_EQ(frames_[1].latency().count(), 1U);
  EXPECT_EQ(frames_[1].between_ns(), 5);
  EXPECT_EQ(frames_[2].first_seq(), 2U);
  EXPECT_EQ(frames_[2].between_ns(), -100 * kMs + 50 * kMs);
  EXPECT_EQ(static_cast<int64_t>(frames_[2].latency().sum_ns()) + frames_[2].between_ns(),
            frames_[2].last_end_ns() - (kStartNs + 300 * kMs));
}

TEST_F(WriterTallyTest, TracesStopAtTheirMoment) {
  stop_trace_at_ns_ = kStartNs + 200;
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs + 10, 100);
  Push(kStartNs + 110, 90);  // ends at the moment
  Push(kStartNs + 210, 100);
  tally.Poll(kStartNs + 300 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  EXPECT_EQ(frames_[0].untraced_writes(), 2U);
  std::vector<TracedWrite> writes;
  ASSERT_THAT(DecodeTrace(frames_[0].trace(0), writes), IsOk());
  EXPECT_THAT(writes, SizeIs(1));
}

TEST_F(WriterTallyTest, ARunWithoutTracesCountsItsWritesAsUntraced) {
  TallyParams params = Params();
  params.trace = false;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs + 10, 100);
  tally.Poll(kStartNs + 300 * kMs, frames_);
  EXPECT_EQ(frames_[0].untraced_writes(), 1U);
  EXPECT_EQ(frames_[0].trace_size(), 0);
}

TEST_F(WriterTallyTest, ResponsesCountFromTheIntendedStart) {
  TallyParams params = Params();
  params.schedule.emplace(kStartNs, 100.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 25 * kMs);
  Push(kStartNs + 25 * kMs, kMs);  // was due at 10 ms
  Push(kStartNs + 26 * kMs, kMs);  // was due at 20 ms
  tally.Poll(kStartNs + 300 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  EXPECT_EQ(frames_[0].response().count(), 3U);
  EXPECT_EQ(frames_[0].response().sum_ns(), static_cast<uint64_t>((25 + 16 + 7) * kMs));
  EXPECT_EQ(frames_[0].response().max_ns(), static_cast<uint64_t>(25 * kMs));
}

TEST_F(WriterTallyTest, WritesThatWereDueButNotStartedAreCountedWithTheirAge) {
  // Ten a second from the start; 300 ms of warm-up, so 3 to 12 are due in the measured second.
  TallyParams params = Params(300 * kMs);
  params.schedule.emplace(kStartNs, 10.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  state_.writes = 9;
  FinishAt(kStartNs + 1300 * kMs);
  tally.Poll(kStartNs + 1300 * kMs, frames_);
  const v1::WriterTotals totals = tally.Totals(kStartNs + 1300 * kMs);
  // Numbers 9 to 12, due at 900 to 1200 ms.
  EXPECT_EQ(totals.unserved(), 4U);
  EXPECT_EQ(totals.unserved_age().count(), 4U);
  EXPECT_EQ(totals.unserved_age().min_ns(), static_cast<uint64_t>(100 * kMs));
  EXPECT_EQ(totals.unserved_age().max_ns(), static_cast<uint64_t>(400 * kMs));
  EXPECT_EQ(totals.unserved_age().sum_ns(), static_cast<uint64_t>(1000 * kMs));
  // Hung from the warm-up on: what was due in it does not count.
  state_.writes = 1;
  EXPECT_EQ(tally.Totals(kStartNs + 1300 * kMs).unserved(), 10U);
  // Stopped half way.
  EXPECT_EQ(tally.Totals(kStartNs + 800 * kMs).unserved(), 5U);
  EXPECT_EQ(tally.Totals(kStartNs + 100 * kMs).unserved(), 0U);
  // The write that failed was started.
  state_.end = LoopEnd::kFailed;
  EXPECT_EQ(tally.Totals(kStartNs + 800 * kMs).unserved(), 5U);
  state_.writes = 9;
  EXPECT_EQ(tally.Totals(kStartNs + 1300 * kMs).unserved(), 3U);
}

// Begin, end, first number, writes and time in flight, all in ms from the start.
using Stood = std::array<int64_t, 5>;

std::vector<Stood> StallsOf(const v1::Frame& frame) {
  std::vector<Stood> stalls;
  for (const v1::StalledStretch& stall : frame.stalls()) {
    stalls.push_back({(stall.begin_ns() - kStartNs) / kMs, (stall.end_ns() - kStartNs) / kMs,
                      static_cast<int64_t>(stall.first_seq()), static_cast<int64_t>(stall.writes()),
                      stall.in_flight_ns() / kMs});
  }
  return stalls;
}

TEST_F(WriterTallyTest, TellsOfAWriteThatWasInFlightForLongInTheFrameInWhichItEnds) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 99 * kMs);
  Push(kStartNs + 99 * kMs, kMs);
  Push(kStartNs + 102 * kMs, 398 * kMs);
  Push(kStartNs + 500 * kMs, kMs);
  FinishAt(kStartNs + 1000 * kMs);
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(4));
  EXPECT_THAT(StallsOf(frames_[0]), IsEmpty());
  EXPECT_THAT(StallsOf(frames_[1]), IsEmpty());
  // It was due when the write before it had ended; and number 4 was in flight when the step ended.
  EXPECT_THAT(StallsOf(frames_[2]), ElementsAre(Stood{100, 500, 3, 1, 398}));
  EXPECT_THAT(StallsOf(frames_[3]), ElementsAre(Stood{501, 1000, 0, 0, 0}));
}

TEST_F(WriterTallyTest, TellsOfAWriteThatWasDueAndDidNotStart) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.delay_ns = 30 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs + 100 * kMs, 10 * kMs);  // the first is due at the start
  Push(kStartNs + 239 * kMs, 10 * kMs);  // 99 ms late
  Push(kStartNs + 400 * kMs, 10 * kMs);  // 121 ms late
  FinishAt(kStartNs + 450 * kMs);        // was stopped, 10 ms after it was due
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_THAT(StallsOf(frames_[0]), ElementsAre(Stood{0, 110, 1, 1, 10}));
  EXPECT_THAT(StallsOf(frames_[1]), ElementsAre(Stood{279, 410, 3, 1, 10}));
}

TEST_F(WriterTallyTest, WritesThatAStallMadeLateBelongToIt) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.schedule.emplace(kStartNs, 20.0);  // every 50 ms
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 230 * kMs);
  Push(kStartNs + 230 * kMs, kMs);  // 180 ms late
  Push(kStartNs + 232 * kMs, kMs);  // 132 ms late
  tally.Poll(kStartNs + 251 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  EXPECT_THAT(StallsOf(frames_[0]), IsEmpty()) << "number 4, due at 150 ms, may belong to it";
  Push(kStartNs + 252 * kMs, kMs);  // 102 ms late
  Push(kStartNs + 253 * kMs, kMs);  // 53 ms late
  Push(kStartNs + 254 * kMs, kMs);  // 4 ms late
  tally.Poll(kStartNs + 501 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_THAT(StallsOf(frames_[1]), ElementsAre(Stood{0, 253, 1, 4, 233}));
}

TEST_F(WriterTallyTest, TellsOfAStallThatTheEndFinds) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.schedule.emplace(kStartNs, 20.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  // All frames have left when the write that hung returns, and nothing after it was started.
  state_.mark = kStartNs + 10 * kMs;
  tally.Poll(kStartNs + 1100 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(4));
  Push(kStartNs + 10 * kMs, 1500 * kMs);
  FinishAt(kStartNs + 1510 * kMs);
  tally.Poll(kStartNs + 1511 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(5));
  EXPECT_THAT(StallsOf(frames_[4]), ElementsAre(Stood{0, 1510, 1, 1, 1500}));
}

TEST_F(WriterTallyTest, TellsHowLongAWriteThatFailedHadTaken) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 20 * kMs);
  state_.end = LoopEnd::kFailed;
  state_.failure.start_ns = kStartNs + 21 * kMs;
  FinishAt(kStartNs + 300 * kMs);
  tally.Poll(kStartNs + 301 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_THAT(StallsOf(frames_[1]), ElementsAre(Stood{20, 300, 2, 1, 279}));
}

TEST_F(WriterTallyTest, WithoutAThresholdNoStallIsTold) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs + 100 * kMs, 500 * kMs);
  FinishAt(kStartNs + 1000 * kMs);
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  for (const v1::Frame& frame : frames_) EXPECT_THAT(StallsOf(frame), IsEmpty());
}

std::vector<uint64_t> SlowOf(const v1::Frame& frame) {
  std::vector<uint64_t> numbers;
  for (const v1::WriteSample& write : frame.slow()) numbers.push_back(write.seq());
  return numbers;
}

TEST_F(WriterTallyTest, FramesHoldTheTenSlowestWritesOfTheMeasuredPart) {
  WriterTally tally(Params(100 * kMs), state_, stop_trace_at_ns_);
  int64_t at_ns = kStartNs;
  const auto write = [&](int64_t latency_ms) {
    Push(at_ns, latency_ms * kMs);
    at_ns += latency_ms * kMs;
  };
  write(99);  // warm-up
  // Numbers 2 to 13, of 1, 12, 2, 11, ... 6, 7 ms: two too many.
  for (int64_t i = 1; i <= 6; ++i) {
    write(i);
    write(13 - i);
  }
  at_ns = kStartNs + 351 * kMs;
  write(2);   // as slow as one that is not kept
  write(3);   // as slow as the tenth: the earlier one stays
  write(50);  // puts out the tenth
  FinishAt(kStartNs + 1100 * kMs);
  tally.Poll(kStartNs + 1101 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(5));
  EXPECT_THAT(SlowOf(frames_[0]), IsEmpty());
  EXPECT_THAT(SlowOf(frames_[1]), ElementsAre(3, 5, 6, 7, 8, 9, 10, 11, 12, 13));
  EXPECT_THAT(SlowOf(frames_[2]), ElementsAre(16));
  EXPECT_EQ(frames_[2].slow(0).latency_ns(), static_cast<uint64_t>(50 * kMs));
  EXPECT_EQ(frames_[2].slow(0).start_ns(), kStartNs + 356 * kMs);
  EXPECT_EQ(frames_[2].slow(0).extent(), 0U);
  EXPECT_EQ(frames_[2].slow(0).offset_bytes(), 15U * 4096);
}

TEST_F(WriterTallyTest, RingWaitsAreInTheFrameOfTheWriteThatWaited) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  state_.ring_full_waits = 2;
  state_.ring_full_wait_ns = 900;
  Push(kStartNs + 10, 100);
  tally.Poll(kStartNs + 260 * kMs, frames_);
  state_.ring_full_waits = 3;
  state_.ring_full_wait_ns = 1000;
  tally.Poll(kStartNs + 510 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_EQ(frames_[0].ring_full_waits(), 2U);
  EXPECT_EQ(frames_[0].ring_full_wait_ns(), 900U);
  EXPECT_EQ(frames_[1].ring_full_waits(), 1U);
  EXPECT_EQ(frames_[1].ring_full_wait_ns(), 100U);
}

}  // namespace
}  // namespace plimsoll::testing
