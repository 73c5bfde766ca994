// Logs that real writers have written to real files, read back by the work that wrote them.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <span>
#include <utility>

#include "agent/writer/extent_reader.h"
#include "agent/writer/host_read_back.h"
#include "agent/writer/log_files.h"
#include "common/page_stamp.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "tests/testing.h"
#include "tests/unit/agent/log_work_fixture.h"

namespace plimsoll::tests {
namespace {

class LogReadBackTest : public LogWorkTest {
 protected:
  LogReadBackTest() {
    // Two extents of four blocks for each writer.
    workload().set_file_size_bytes(16 * 1024);
    step().set_duration_ns(kHour);
  }

  // Runs a step until each writer has written at least so often.
  v1::StepDone RunUntil(uint64_t writes, uint32_t number = 0) {
    EXPECT_FALSE(ArmIn(kSoon, number).late());
    sink_.AwaitWrites(2, number, writes);
    work_->Stop("enough");
    return sink_.NextDone();
  }
  absl::Status Order(uint32_t number = 0) {
    v1::Command command;
    command.mutable_read_back()->set_step(number);
    return work_->Do(command);
  }
  v1::ReadBackDone ReadBack(uint32_t number = 0) {
    const absl::Status status = Order(number);
    EXPECT_THAT(status, IsOk());
    v1::ReadBackDone done = status.ok() ? sink_.NextMessage().read_back() : v1::ReadBackDone();
    EXPECT_EQ(done.step(), number);
    EXPECT_EQ(done.error(), "");
    EXPECT_EQ(done.writers_size(), 2);
    while (done.writers_size() < 2) done.add_writers();
    return done;
  }

  static std::vector<std::byte> ReadFile(const std::string& path, uint64_t offset_bytes, uint64_t size_bytes) {
    std::vector<std::byte> bytes(size_bytes);
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(pread(fd.get(), bytes.data(), size_bytes, static_cast<off_t>(offset_bytes)),
              static_cast<ssize_t>(size_bytes));
    return bytes;
  }
  static void WriteFile(const std::string& path, uint64_t offset_bytes, std::span<const std::byte> bytes) {
    const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes)),
              static_cast<ssize_t>(bytes.size()));
  }
  // The highest number in the stamps of an epoch, over all pages of a writer's extents.
  uint64_t LastSequence(uint32_t qm, uint32_t epoch, uint64_t block_bytes) const {
    uint64_t last = 0;
    for (const uint32_t extent : {0U, 1U}) {
      const std::string path = ExtentPath(qm, extent);
      const uint64_t size_bytes = std::filesystem::file_size(path);
      const std::vector<std::byte> bytes = ReadFile(path, 0, size_bytes);
      const uint64_t page_bytes = std::min<uint64_t>(block_bytes, kStampedPageBytes);
      for (uint64_t at = 0; at + block_bytes <= size_bytes; at += block_bytes) {
        PageStamp stamp;
        const StampState state = ReadStamp(std::span(bytes).subspan(at, page_bytes), stamp);
        if (state == StampState::kWhole && stamp.epoch == epoch) last = std::max(last, stamp.sequence);
      }
    }
    return last;
  }

  static uint64_t Faults(const v1::WriterReadBack& read) {
    return read.lost() + read.torn() + read.foreign() + read.altered() + read.unreadable();
  }
  static void ExpectNoFaults(const v1::ReadBackDone& done) {
    for (const v1::WriterReadBack& writer : done.writers()) EXPECT_EQ(Faults(writer), 0U) << writer.DebugString();
  }
};

TEST_F(LogReadBackTest, FindsEveryAcknowledgedWriteAfterSeveralLaps) {
  step().set_warmup_ns(20 * kMs);
  CreateAndPrepare();
  const v1::StepDone step_done = RunUntil(20);
  const uint64_t progress = work_->Progress();
  const v1::ReadBackDone done = ReadBack();
  for (int i = 0; i < 2; ++i) {
    const v1::WriterReadBack& writer = done.writers(i);
    const auto qm = static_cast<uint32_t>(i + 1);
    EXPECT_EQ(writer.qm(), qm);
    EXPECT_EQ(writer.acknowledged_writes(), step_done.writers(i).writes());
    // Those of the warm-up, too.
    EXPECT_EQ(writer.acknowledged_writes(), LastSequence(qm, 1, 4096));
    EXPECT_GE(writer.acknowledged_writes(), 20U);
    EXPECT_EQ(writer.blocks(), 8U);
    EXPECT_EQ(writer.written_blocks(), 8U);
    EXPECT_EQ(writer.read_bytes(), 32U * 1024);
    EXPECT_FALSE(writer.has_open_write());
    EXPECT_NE(writer.direct(), writer.dropped_cache());
    EXPECT_THAT(writer.findings(), IsEmpty());
  }
  ExpectNoFaults(done);
  EXPECT_GT(work_->Progress(), progress);
  EXPECT_EQ(work_->State(), "ready");
  EXPECT_THAT(work_->InFlight(0), IsEmpty());
  ExpectNoFaults(ReadBack());
}

TEST_F(LogReadBackTest, FindsEveryAcknowledgedWriteAfterLessThanALap) {
  workload().set_file_size_bytes(1024 * 1024 + 8192);
  workload().set_delay_ns(kHour / 6);
  CreateAndPrepare();
  RunUntil(1);
  const v1::ReadBackDone done = ReadBack();
  for (const v1::WriterReadBack& writer : done.writers()) {
    EXPECT_EQ(writer.acknowledged_writes(), 1U);
    EXPECT_EQ(writer.written_blocks(), 1U);
    EXPECT_EQ(writer.blocks(), 516U);
  }
  ExpectNoFaults(done);
}

TEST_F(LogReadBackTest, EveryBlockSizeCanBeReadBack) {
  for (const uint64_t size : {512U, 1000U, 4096U, 6144U, 65536U}) {
    SCOPED_TRACE(size);
    workload().set_direct(v1::DIRECT_MODE_OFF);
    workload().set_file_size_bytes(130 * 1024);
    step().set_block_size_bytes(size);
    CreateAndPrepare();
    sink_.Clear();
    RunUntil(5);
    const v1::ReadBackDone done = ReadBack();
    for (const v1::WriterReadBack& writer : done.writers()) {
      EXPECT_EQ(writer.blocks(), 2 * (130 * 1024 / size));
      EXPECT_EQ(writer.acknowledged_writes(), LastSequence(writer.qm(), 1, size));
    }
    ExpectNoFaults(done);
  }
}

TEST_F(LogReadBackTest, AWriteThatWasLostIsFoundWithItsPlace) {
  CreateAndPrepare();
  const std::string path = ExtentPath(2, 1);
  const std::vector<std::byte> older = ReadFile(path, 4096, 4096);
  RunUntil(20);
  const std::vector<std::byte> newest = ReadFile(path, 4096, 4096);
  WriteFile(path, 4096, older);
  const v1::ReadBackDone done = ReadBack();
  EXPECT_EQ(Faults(done.writers(0)), 0U);
  const v1::WriterReadBack& writer = done.writers(1);
  EXPECT_EQ(writer.lost(), 1U);
  EXPECT_EQ(Faults(writer), 1U);
  ASSERT_THAT(writer.findings(), SizeIs(1));
  EXPECT_EQ(writer.findings(0).path(), path);
  EXPECT_EQ(writer.findings(0).offset_bytes(), 4096U);
  EXPECT_EQ(writer.findings(0).text(), "lost: holds what preparing wrote");
  PageStamp stamp;
  ASSERT_EQ(ReadStamp(newest, stamp), StampState::kWhole);
  EXPECT_EQ(writer.findings(0).expected_sequence(), stamp.sequence);
  // Where it is back, nothing is lost.
  WriteFile(path, 4096, newest);
  ExpectNoFaults(ReadBack());
}

TEST_F(LogReadBackTest, TornAndForeignBlocksAreFoundWithTheirPlaces) {
  step().set_block_size_bytes(8192);
  CreateAndPrepare();
  const std::vector<std::byte> older = ReadFile(ExtentPath(1, 0), 4096, 4096);
  RunUntil(8);
  WriteFile(ExtentPath(1, 0), 4096, older);
  WriteFile(ExtentPath(1, 1), 8192, ReadFile(ExtentPath(2, 1), 8192, 8192));
  const v1::ReadBackDone done = ReadBack();
  EXPECT_EQ(Faults(done.writers(1)), 0U);
  const v1::WriterReadBack& writer = done.writers(0);
  EXPECT_EQ(writer.torn(), 1U);
  EXPECT_EQ(writer.foreign(), 1U);
  EXPECT_EQ(Faults(writer), 2U);
  ASSERT_THAT(writer.findings(), SizeIs(2));
  EXPECT_EQ(writer.findings(0).path(), ExtentPath(1, 0));
  EXPECT_EQ(writer.findings(0).offset_bytes(), 0U);
  EXPECT_EQ(writer.findings(0).text(), "torn: page 2 of 2 holds what preparing wrote");
  EXPECT_EQ(writer.findings(1).path(), ExtentPath(1, 1));
  EXPECT_EQ(writer.findings(1).offset_bytes(), 8192U);
  EXPECT_EQ(writer.findings(1).text(), "foreign: page 1 of 2 holds a page of qm2");
}

TEST_F(LogReadBackTest, WhatIsCutOffOrGoneIsUnreadable) {
  CreateAndPrepare();
  RunUntil(20);
  ASSERT_EQ(truncate(ExtentPath(1, 1).c_str(), 4096 + 100), 0);
  std::filesystem::remove(ExtentPath(2, 0));
  const v1::ReadBackDone done = ReadBack();
  EXPECT_EQ(done.writers(0).unreadable(), 3U);
  EXPECT_EQ(Faults(done.writers(0)), 3U);
  EXPECT_EQ(done.writers(0).read_bytes(), 5U * 4096);
  ASSERT_THAT(done.writers(0).findings(), SizeIs(3));
  EXPECT_EQ(done.writers(0).findings(0).text(),
            "unreadable: preadv2 " + ExtentPath(1, 1) + ": short read at offset 4096: 100 of 4096 bytes");
  EXPECT_EQ(done.writers(1).unreadable(), 4U);
  EXPECT_EQ(Faults(done.writers(1)), 4U);
  ASSERT_THAT(done.writers(1).findings(), SizeIs(1));
  EXPECT_EQ(done.writers(1).findings(0).path(), ExtentPath(2, 0));
  EXPECT_THAT(done.writers(1).findings(0).text(), HasSubstr("No such file or directory (2)"));
}

TEST_F(LogReadBackTest, DropsItsCacheWhereTheFileSystemTakesNoDirectReads) {
  if (!MountOverRoot("ramfs", "")) GTEST_SKIP() << "needs the right to mount";
  for (const v1::SyncMode sync : {v1::SYNC_MODE_DSYNC, v1::SYNC_MODE_NONE}) {
    workload().set_sync(sync);
    CreateAndPrepare();
    sink_.Clear();
    RunUntil(20);
    const v1::ReadBackDone done = ReadBack();
    ExpectNoFaults(done);
    for (const v1::WriterReadBack& writer : done.writers()) {
      EXPECT_FALSE(writer.direct());
      // What nothing has synchronized stays in the cache.
      EXPECT_EQ(writer.dropped_cache(), sync == v1::SYNC_MODE_DSYNC);
    }
  }
}

// Files that were opened with O_DIRECT, of a file system that has no direct I/O.
class WithoutDirectIo final : public FileOps {
 public:
  explicit WithoutDirectIo(FileOps& ops) : ops_(ops) {}
  absl::StatusOr<UniqueFd> Create(const std::string& relative, int flags) override {
    return ops_.Create(relative, flags);
  }
  std::string PathOf(const std::string& relative) const override { return ops_.PathOf(relative); }
  int64_t Write(int fd, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) override {
    return ops_.Write(fd, offset_bytes, data, size_bytes);
  }
  int Sync(int fd) override { return ops_.Sync(fd); }
  int GetFlags(int fd) override { return ops_.GetFlags(fd); }
  int SetFlags(int fd, int flags) override { return ops_.SetFlags(fd, flags); }
  uint32_t DirectAlignBytes(int fd) override { return ops_.DirectAlignBytes(fd); }
  bool IgnoresDirect(int /*fd*/) override { return true; }
  absl::StatusOr<Space> MeasureSpace() override { return ops_.MeasureSpace(); }

 private:
  FileOps& ops_;
};

TEST_F(LogReadBackTest, WhereTheFileSystemIgnoresTheFlagItsCacheIsDroppedAndReadsAreNotCalledDirect) {
  auto setup = MakeWorkSetup(plan_);
  ASSERT_THAT(setup, IsOk());
  const auto targets = TargetFiles::Create(*sandbox_, permissions_);
  ASSERT_THAT(targets, IsOk());
  const auto places = MakeLogPlaces(*sandbox_, **targets, *setup);
  ASSERT_THAT(places, IsOk());
  const LogPlace& place = places->front();
  const std::vector<std::byte> written(4096, std::byte{7});
  {
    const auto extent = place.directory->CreateFile(ExtentName(1, "S", 0), O_RDWR);
    ASSERT_THAT(extent, IsOk());
    ASSERT_EQ(place.ops->Write(extent->get(), 0, written.data(), written.size()), 4096);
    ASSERT_EQ(place.ops->Sync(extent->get()), 0);
  }
  WithoutDirectIo ops(*place.ops);
  FileExtentReader extents(*place.directory, ops, 1, "S", /*keeps_dirty=*/false);
  ASSERT_THAT(extents.Open(0), IsOk());
  const auto read = extents.Read(0, 4096);
  ASSERT_THAT(read, IsOk());
  EXPECT_TRUE(std::ranges::equal(*read, written));
  EXPECT_FALSE(extents.direct());
  EXPECT_TRUE(extents.dropped_cache());
}

TEST_F(LogReadBackTest, TheBlockOfAWriteThatFailedMayHoldAnything) {
  std::signal(SIGXFSZ, SIG_IGN);
  workload().set_file_size_bytes(256 * 1024);
  CreateAndPrepare();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 64 * 1024;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_FALSE(ArmIn(kSoon).late());
  sink_.NextDone();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(sink_.Faults().empty());
  const uint32_t failed = sink_.Faults()[0].qm();
  const auto read = [&] { return ReadBack().writers(static_cast<int>(failed) - 1); };
  v1::WriterReadBack writer = read();
  EXPECT_EQ(writer.acknowledged_writes(), 16U);
  EXPECT_EQ(writer.written_blocks(), 16U);
  EXPECT_TRUE(writer.has_open_write());
  EXPECT_EQ(Faults(writer), 0U);
  // A part of the seventeenth write, or of something else.
  const std::vector<std::byte> part(1000, std::byte{5});
  WriteFile(ExtentPath(failed, 0), 64 * 1024 + 500, part);
  EXPECT_EQ(Faults(read()), 0U);
  // Neither in the sixteenth, which was acknowledged, nor behind it.
  WriteFile(ExtentPath(failed, 0), 60 * 1024 + 500, part);
  WriteFile(ExtentPath(failed, 0), 68 * 1024 + 500, part);
  writer = read();
  EXPECT_EQ(writer.torn(), 1U);
  EXPECT_EQ(writer.altered(), 1U);
  EXPECT_EQ(Faults(writer), 2U);
}

TEST_F(LogReadBackTest, WhatEarlierStepsWroteIsThereWhereTheLastOneDidNotWrite) {
  workload().set_file_size_bytes(64 * 1024);
  workload().set_delay_ns(5 * kMs);
  step().set_block_size_bytes(8192);
  AddStep(4096, kHour, 0);
  CreateAndPrepare();
  RunUntil(3, 0);
  EXPECT_THAT(Order(1), StatusIs(absl::StatusCode::kInvalidArgument,
                                 "the log of step 1 cannot be read back: the last step that ran is 0"));
  RunUntil(1, 1);
  const v1::ReadBackDone done = ReadBack(1);
  for (const v1::WriterReadBack& writer : done.writers()) EXPECT_EQ(writer.blocks(), 32U);
  ExpectNoFaults(done);
  EXPECT_THAT(Order(0), StatusIs(absl::StatusCode::kInvalidArgument, "the last step that ran is 1"));
}

TEST_F(LogReadBackTest, RefusesWhatItCouldNotDecide) {
  const auto refused = [this](const std::string& why) {
    EXPECT_THAT(Order(), StatusIs(absl::StatusCode::kFailedPrecondition, why));
  };
  const auto run_refused = [&](const std::string& why) {
    CreateAndPrepare();
    refused("no step has run");
    ASSERT_FALSE(ArmIn(kHour).late());
    refused("between steps alone");
    work_->Stop("now");
    sink_.NextDone();
    refused(why);
  };
  workload().set_file_size_bytes(1024 * 1024);
  const v1::LogStep plain = step();
  step().set_random_order(true);
  run_refused("the log of step 0 cannot be read back: it writes in random order; only sequential writes");
  step() = plain;
  step().set_read_percent(10);
  SetOperations(/*parts=*/false, step());
  run_refused("it reads beside its writes");
  step() = plain;
  step().set_block_size_bytes(0);
  for (const uint64_t size : {4096U, 8192U}) {
    v1::SizeShare& share = *step().add_size_mix();
    share.set_block_size_bytes(size);
    share.set_percent(50);
  }
  run_refused("it mixes block sizes");
  step() = plain;
  step().set_block_size_bytes(0);
  v1::GroupCommit& commits = *step().mutable_group_commit();
  commits.set_clients(3);
  commits.set_message_size_bytes(2048);
  commits.set_think_time_ns(kMs);
  commits.set_log_buffer_pages(128);
  commits.set_log_write_integrity(v1::LOG_WRITE_INTEGRITY_TRIPLEWRITE);
  SetOperations(/*parts=*/false, step());
  run_refused("it has group commit");
  step() = plain;
  workload().set_share(v1::FILE_SHARE_OWN);
  workload().add_files("a");
  workload().add_files("b");
  run_refused("the plan names its files");
}

TEST_F(LogReadBackTest, AStepThatRanTwiceCannotBeReadBack) {
  CreateAndPrepare();
  RunUntil(1);
  sink_.Clear();
  RunUntil(1);
  EXPECT_THAT(Order(), StatusIs(absl::StatusCode::kFailedPrecondition, "the step ran more than once"));
}

TEST_F(LogReadBackTest, NothingElseStartsMeanwhile) {
  CreateAndPrepare();
  sink_.Hold(true);
  RunUntil(1);
  // The result waits for the sink, which is at the step's last message.
  const absl::Status ordered = Order();
  EXPECT_THAT(ordered, IsOk());
  EXPECT_EQ(work_->State(), "reading back");
  EXPECT_TRUE(ArmIn(kSoon).late());
  EXPECT_THAT(Order(), StatusIs(absl::StatusCode::kFailedPrecondition, "between steps alone"));
  v1::Command add;
  add.mutable_add_step()->set_step(1);
  EXPECT_THAT(work_->Do(add), StatusIs(absl::StatusCode::kFailedPrecondition, "between steps alone"));
  EXPECT_FALSE(work_->WaitIdle(kMs));
  sink_.Hold(false);
  ASSERT_THAT(ordered, IsOk());
  ExpectNoFaults(sink_.NextMessage().read_back());
  EXPECT_TRUE(work_->WaitIdle(60 * kNsPerSecond));
  EXPECT_EQ(work_->State(), "ready");
  EXPECT_FALSE(ArmIn(kSoon).late());
}

TEST_F(LogReadBackTest, AnExpiredLeaseEndsItWithoutAResult) {
  CreateAndPrepare();
  RunUntil(1);
  lease_deadline_ns_ = MonotonicNowNs();
  ASSERT_THAT(Order(), IsOk());
  const v1::AgentMessage message = sink_.NextMessage();
  EXPECT_THAT(message.read_back().error(), HasSubstr("stopped while reading back: lease expired"));
  EXPECT_THAT(message.read_back().writers(), IsEmpty());
}

TEST_F(LogReadBackTest, AStopEndsItWithoutAResult) {
  auto setup = MakeWorkSetup(plan_);
  ASSERT_THAT(setup, IsOk());
  const auto targets = TargetFiles::Create(*sandbox_, permissions_);
  ASSERT_THAT(targets, IsOk());
  const auto places = MakeLogPlaces(*sandbox_, **targets, *setup);
  ASSERT_THAT(places, IsOk());
  const StopControl control(lease_deadline_ns_);
  HostReadBack read_back(*setup, *places, control);
  WriterState state;
  WriterState* const states[] = {&state};
  const TallyParams params[] = {setup->TallyOf(0, 0, 1)};
  read_back.NoteStep(0, params, states);
  const auto logs = read_back.Begin(0);
  ASSERT_THAT(logs, IsOk());
  EXPECT_THAT(*logs, SizeIs(2));
  read_back.Stop("the operator's wish");
  const v1::ReadBackDone stopped = read_back.Run(0, *logs);
  EXPECT_EQ(stopped.error(), "stopped while reading back: the operator's wish");
  EXPECT_THAT(stopped.writers(), IsEmpty());
  // The next one begins as if nothing had been. There are no files here.
  ASSERT_THAT(read_back.Begin(0), IsOk());
  const v1::ReadBackDone done = read_back.Run(0, *logs);
  EXPECT_EQ(done.error(), "");
  ASSERT_THAT(done.writers(), SizeIs(2));
  EXPECT_EQ(done.writers(0).unreadable(), 8U);
  EXPECT_FALSE(done.writers(0).direct() || done.writers(0).dropped_cache());
}

TEST_F(LogReadBackTest, ASessionThatEndsMeanwhileLeavesNothing) {
  workload().set_num_files(200);
  CreateAndPrepare();
  RunUntil(1);
  ASSERT_THAT(Order(), IsOk());
  work_->Stop("the controller is gone");
  const v1::AgentMessage message = sink_.NextMessage();
  if (!message.read_back().error().empty()) {
    EXPECT_EQ(message.read_back().error(), "stopped while reading back: the controller is gone");
    EXPECT_THAT(message.read_back().writers(), IsEmpty());
  }
  ASSERT_THAT(Order(), IsOk());
  work_.reset();
}

}  // namespace
}  // namespace plimsoll::tests
