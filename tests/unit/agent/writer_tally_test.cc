#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing.h"
#include "tests/unit/agent/writer_tally_fixture.h"

namespace plimsoll::tests {
namespace {

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
  EXPECT_EQ(frame.fastest_seq(), 1U);
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

TEST_F(WriterTallyTest, TheSlowestByResponseTimeAreKeptBesideThoseByServiceTime) {
  TallyParams params = Params();
  params.schedule.emplace(kStartNs, 100.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  // The first write holds back the next ten, which are quick; five more that are slower come in time.
  Push(kStartNs, 105 * kMs);
  for (int64_t i = 0; i < 10; ++i) Push(kStartNs + 105 * kMs + i * 100'000, 100'000);
  for (int64_t i = 11; i < 16; ++i) Push(kStartNs + i * 10 * kMs, kMs);
  tally.Poll(kStartNs + 300 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  std::vector<uint64_t> by_response;
  for (const v1::WriteSample& write : frames_[0].slow_responses()) by_response.push_back(write.seq());
  EXPECT_EQ(by_response, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(frames_[0].slow_responses(1).latency_ns(), 100'000U);
  EXPECT_EQ(frames_[0].slow_responses(1).response_ns(), static_cast<uint64_t>(95 * kMs) + 100'000);
  std::vector<uint64_t> by_service;
  for (const v1::WriteSample& write : frames_[0].slow()) by_service.push_back(write.seq());
  EXPECT_EQ(by_service, (std::vector<uint64_t>{1, 2, 3, 4, 5, 12, 13, 14, 15, 16}));
  EXPECT_EQ(frames_[0].slow(5).response_ns(), static_cast<uint64_t>(kMs));
}

TEST_F(WriterTallyTest, AClosedLoopHasNoSlowestByResponseTime) {
  WriterTally tally(Params(), state_, stop_trace_at_ns_);
  Push(kStartNs, 25 * kMs);
  tally.Poll(kStartNs + 300 * kMs, frames_);
  EXPECT_THAT(frames_[0].slow_responses(), ::testing::IsEmpty());
  EXPECT_FALSE(frames_[0].slow(0).has_response_ns());
}

TEST_F(WriterTallyTest, AStartDelayIsWhatTheWriterItselfMadeAWriteLate) {
  TallyParams params = Params();
  params.schedule.emplace(kStartNs, 100.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 25 * kMs);
  Push(kStartNs + 25 * kMs, kMs);           // due at 10 ms: the write before it was in flight
  Push(kStartNs + 26 * kMs + 50'000, kMs);  // due at 20 ms, started 50 us late
  Push(kStartNs + 37 * kMs, 2 * kMs);       // due at 30 ms, 7 ms late
  Push(kStartNs + 40 * kMs, kMs);           // in time again
  tally.Poll(kStartNs + 255 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  const v1::StartDelay& delay = frames_[0].start_delay();
  EXPECT_EQ(delay.max_ns(), static_cast<uint64_t>(7 * kMs));
  EXPECT_EQ(delay.late_writes(), 1U);
}

TEST_F(WriterTallyTest, AStartDelayIsPassedOnToWritesThatWaitForTheLateOne) {
  TallyParams params = Params();
  params.schedule.emplace(kStartNs, 100.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs + 5 * kMs, 9 * kMs);   // 5 ms late
  Push(kStartNs + 16 * kMs, 9 * kMs);  // due at 10 ms: 4 ms for the one before it, and 2 ms late by itself
  tally.Poll(kStartNs + 255 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  EXPECT_EQ(frames_[0].start_delay().max_ns(), static_cast<uint64_t>(6 * kMs));
  EXPECT_EQ(frames_[0].start_delay().late_writes(), 2U);
  // The next frame begins anew.
  tally.Poll(kStartNs + 505 * kMs, frames_);
  EXPECT_EQ(frames_[1].start_delay().max_ns(), 0U);
}

TEST_F(WriterTallyTest, WritesThatWereNotIssuedKnowHowMuchOfTheirAgeIsTheWriters) {
  TallyParams params = Params();
  params.schedule.emplace(kStartNs, 10.0);
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 150 * kMs);
  state_.writes = 1;
  tally.Poll(kStartNs + 160 * kMs, frames_);
  FinishAt(kStartNs + 1000 * kMs);
  tally.Poll(kStartNs + 1000 * kMs, frames_);
  // The second was due at 100 ms and could have been started at 150 ms.
  const v1::WriterTotals totals = tally.Totals(kStartNs + 1000 * kMs);
  EXPECT_EQ(totals.not_issued(), 9U);
  EXPECT_EQ(totals.start_delay().max_ns(), static_cast<uint64_t>(850 * kMs));
  EXPECT_EQ(totals.start_delay().late_writes(), 9U);
  // Where the second was started at 160 ms and failed at the end, they waited for the storage but for 10 ms.
  state_.end = LoopEnd::kFailed;
  state_.failure.start_ns = kStartNs + 160 * kMs;
  EXPECT_EQ(tally.Totals(kStartNs + 1000 * kMs).start_delay().max_ns(), static_cast<uint64_t>(10 * kMs));
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
  EXPECT_EQ(totals.not_issued(), 4U);
  EXPECT_EQ(totals.not_issued_age().count(), 4U);
  EXPECT_EQ(totals.not_issued_age().min_ns(), static_cast<uint64_t>(100 * kMs));
  EXPECT_EQ(totals.not_issued_age().max_ns(), static_cast<uint64_t>(400 * kMs));
  EXPECT_EQ(totals.not_issued_age().sum_ns(), static_cast<uint64_t>(1000 * kMs));
  EXPECT_EQ(totals.due(), 10U);
  // Hung from the warm-up on: what was due in it does not count.
  state_.writes = 1;
  EXPECT_EQ(tally.Totals(kStartNs + 1300 * kMs).not_issued(), 10U);
  // Stopped half way.
  EXPECT_EQ(tally.Totals(kStartNs + 800 * kMs).not_issued(), 5U);
  EXPECT_EQ(tally.Totals(kStartNs + 100 * kMs).not_issued(), 0U);
  EXPECT_EQ(tally.Totals(kStartNs + 800 * kMs).due(), 5U);
  EXPECT_EQ(tally.Totals(kStartNs + 100 * kMs).due(), 0U);
  // The write that failed was started.
  state_.end = LoopEnd::kFailed;
  EXPECT_EQ(tally.Totals(kStartNs + 800 * kMs).not_issued(), 5U);
  state_.writes = 9;
  EXPECT_EQ(tally.Totals(kStartNs + 1300 * kMs).not_issued(), 3U);
}

TEST_F(WriterTallyTest, ThePartsOfAWriteHaveFramesOfTheIntervalInWhichTheWriteCompletes) {
  TallyParams params = Params();
  params.measure_parts = true;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  const auto push = [this](int64_t start_ns, int64_t call_ns, int64_t sync_ns) {
    ASSERT_TRUE(state_.ring.TryPush({start_ns + call_ns, static_cast<uint64_t>(sync_ns), kSyncOperation}));
    Push(start_ns, call_ns + sync_ns);
  };
  push(kStartNs, 10 * kMs, 30 * kMs);
  // Its call returns in the first interval, and its sync in the second.
  push(kStartNs + 200 * kMs, 20 * kMs, 100 * kMs);
  tally.Poll(kStartNs + 505 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(6));
  for (int i = 0; i < frames_.size(); ++i) {
    EXPECT_EQ(frames_[i].operation(), static_cast<uint32_t>(i % 3));
    EXPECT_EQ(frames_[i].first_interval(), i / 3);
    EXPECT_EQ(frames_[i].latency().count(), 1U);
    EXPECT_EQ(frames_[i].bytes(), i % 3 == 0 ? 4096U : 0U);
    EXPECT_EQ(frames_[i].first_seq(), i < 3 ? 1U : 2U);
    EXPECT_EQ(frames_[i].slowest().seq(), i < 3 ? 1U : 2U);
  }
  EXPECT_EQ(frames_[1].latency().max_ns(), static_cast<uint64_t>(10 * kMs));
  EXPECT_EQ(frames_[2].latency().max_ns(), static_cast<uint64_t>(30 * kMs));
  EXPECT_EQ(frames_[4].latency().max_ns(), static_cast<uint64_t>(20 * kMs));
  EXPECT_EQ(frames_[5].latency().max_ns(), static_cast<uint64_t>(100 * kMs));
  EXPECT_EQ(frames_[5].slowest().start_ns(), kStartNs + 220 * kMs);
  std::vector<TracedWrite> traced;
  for (const int of_write : {0, 3}) {
    ASSERT_EQ(frames_[of_write].trace_size(), 1);
    ASSERT_THAT(DecodeTrace(frames_[of_write].trace(0), traced), IsOk());
  }
  EXPECT_EQ(traced, (std::vector<TracedWrite>{{kStartNs, 40 * kMs, 0, 10 * kMs},
                                              {kStartNs + 200 * kMs, 120 * kMs, 0, 20 * kMs}}));
  state_.writes = 2;
  v1::StepDone done;
  tally.AddMoreTotals(kStartNs + 1'000 * kMs, done);
  ASSERT_EQ(done.writers_size(), 2);
  EXPECT_EQ(done.writers(0).operation(), kWriteCallOperation);
  EXPECT_EQ(done.writers(1).writes(), 2U);
}

TEST_F(WriterTallyTest, ReadsHaveFramesNumbersBytesAndATraceOfTheirOwn) {
  TallyParams params = Params();
  params.access.emplace(/*random=*/false, /*read_percent=*/50, /*read_operation=*/1, Access::Key{});
  params.schedule = RateSchedule(kStartNs, 100);  // one in 10 ms
  WriterTally tally(params, state_, stop_trace_at_ns_);
  // Read, write, read, read; the second read starts 2 ms late, as the write before it took so long.
  for (const auto& [start_ms, latency_ms, operation] : {std::tuple{0, 5, 1}, {10, 12, 0}, {22, 1, 1}, {30, 3, 1}}) {
    ASSERT_TRUE(state_.ring.TryPush(
        {kStartNs + start_ms * kMs, static_cast<uint64_t>(latency_ms * kMs), static_cast<uint32_t>(operation)}));
  }
  tally.Poll(kStartNs + 255 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  const v1::Frame& writes = frames_[0];
  const v1::Frame& reads = frames_[1];
  EXPECT_EQ(writes.operation(), kMainOperation);
  EXPECT_EQ(reads.operation(), 1U);
  EXPECT_EQ(writes.latency().count(), 1U);
  EXPECT_EQ(reads.latency().count(), 3U);
  EXPECT_EQ(writes.bytes(), 4096U);
  EXPECT_EQ(reads.bytes(), 3U * 4096);
  EXPECT_EQ(writes.first_seq(), 1U);
  EXPECT_EQ(reads.first_seq(), 1U);
  EXPECT_EQ(writes.slowest().offset_bytes(), 4096U);
  EXPECT_EQ(reads.slowest().seq(), 1U);
  ASSERT_THAT(reads.slow(), SizeIs(3));
  EXPECT_EQ(reads.slow(2).offset_bytes(), 3U * 4096) << "blocks are taken in one order";
  EXPECT_EQ(reads.slow(1).response_ns(), static_cast<uint64_t>(3 * kMs));
  EXPECT_EQ(reads.response().max_ns(), static_cast<uint64_t>(5 * kMs));
  EXPECT_EQ(writes.response().max_ns(), static_cast<uint64_t>(12 * kMs));
  // between_ns covers both, and is in the frame of the writes.
  EXPECT_EQ(writes.between_ns(), 5 * kMs + 0 + 7 * kMs);
  EXPECT_EQ(reads.between_ns(), 0);
  std::vector<TracedWrite> traced;
  ASSERT_EQ(reads.trace_size(), 1);
  ASSERT_THAT(DecodeTrace(reads.trace(0), traced), IsOk());
  EXPECT_EQ(traced, (std::vector<TracedWrite>{
                        {kStartNs, 5 * kMs}, {kStartNs + 22 * kMs, kMs}, {kStartNs + 30 * kMs, 3 * kMs}}));
  state_.writes = 1;
  state_.reads = 3;
  state_.read_bytes = 3 * 4096;
  state_.read_first_start_ns = kStartNs;
  v1::StepDone done;
  tally.AddMoreTotals(kStartNs + 100 * kMs, done);
  ASSERT_EQ(done.writers_size(), 1);
  EXPECT_EQ(done.writers(0).operation(), 1U);
  EXPECT_EQ(done.writers(0).writes(), 3U);
  EXPECT_EQ(done.writers(0).bytes(), 3U * 4096);
  EXPECT_EQ(done.writers(0).first_start_ns(), kStartNs);
  // Of ten operations that were due, four were started. The others are reads or writes as they were drawn.
  uint64_t reads_due = 0;
  for (uint64_t number = 4; number < 10; ++number) reads_due += params.access->Reads(number) ? 1U : 0U;
  const v1::WriterTotals own = tally.Totals(kStartNs + 100 * kMs);
  EXPECT_EQ(own.not_issued(), 6 - reads_due);
  EXPECT_EQ(done.writers(0).not_issued(), reads_due);
  // The first write was the second operation.
  EXPECT_EQ(writes.first_phase_ns(), 10 * kMs);
  EXPECT_EQ(reads.first_phase_ns(), 0);
}

TEST_F(WriterTallyTest, WithoutARateNoFrameSaysWhenItsFirstOperationWasDue) {
  TallyParams params = Params();
  params.access.emplace(/*random=*/false, /*read_percent=*/50, /*read_operation=*/1, Access::Key{});
  params.delay_ns = 2 * kMs;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  const auto push = [this](int64_t start_ms, int64_t latency_ms, uint32_t operation) {
    ASSERT_TRUE(state_.ring.TryPush({kStartNs + start_ms * kMs, static_cast<uint64_t>(latency_ms * kMs), operation}));
  };
  push(0, 100, 1);
  push(102, 200, 1);  // in the second interval
  push(305, 10, 0);
  push(317, 10, 0);
  tally.Poll(kStartNs + 505 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(4));
  EXPECT_EQ(frames_[0].operation(), kMainOperation);
  EXPECT_EQ(frames_[0].latency().count(), 0U);
  EXPECT_EQ(frames_[0].first_phase_ns(), 0);
  EXPECT_EQ(frames_[1].operation(), 1U);
  EXPECT_EQ(frames_[1].latency().count(), 1U);
  EXPECT_EQ(frames_[2].operation(), kMainOperation);
  EXPECT_EQ(frames_[2].latency().count(), 2U);
  EXPECT_EQ(frames_[2].first_start_ns(), kStartNs + 305 * kMs);
  EXPECT_EQ(frames_[2].first_phase_ns(), 0);
  EXPECT_EQ(frames_[3].latency().count(), 1U);
}

TEST_F(WriterTallyTest, AReadInFlightAtTheEndIsInAClosingFrameOfReads) {
  TallyParams params = Params();
  params.access.emplace(/*random=*/false, /*read_percent=*/50, /*read_operation=*/1, Access::Key{});
  WriterTally tally(params, state_, stop_trace_at_ns_);
  ASSERT_TRUE(state_.ring.TryPush({kStartNs + 990 * kMs, static_cast<uint64_t>(20 * kMs), 1}));
  FinishAt(kStartNs + 1'010 * kMs);
  tally.Poll(kStartNs + 1'011 * kMs, frames_);
  // Four intervals and the closing one, each with a frame of writes and one of reads.
  ASSERT_THAT(frames_, SizeIs(10));
  EXPECT_TRUE(frames_[8].closing());
  EXPECT_EQ(frames_[8].operation(), kMainOperation);
  EXPECT_EQ(frames_[8].latency().count(), 0U);
  // What lies between the operations is in the frame of the writes.
  EXPECT_EQ(frames_[8].between_ns(), 990 * kMs);
  EXPECT_TRUE(frames_[9].closing());
  EXPECT_EQ(frames_[9].operation(), 1U);
  EXPECT_EQ(frames_[9].latency().count(), 1U);
  EXPECT_EQ(frames_[9].bytes(), 4096U);
}

TEST_F(WriterTallyTest, TheReadsOfAStepWithoutWritesAreItsMainOperation) {
  TallyParams params = Params();
  params.access.emplace(/*random=*/false, kOnlyReads, kMainOperation, Access::Key{});
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 5 * kMs);
  Push(kStartNs + 6 * kMs, 3 * kMs);
  state_.writes = 2;
  state_.bytes = 8192;
  FinishAt(kStartNs + 1'000 * kMs);
  tally.Poll(kStartNs + 1'000 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(4)) << "one of each interval";
  EXPECT_EQ(frames_[0].operation(), kMainOperation);
  EXPECT_EQ(frames_[0].latency().count(), 2U);
  EXPECT_EQ(frames_[0].bytes(), 8192U);
  EXPECT_EQ(frames_[0].between_ns(), kMs);
  EXPECT_EQ(frames_[0].first_phase_ns(), 0);
  EXPECT_EQ(frames_[0].slowest().seq(), 1U);
  ASSERT_EQ(frames_[0].trace_size(), 1);
  std::vector<TracedWrite> traced;
  ASSERT_THAT(DecodeTrace(frames_[0].trace(0), traced), IsOk());
  EXPECT_THAT(traced, SizeIs(2));
  EXPECT_EQ(tally.Totals(kStartNs + 1'000 * kMs).writes(), 2U);
  EXPECT_EQ(tally.Totals(kStartNs + 1'000 * kMs).bytes(), 8192U);
  v1::StepDone done;
  tally.AddMoreTotals(kStartNs + 1'000 * kMs, done);
  EXPECT_THAT(done.writers(), IsEmpty());
}

TEST_F(WriterTallyTest, WritesOfSeveralSizesHaveTheirBytesTheirPlacesAndTheirSizesInTheTrace) {
  TallyParams params = Params();
  params.layout = ExtentLayout(20'480, 2, 16'384);
  params.mix.emplace(std::vector<SizeMix::Share>{{4096, 50}, {16'384, 50}}, SizeMix::Key{});
  WriterTally tally(params, state_, stop_trace_at_ns_);
  // 4 KiB and 16 KiB fill the first extent; the third and slowest write begins the second one.
  for (const auto& [start_ms, latency_ms, size] : {std::tuple{0, 10, 0}, {10, 20, 1}, {30, 40, 1}}) {
    ASSERT_TRUE(state_.ring.TryPush({kStartNs + start_ms * kMs, static_cast<uint64_t>(latency_ms * kMs), kMainOperation,
                                     static_cast<uint32_t>(size)}));
  }
  tally.Poll(kStartNs + 600 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(2));
  EXPECT_EQ(frames_[0].bytes(), 4096U + 16'384 + 16'384);
  EXPECT_EQ(frames_[0].slowest().extent(), 1U);
  EXPECT_EQ(frames_[0].slowest().offset_bytes(), 0U);
  ASSERT_THAT(frames_[0].slow(), SizeIs(3));
  EXPECT_EQ(frames_[0].slow(1).offset_bytes(), 4096U);
  std::vector<TracedWrite> traced;
  ASSERT_EQ(frames_[0].trace_size(), 1);
  ASSERT_THAT(DecodeTrace(frames_[0].trace(0), traced), IsOk());
  ASSERT_THAT(traced, SizeIs(3));
  EXPECT_EQ(traced[0].bytes, 4096U);
  EXPECT_EQ(traced[2].bytes, 16'384U);
  EXPECT_EQ(frames_[1].bytes(), 0U);
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
}  // namespace plimsoll::tests
