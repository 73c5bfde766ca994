// When a writer stood, and its slowest writes, as its frames tell it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "tests/testing.h"
#include "tests/unit/agent/writer_tally_fixture.h"

namespace plimsoll::tests {
namespace {

class WriterTallyStallsTest : public WriterTallyTest {};

// Begin, end, first number, writes and time in flight, all in ms from the start.
using StalledFor = std::array<int64_t, 5>;

std::vector<StalledFor> StallsOf(const v1::Frame& frame) {
  std::vector<StalledFor> stalls;
  for (const v1::StalledInterval& stall : frame.stalls()) {
    stalls.push_back({(stall.begin_ns() - kStartNs) / kMs, (stall.end_ns() - kStartNs) / kMs,
                      static_cast<int64_t>(stall.first_seq()), static_cast<int64_t>(stall.writes()),
                      stall.in_flight_ns() / kMs});
  }
  return stalls;
}

TEST_F(WriterTallyStallsTest, ReportsAWriteThatWasInFlightForLongInTheFrameInWhichItEnds) {
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
  EXPECT_THAT(StallsOf(frames_[2]), ElementsAre(StalledFor{100, 500, 3, 1, 398}));
  EXPECT_THAT(StallsOf(frames_[3]), ElementsAre(StalledFor{501, 1000, 0, 0, 0}));
}

TEST_F(WriterTallyStallsTest, ReportsAWriteThatWasDueAndDidNotStart) {
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
  EXPECT_THAT(StallsOf(frames_[0]), ElementsAre(StalledFor{0, 110, 1, 1, 10}));
  EXPECT_THAT(StallsOf(frames_[1]), ElementsAre(StalledFor{279, 410, 3, 1, 10}));
}

TEST_F(WriterTallyStallsTest, WritesThatAStallMadeLateBelongToIt) {
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
  EXPECT_THAT(StallsOf(frames_[1]), ElementsAre(StalledFor{0, 253, 1, 4, 233}));
}

StalledFor GrowingOf(const v1::Frame& frame) {
  v1::Frame alone;
  *alone.add_stalls() = frame.growing_stall();
  return StallsOf(alone).front();
}

TEST_F(WriterTallyStallsTest, EachFrameReportsHowFarTheIntervalHasComeThatIsNotOver) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.schedule.emplace(kStartNs, 20.0);  // every 50 ms
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 230 * kMs);
  Push(kStartNs + 230 * kMs, kMs);  // 180 ms late
  tally.Poll(kStartNs + 251 * kMs, frames_);
  // Number 3, due at 100 ms, is 150 ms late when the interval ends, and number 2 is part of it.
  EXPECT_EQ(GrowingOf(frames_[0]), (StalledFor{0, 250, 1, 2, 231}));
  EXPECT_EQ(frames_[0].growing_stall().longest_ns(), 230 * kMs);
  for (int64_t due = 100, at = 251; due < 450; due += 50, ++at) Push(kStartNs + at * kMs, kMs);
  // Caught up: number 7, due at 300 ms, came before its time, and the one that is due at 450 ms is in flight.
  state_.mark = kStartNs + 450 * kMs;
  tally.Poll(kStartNs + 501 * kMs, frames_);
  ASSERT_THAT(StallsOf(frames_[1]), SizeIs(1));
  EXPECT_FALSE(frames_[1].has_growing_stall());
  // It hangs.
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  EXPECT_EQ(GrowingOf(frames_[2]), (StalledFor{450, 750, 10, 1, 300}));
  EXPECT_EQ(GrowingOf(frames_[3]), (StalledFor{450, 1000, 10, 1, 550}));
}

TEST_F(WriterTallyStallsTest, AWriteThatIsDueAndNotStartedGrowsToo) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.delay_ns = 20 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 50 * kMs);
  tally.Poll(kStartNs + 501 * kMs, frames_);
  EXPECT_EQ(GrowingOf(frames_[0]), (StalledFor{70, 250, 0, 0, 0}));
  EXPECT_EQ(GrowingOf(frames_[1]), (StalledFor{70, 500, 0, 0, 0}));
  Push(kStartNs + 600 * kMs, kMs);
  FinishAt(kStartNs + 1000 * kMs);
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  EXPECT_THAT(StallsOf(frames_[2]), ElementsAre(StalledFor{70, 601, 2, 1, 1}));
  EXPECT_FALSE(frames_[2].has_growing_stall());
}

TEST_F(WriterTallyStallsTest, ReportsFromALowerLimitOnWhatMayKeepItsHostFromVouching) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.reported_from_ns = 50 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 49 * kMs);
  Push(kStartNs + 49 * kMs, 99 * kMs);
  FinishAt(kStartNs + 148 * kMs);
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  EXPECT_THAT(StallsOf(frames_[0]), ElementsAre(StalledFor{49, 148, 2, 1, 99}));
}

TEST_F(WriterTallyStallsTest, AFrameReportsNoMoreThanAThousandIntervalsAndCountsTheRest) {
  TallyParams params = Params();
  params.stall_ns = kMs / 10;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  for (int64_t i = 0; i < 1'200; ++i) Push(kStartNs + i * kMs / 10, kMs / 10);
  FinishAt(kStartNs + 120 * kMs);
  tally.Poll(kStartNs + 1001 * kMs, frames_);
  EXPECT_EQ(frames_[0].stalls_size(), 1'000);
  EXPECT_EQ(frames_[0].stalls_left_out(), 200U);
  EXPECT_EQ(frames_[0].stalls(999).first_seq(), 1'000U);
}

TEST_F(WriterTallyStallsTest, TheStepsLastWriteWasInFlightForNoLongerThanTheIntervalLasts) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  params.schedule.emplace(kStartNs, 100.0);  // every 10 ms
  WriterTally tally(params, state_, stop_trace_at_ns_);
  for (int64_t due = 0; due < 850; due += 10) Push(kStartNs + due * kMs, kMs);
  Push(kStartNs + 850 * kMs, 105 * kMs);
  Push(kStartNs + 955 * kMs, 60 * kMs);  // 95 ms late, and 15 ms beyond the end; the next was due at 870 ms
  FinishAt(kStartNs + 1015 * kMs);
  tally.Poll(kStartNs + 1100 * kMs, frames_);
  std::vector<StalledFor> stalls;
  for (const v1::Frame& frame : frames_) {
    for (const StalledFor& stalled : StallsOf(frame)) stalls.push_back(stalled);
  }
  EXPECT_THAT(stalls, ElementsAre(StalledFor{850, 1000, 86, 2, 150}));
}

TEST_F(WriterTallyStallsTest, ReportsAStallThatTheEndFinds) {
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
  EXPECT_THAT(StallsOf(frames_[4]), ElementsAre(StalledFor{0, 1510, 1, 1, 1500}));
}

TEST_F(WriterTallyStallsTest, ReportsHowLongAWriteThatFailedHadTaken) {
  TallyParams params = Params();
  params.stall_ns = 100 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 20 * kMs);
  state_.end = LoopEnd::kFailed;
  state_.failure.start_ns = kStartNs + 21 * kMs;
  FinishAt(kStartNs + 300 * kMs);
  tally.Poll(kStartNs + 301 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_THAT(StallsOf(frames_[1]), ElementsAre(StalledFor{20, 300, 2, 1, 279}));
}

TEST_F(WriterTallyStallsTest, WithoutAThresholdNoStallIsReported) {
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

TEST_F(WriterTallyStallsTest, FramesHoldTheTenSlowestWritesOfTheMeasuredPart) {
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

}  // namespace
}  // namespace plimsoll::tests
