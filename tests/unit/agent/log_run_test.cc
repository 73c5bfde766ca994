// Real runs on real files: what was counted, what was told, and what stands on the disk agree.
#include <fcntl.h>

#include <fstream>
#include <map>

#include "agent/writer/log_files.h"
#include "agent/writer/writer_tally.h"
#include "common/histogram.h"
#include "common/page_stamp.h"
#include "common/trace.h"
#include "tests/testing.h"
#include "tests/unit/agent/log_work_fixture.h"

namespace plimsoll::tests {
namespace {

class LogRunTest : public LogWorkTest {
 protected:
  v1::StepDone RunStep(uint32_t step = 0) {
    armed_ = ArmIn(kSoon, step);
    EXPECT_FALSE(armed_.late());
    return sink_.NextDone();
  }
  // Runs the step, however long that takes on a busy machine, until every writer has written.
  v1::StepDone RunUntilAllWrote(uint64_t each = 1) {
    step().set_duration_ns(kHour);
    CreateAndPrepare();
    EXPECT_FALSE(ArmIn(kSoon).late());
    sink_.AwaitWrites(workload().qm(), 0, each);
    work_->Stop("seen enough");
    return sink_.NextDone();
  }
  std::vector<v1::Frame> FramesOf(uint32_t step, uint32_t qm) {
    std::vector<v1::Frame> frames;
    for (const v1::Frame& frame : sink_.Frames()) {
      if (frame.step() == step && frame.qm() == qm) frames.push_back(frame);
    }
    return frames;
  }
  // Every frame against its trace, all of them against the writer's own count.
  void CheckWriter(const v1::StepDone& done, const v1::WriterTotals& totals) {
    const v1::LogStep& plan = plan_.log().steps(static_cast<int>(done.step()));
    const int64_t start_ns = armed_.start_ns();
    const StepTimes times(start_ns, plan.warmup_ns(), plan.duration_ns(), plan_.frame_interval_ns());
    Histogram all;
    uint64_t bytes = 0;
    int64_t between_ns = 0;
    int64_t latency_ns = 0;
    int32_t expected = times.first_interval();
    int64_t last_end_ns = 0;
    for (const v1::Frame& frame : FramesOf(done.step(), totals.qm())) {
      EXPECT_EQ(frame.first_interval(), expected++);
      EXPECT_EQ(frame.closing(), frame.first_interval() == times.closing_interval());
      EXPECT_GE(frame.cut_ns(), frame.closing() ? times.end_ns() : times.EndOf(frame.first_interval()));
      std::vector<TracedWrite> writes;
      for (const std::string& block : frame.trace()) ASSERT_THAT(DecodeTrace(block, writes), IsOk());
      Histogram traced;
      for (const TracedWrite& write : writes) {
        traced.Record(write.latency_ns);
        const int64_t end_ns = write.start_ns + static_cast<int64_t>(write.latency_ns);
        ASSERT_EQ(times.IntervalOf(end_ns), frame.first_interval());
        ASSERT_LT(write.start_ns, times.end_ns());
        ASSERT_GE(write.start_ns, start_ns);
      }
      EXPECT_EQ(traced.ToProto().SerializeAsString(), frame.latency().SerializeAsString());
      if (traced.count() > 0) {
        EXPECT_EQ(frame.first_seq(), all.count() + 1);
        EXPECT_EQ(frame.slowest().latency_ns(), traced.max_ns());
        last_end_ns = frame.last_end_ns();
      }
      all.Merge(traced);
      bytes += frame.bytes();
      if (frame.first_interval() >= 0) {
        between_ns += frame.between_ns();
        latency_ns += static_cast<int64_t>(frame.latency().sum_ns());
      }
    }
    EXPECT_GE(expected, times.closing_interval());
    EXPECT_EQ(all.count(), totals.writes());
    EXPECT_EQ(bytes, totals.bytes());
    EXPECT_EQ(all.sum_ns(), totals.latency_sum_ns());
    EXPECT_EQ(all.max_ns(), totals.latency_max_ns());
    EXPECT_EQ(last_end_ns, totals.last_end_ns());
    // A busy machine may have let the writer write in the warm-up only.
    if (last_end_ns >= times.measured_start_ns()) {
      EXPECT_EQ(latency_ns + between_ns, last_end_ns - times.measured_start_ns());
    }
    writes_checked_ += totals.writes();
  }
  void CheckStep(const v1::StepDone& done) {
    EXPECT_EQ(done.stopped(), "");
    ASSERT_EQ(done.writers_size(), static_cast<int>(workload().qm()));
    for (const v1::WriterTotals& totals : done.writers()) CheckWriter(done, totals);
  }
  static std::string ReadFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  PageStamp StampOf(const std::string& file, uint64_t offset, uint64_t size = 4096) {
    PageStamp stamp;
    EXPECT_EQ(ReadStamp({reinterpret_cast<const std::byte*>(file.data()) + offset, size}, stamp), StampState::kWhole);
    EXPECT_EQ(std::string(stamp.run_token.begin(), stamp.run_token.end()), plan_.run_token());
    EXPECT_EQ(stamp.host_index, 3U);
    return stamp;
  }

  v1::Armed armed_;
  uint64_t writes_checked_ = 0;
};

TEST_F(LogRunTest, OfAPlacementOnlyThoseWriteWhoseTurnItIsWithTheirOwnBlocks) {
  plan_.set_host_index(1);
  plan_.mutable_log()->set_placed(2);
  step().clear_block_size_bytes();
  for (const uint32_t number : {0U, 1U}) {
    v1::LogQueueManager& qm = *plan_.mutable_log()->add_queue_managers();
    qm.set_block_size_bytes(number == 0 ? 8192 : 4096);
    qm.set_rate_per_second(200);
    qm.set_home(number == 0 ? 1 : 2);
    qm.set_standby(number == 0 ? 2 : 1);
    qm.set_number(number);
  }
  for (const uint32_t down : {2U, 1U}) {
    AddStep(0, 100 * kMs, 0);
    plan_.mutable_log()->mutable_steps(plan_.log().steps_size() - 1)->set_down_host(down);
  }
  CreateAndPrepare();
  const v1::StepDone up = RunStep(0);
  ASSERT_EQ(up.writers_size(), 1) << "the other one is silent by plan";
  EXPECT_EQ(up.writers(0).qm(), 1U);
  EXPECT_EQ(up.writers(0).bytes(), up.writers(0).writes() * 8192);
  EXPECT_EQ(up.writers(0).due(), 20U);
  EXPECT_THAT(FramesOf(0, 2), IsEmpty());
  const v1::StepDone other_down = RunStep(1);
  ASSERT_EQ(other_down.writers_size(), 2);
  EXPECT_EQ(other_down.writers(1).bytes(), other_down.writers(1).writes() * 4096);
  EXPECT_THAT(FramesOf(1, 2), Not(IsEmpty()));
  EXPECT_TRUE(ArmIn(kSoon, 2).late()) << "nobody writes here while this host is down";
  EXPECT_FALSE(ArmIn(kSoon, 0).late()) << "and the work goes on";
  EXPECT_EQ(sink_.NextDone().writers_size(), 1);
}

TEST_F(LogRunTest, FramesTracesAndTheWritersOwnCountAgree) {
  workload().set_sync(v1::SYNC_MODE_NONE);  // thousands of writes a second
  step().set_duration_ns(300 * kMs);
  step().set_warmup_ns(50 * kMs);
  CreateAndPrepare();
  CheckStep(RunStep());
  EXPECT_GT(writes_checked_, 0U);
}

TEST_F(LogRunTest, SeveralStepsWithSeveralBlockSizesAgreeToo) {
  AddStep(16384, 210 * kMs, 0);
  AddStep(10240, 200 * kMs, 25 * kMs);
  workload().set_sync(v1::SYNC_MODE_NONE);
  workload().set_direct(v1::DIRECT_MODE_OFF);
  CreateAndPrepare();
  for (uint32_t step = 0; step < 3; ++step) CheckStep(RunStep(step));
  EXPECT_GT(writes_checked_, 0U);
}

TEST_F(LogRunTest, SamplesOfTheHostComeOnceASecond) {
  plan_.set_frame_interval_ns(250 * kMs);
  step().set_duration_ns(1200 * kMs);
  workload().set_delay_ns(kMs);
  CreateAndPrepare();
  const v1::StepDone done = RunStep();
  std::vector<v1::HostSample> samples;
  for (const v1::FrameBatch& batch : sink_.Batches()) {
    if (batch.has_sample()) samples.push_back(batch.sample());
  }
  ASSERT_THAT(samples, Not(IsEmpty()));
  EXPECT_GE(samples[0].time_ns(), armed_.start_ns() + kNsPerSecond);
  EXPECT_GT(samples[0].agent_cpu_ns(), 0U);
}

TEST_F(LogRunTest, ThePreparedExtentsAreFullOfStampedPages) {
  workload().set_file_size_bytes(1024 * 1024 + 12288);
  CreateAndPrepare();
  for (const uint32_t extent : {0U, 1U}) {
    const std::string file = ReadFile(ExtentPath(2, extent));
    ASSERT_EQ(file.size(), 1024 * 1024 + 12288U);
    for (uint64_t at = 0; at < file.size(); at += 4096) {
      const PageStamp stamp = StampOf(file, at);
      ASSERT_EQ(stamp.epoch, 0U);
      ASSERT_EQ(stamp.qm, 2U);
      // Two pieces an extent.
      ASSERT_EQ(stamp.sequence, 2 * extent + (at < 1024 * 1024 ? 1 : 2));
      ASSERT_EQ(stamp.page, at % (1024 * 1024) / 4096);
    }
  }
}

TEST_F(LogRunTest, ThePagesOnDiskAreThoseOfTheLastLap) {
  workload().set_sync(v1::SYNC_MODE_NONE);
  workload().set_direct(v1::DIRECT_MODE_OFF);
  workload().set_file_size_bytes(40960);  // four blocks of 8 KiB, and a rest that no block fits in
  step().set_block_size_bytes(12288);
  const ExtentLayout layout(40960, 2, 12288);
  const v1::StepDone done = RunUntilAllWrote(layout.blocks_per_lap());
  for (const v1::WriterTotals& totals : done.writers()) {
    const uint64_t writes = totals.writes();
    ASSERT_GE(writes, layout.blocks_per_lap());
    std::map<uint32_t, std::string> files;
    for (const uint32_t extent : {0U, 1U}) files[extent] = ReadFile(ExtentPath(totals.qm(), extent));
    for (uint64_t block = writes - layout.blocks_per_lap(); block < writes; ++block) {
      const BlockPlace place = layout.PlaceOf(block);
      for (uint32_t page = 0; page < 3; ++page) {
        const PageStamp stamp = StampOf(files[place.extent], place.offset_bytes + page * 4096);
        EXPECT_EQ(stamp.epoch, 1U);
        EXPECT_EQ(stamp.sequence, block + 1);
        EXPECT_EQ(stamp.page, page);
        EXPECT_EQ(stamp.qm, totals.qm());
      }
    }
    // What no block reaches is as it was prepared.
    EXPECT_EQ(StampOf(files[0], 36864).epoch, 0U);
  }
}

TEST_F(LogRunTest, BlocksSmallerThanAPageAreStampedOnTheirOwn) {
  workload().set_sync(v1::SYNC_MODE_NONE);
  workload().set_direct(v1::DIRECT_MODE_OFF);
  workload().set_file_size_bytes(8192);
  step().set_block_size_bytes(1000);
  const v1::StepDone done = RunUntilAllWrote();
  const uint64_t writes = done.writers(0).writes();
  const ExtentLayout layout(8192, 2, 1000);
  const BlockPlace place = layout.PlaceOf(writes - 1);
  const PageStamp stamp = StampOf(ReadFile(ExtentPath(1, place.extent)), place.offset_bytes, 1000);
  EXPECT_EQ(stamp.sequence, writes);
}

TEST_F(LogRunTest, EverySyncModeOpensTheExtentsAsItSays) {
  const std::map<v1::SyncMode, std::string> flags = {{v1::SYNC_MODE_DSYNC, "O_RDWR|O_DSYNC"},
                                                     {v1::SYNC_MODE_SYNC, "O_RDWR|O_SYNC"},
                                                     {v1::SYNC_MODE_FDATASYNC, "O_RDWR"},
                                                     {v1::SYNC_MODE_NONE, "O_RDWR"}};
  workload().set_direct(v1::DIRECT_MODE_OFF);
  for (const auto& [mode, words] : flags) {
    workload().set_sync(mode);
    ASSERT_THAT(Create(), IsOk());
    const auto prepared = Prepare();
    ASSERT_THAT(prepared, IsOk());
    EXPECT_EQ(prepared->open_flags(), words);
    EXPECT_FALSE(prepared->direct());
    EXPECT_EQ(prepared->direct_refused(), "");
    work_.reset();
    sink_.Clear();
    EXPECT_GT(RunUntilAllWrote().writers(0).writes(), 0U);
    work_.reset();
  }
}

TEST_F(LogRunTest, ARateIsKeptAndWhatIsMissedIsCounted) {
  workload().set_sync(v1::SYNC_MODE_NONE);
  workload().set_rate_per_second(500);
  step().set_duration_ns(200 * kMs);
  CreateAndPrepare();
  const v1::StepDone done = RunStep();
  for (const v1::WriterTotals& totals : done.writers()) {
    // Every write that was due was either started or is counted as not served.
    EXPECT_EQ(totals.writes() + totals.not_issued(), 100U);
    EXPECT_EQ(totals.not_issued_age().count(), totals.not_issued());
    uint64_t responses = 0;
    for (const v1::Frame& frame : FramesOf(0, totals.qm())) {
      responses += frame.response().count();
      EXPECT_GE(frame.response().sum_ns(), frame.latency().sum_ns());
    }
    EXPECT_EQ(responses, totals.writes());
  }
}

TEST_F(LogRunTest, StoppedTracesLeaveTheCountsWhole) {
  step().set_duration_ns(200 * kMs);
  CreateAndPrepare();
  armed_ = ArmIn(kSoon);
  const int64_t stop_ns = armed_.start_ns() + 100 * kMs;
  v1::Command stop_trace;
  stop_trace.mutable_stop_trace()->set_at_ns(stop_ns);
  ASSERT_THAT(work_->Do(stop_trace), IsOk());
  const v1::StepDone done = sink_.NextDone();
  for (const v1::WriterTotals& totals : done.writers()) {
    uint64_t untraced = 0;
    std::vector<TracedWrite> writes;
    for (const v1::Frame& frame : FramesOf(0, totals.qm())) {
      untraced += frame.untraced_writes();
      for (const std::string& block : frame.trace()) ASSERT_THAT(DecodeTrace(block, writes), IsOk());
    }
    EXPECT_EQ(untraced + writes.size(), totals.writes());
    for (const TracedWrite& write : writes) {
      EXPECT_LT(write.start_ns + static_cast<int64_t>(write.latency_ns), stop_ns);
    }
  }
}

TEST_F(LogRunTest, BusyThreadsRunBesideTheWritersAndEndWithThem) {
  workload().set_cpu_load(2);
  workload().set_delay_ns(kMs);
  step().set_duration_ns(200 * kMs);
  CreateAndPrepare();
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  RunStep();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  // Some CPU was burnt; how much depends on the machine.
  EXPECT_GT((after.tv_sec - before.tv_sec) * kNsPerSecond + after.tv_nsec - before.tv_nsec, 10 * kMs);
}

}  // namespace
}  // namespace plimsoll::tests
