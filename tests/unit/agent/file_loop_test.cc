// What a named file adds to the write loop and its tally: a pass, pauses, a place of its own in the file.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "agent/writer/access_order.h"
#include "agent/writer/file_env.h"
#include "agent/writer/write_loop.h"
#include "common/protocol.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/agent/fake_env.h"
#include "tests/unit/agent/writer_tally_fixture.h"

namespace plimsoll::tests {
namespace {

// A step over a region of 16 blocks of 4 KiB.
WriteLoopParams RegionParams(int64_t duration_ns, bool random = false, uint32_t read_percent = 0) {
  const uint32_t read_operation = read_percent > 0 && read_percent < kOnlyReads ? 1 : kMainOperation;
  return {.epoch = 1,
          .layout = ExtentLayout(65536, 1, 4096),
          .access = Access(random, read_percent, read_operation, {}),
          .start_ns = kStartNs,
          .end_ns = kStartNs + duration_ns,
          .schedule = std::nullopt};
}

TEST(OnePass, TakesEachBlockOnceAndEndsWithTheLast) {
  for (const bool random : {false, true}) {
    for (const uint32_t read_percent : {0U, 50U, kOnlyReads}) {
      FakeWriter writer({4096});
      writer.source->MakeReadBuffer();
      WriteLoopParams params = RegionParams(1'000'000, random, read_percent);
      params.read_buffer = writer.source->read_buffer();
      params.pass_blocks = params.layout.blocks_per_lap();
      params.delay_ns = 10;
      writer.Run(params);
      std::vector<uint64_t> offsets;
      for (const FakeEnv::Call& call : writer.env.calls) offsets.push_back(call.offset_bytes);
      ASSERT_THAT(offsets, SizeIs(16));
      EXPECT_EQ(std::is_sorted(offsets.begin(), offsets.end()), !random);
      EXPECT_THAT(std::set<uint64_t>(offsets.begin(), offsets.end()), SizeIs(16));
      EXPECT_EQ(writer.state.writes.load() + writer.state.reads.load(), 16U);
      EXPECT_EQ(writer.state.end, LoopEnd::kRanToEnd);
      EXPECT_EQ(writer.state.finished_ns, kStartNs + 16 * 100 + 15 * 10) << "no pause follows the last one";
      EXPECT_EQ(writer.state.finished_ns, writer.state.last_end_ns.load());
      EXPECT_EQ(writer.state.mark.load(), WriterState::kIdle);
    }
  }
}

// Runs the writer's step of a pass, and tells whether its tally counts the pass as unfinished.
bool LeavesPassUnfinished(FakeWriter& writer, const WriteLoopParams& params) {
  writer.Run(params);
  TallyParams of_pass{.times = StepTimes(params.start_ns, 0, params.end_ns - params.start_ns, kMs),
                      .layout = params.layout,
                      .access = params.access,
                      .schedule = std::nullopt,
                      .pass_blocks = params.pass_blocks};
  const std::atomic<int64_t> stop_trace_at_ns{StopControl::kNever};
  WriterTally tally(of_pass, writer.state, stop_trace_at_ns);
  google::protobuf::RepeatedPtrField<v1::Frame> frames;
  tally.Poll(writer.state.finished_ns, frames);
  EXPECT_TRUE(tally.done());
  return tally.pass_unfinished();
}

TEST(OnePass, OneThatTheStepsEndCutsIsUnfinished) {
  FakeWriter writer({4096});
  WriteLoopParams params = RegionParams(1500);
  params.pass_blocks = 16;
  EXPECT_TRUE(LeavesPassUnfinished(writer, params));
  EXPECT_EQ(writer.state.writes.load(), 15U);
  EXPECT_EQ(writer.state.end, LoopEnd::kRanToEnd);
  writer.state.Reset();
  params.end_ns = kStartNs + 1501;
  EXPECT_FALSE(LeavesPassUnfinished(writer, params));
  EXPECT_EQ(writer.state.writes.load(), 16U);
}

TEST(OnePass, OneThatIsStoppedIsNotCalledUnfinished) {
  FakeWriter writer({4096});
  WriteLoopParams params = RegionParams(1'000'000);
  params.pass_blocks = 16;
  writer.control.StopAt(kStartNs + 500);
  EXPECT_FALSE(LeavesPassUnfinished(writer, params));
  EXPECT_EQ(writer.state.end, LoopEnd::kStopped);
}

TEST(Pause, IsThePercentageOfTheMeanLatencySoFar) {
  FakeWriter writer({4096});
  writer.env.latency = [](size_t call) { return int64_t{100} * (1 + static_cast<int64_t>(call)); };
  WriteLoopParams params = RegionParams(960);
  params.pause_percent = 80;
  writer.Run(params);
  const std::vector<Sample> samples = writer.Drain();
  ASSERT_THAT(samples, SizeIs(3));
  // Means of 100, 150 and 200 ns.
  EXPECT_EQ(samples[1].start_ns, kStartNs + 100 + 80);
  EXPECT_EQ(samples[2].start_ns, samples[1].end_ns() + 120);
  EXPECT_THAT(writer.env.sleeps_until_ns,
              ElementsAre(samples[1].start_ns, samples[2].start_ns, samples[2].end_ns() + 160));
}

TEST(Pause, HasAMeanForReadsAndOneForWrites) {
  FakeWriter writer({4096});
  writer.source->MakeReadBuffer();
  WriteLoopParams params = RegionParams(1'000'000, /*random=*/false, /*read_percent=*/50);
  params.read_buffer = writer.source->read_buffer();
  params.pause_percent = 200;
  const Access access = *params.access;
  writer.env.latency = [access](size_t call) { return access.Reads(call) ? 10 : 1000; };
  writer.Run(params);
  ASSERT_GT(writer.env.calls.size(), 100U);
  for (size_t i = 1; i < writer.env.calls.size(); ++i) {
    const bool was_read = writer.env.calls[i - 1].is_read;
    EXPECT_EQ(writer.env.calls[i].start_ns - writer.env.calls[i - 1].start_ns, was_read ? 10 + 20 : 1000 + 2000) << i;
  }
}

TEST(FileEnv, CountsOffsetsFromItsBaseAndSyncsAsAsked) {
  const TempDirectory directory;
  const int fd = open(directory.Sub("file").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  const std::array<int, 1> fds = {fd};
  for (const SyncCall sync : {SyncCall::kFdatasync, SyncCall::kFsync}) {
    const FileEnv env(fds, nullptr, 8192, sync);
    std::array<std::byte, 512> block{};
    block.fill(std::byte{7});
    EXPECT_EQ(env.Write(0, 1024, block.data(), block.size()), 512);
    EXPECT_EQ(env.Sync(0), 0);
    std::array<std::byte, 512> read{};
    EXPECT_EQ(pread(fd, read.data(), read.size(), 8192 + 1024), 512);
    EXPECT_EQ(read, block);
    read.fill(std::byte{0});
    EXPECT_EQ(env.Read(0, 1024, read.data(), read.size()), 512);
    EXPECT_EQ(read, block);
  }
  close(fd);
  const FileEnv closed(fds, nullptr, 0, SyncCall::kFsync);
  EXPECT_EQ(closed.Sync(0), -EBADF);
}

TEST(SyncCall, IsNamedAsTheSystemCallIs) {
  EXPECT_EQ(SyncCallName(SyncCallOf(v1::SYNC_MODE_FSYNC)), "fsync");
  EXPECT_EQ(SyncCallName(SyncCallOf(v1::SYNC_MODE_FDATASYNC)), "fdatasync");
  EXPECT_EQ(SyncCallOf(v1::SYNC_MODE_DSYNC), SyncCall::kNone);
}

TEST_F(WriterTallyTest, PlacesAreThoseInTheFile) {
  TallyParams params = Params();
  params.layout = ExtentLayout(65536, 1, 4096);
  params.first_extent = 5;
  params.base_bytes = 1 << 20;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, kMs);
  Push(kStartNs + kMs, 2 * kMs);
  tally.Poll(kStartNs + 260 * kMs, frames_);
  ASSERT_THAT(frames_, SizeIs(1));
  EXPECT_EQ(frames_[0].slowest().extent(), 5U);
  EXPECT_EQ(frames_[0].slowest().offset_bytes(), (1U << 20) + 4096);
}

TEST_F(WriterTallyTest, APauseIsNoStallAndAWriterThatIsLateBehindItIs) {
  TallyParams params = Params();
  params.access = Access(/*random=*/false, 0, kMainOperation, {});
  params.stall_ns = 100 * kMs;
  params.pause_percent = 300;
  WriterTally tally(params, state_, stop_trace_at_ns_);
  Push(kStartNs, 50 * kMs);              // a pause of 150 ms
  Push(kStartNs + 200 * kMs, 50 * kMs);  // on time; again 150 ms
  Push(kStartNs + 520 * kMs, 50 * kMs);  // 120 ms late
  tally.Poll(kStartNs + 760 * kMs, frames_);
  std::vector<v1::StalledInterval> stalls;
  for (const v1::Frame& frame : frames_) stalls.insert(stalls.end(), frame.stalls().begin(), frame.stalls().end());
  ASSERT_THAT(stalls, SizeIs(1));
  EXPECT_EQ(stalls[0].begin_ns(), kStartNs + 400 * kMs);
  EXPECT_EQ(stalls[0].first_seq(), 3U);
}

}  // namespace
}  // namespace plimsoll::tests
