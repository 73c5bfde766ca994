// The whole write path on real files: states, files, errors.
#include "agent/writer/log_work.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <map>
#include <utility>

#include "common/protocol.h"
#include "common/trace.h"
#include "tests/testing.h"
#include "tests/unit/agent/log_work_fixture.h"

namespace plimsoll::tests {
namespace {

TEST_F(LogWorkTest, PreparesExtentsOfTheAskedSizeAndRemovesThem) {
  workload().set_file_size_bytes(1024 * 1024 + 8192);
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->directory(), root_ + "/plimsoll-0123abcd/alpha");
  EXPECT_EQ(prepared->prepared_bytes(), 4 * (1024 * 1024 + 8192));
  EXPECT_THAT(prepared->visible_hosts(), ElementsAre("alpha"));
  EXPECT_THAT(prepared->open_flags(), MatchesRegex("O_RDWR\\|O_DSYNC(\\|O_DIRECT)?"));
  EXPECT_EQ(prepared->direct(), prepared->open_flags() == "O_RDWR|O_DSYNC|O_DIRECT");
  EXPECT_EQ(prepared->direct_refused().empty(), prepared->direct());
  EXPECT_EQ(work_->State(), "ready");
  for (const uint32_t qm : {1U, 2U}) {
    for (const uint32_t extent : {0U, 1U}) {
      EXPECT_EQ(std::filesystem::file_size(ExtentPath(qm, extent)), 1024 * 1024 + 8192);
    }
  }
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back(), std::make_pair(prepared->prepared_bytes(), prepared->prepared_bytes()));

  const v1::Released released = work_->Release(false);
  EXPECT_EQ(released.removed_files(), 4);
  EXPECT_EQ(released.left_behind(), "");
  EXPECT_FALSE(std::filesystem::exists(ExtentPath(1, 0)));
}

TEST_F(LogWorkTest, AStepThatReadsReadsWhatWasFilledAndCountsItApart) {
  step().set_read_percent(40);
  step().set_random_order(true);
  SetOperations(/*parts=*/false, step());
  CreateAndPrepare();
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  EXPECT_EQ(done.stopped(), "");
  EXPECT_THAT(sink_.Faults(), IsEmpty());
  ASSERT_EQ(done.writers_size(), 4);
  std::map<std::pair<uint32_t, uint32_t>, v1::WriterTotals> totals;
  for (const v1::WriterTotals& own : done.writers()) totals[{own.qm(), own.operation()}] = own;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> counts;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> bytes;
  for (const v1::Frame& frame : sink_.Frames()) {
    counts[{frame.qm(), frame.operation()}] += frame.latency().count();
    bytes[{frame.qm(), frame.operation()}] += frame.bytes();
  }
  for (const uint32_t qm : {1U, 2U}) {
    const uint64_t writes = totals[{qm, 0}].writes();
    const uint64_t reads = totals[{qm, 1}].writes();
    EXPECT_GT(writes + reads, 0U);
    // Exactly the share in each whole hundred.
    EXPECT_LE(reads, (writes + reads) / 100 * 40 + 40);
    EXPECT_GE(reads, (writes + reads) / 100 * 40);
    EXPECT_EQ((counts[{qm, 0}]), writes);
    EXPECT_EQ((counts[{qm, 1}]), reads);
    EXPECT_EQ((bytes[{qm, 1}]), reads * 4096);
    EXPECT_EQ((totals[{qm, 1}]).bytes(), reads * 4096);
  }
}

TEST_F(LogWorkTest, AStepThatOnlyReadsWritesNothing) {
  step().set_read_percent(kOnlyReads);
  step().set_random_order(true);
  SetOperations(/*parts=*/false, step());
  CreateAndPrepare();
  std::map<std::string, std::filesystem::file_time_type> written;
  for (const uint32_t qm : {1U, 2U}) {
    for (const uint32_t extent : {0U, 1U}) {
      const std::string path = ExtentPath(qm, extent);
      written[path] = std::filesystem::last_write_time(path);
    }
  }
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  EXPECT_EQ(done.stopped(), "");
  EXPECT_THAT(sink_.Faults(), IsEmpty());
  ASSERT_EQ(done.writers_size(), 2) << "the reads are the main operation";
  for (const v1::WriterTotals& totals : done.writers()) {
    EXPECT_EQ(totals.operation(), kMainOperation);
    EXPECT_GT(totals.writes(), 0U);
    EXPECT_EQ(totals.bytes(), totals.writes() * 4096);
    uint64_t reads = 0;
    for (const v1::Frame& frame : sink_.Frames()) {
      EXPECT_EQ(frame.operation(), kMainOperation);
      reads += frame.qm() == totals.qm() ? frame.latency().count() : 0;
    }
    EXPECT_EQ(reads, totals.writes());
  }
  for (const auto& [path, time] : written) EXPECT_EQ(std::filesystem::last_write_time(path), time) << path;
}

TEST_F(LogWorkTest, LeavesTheFilesOnRequest) {
  CreateAndPrepare();
  EXPECT_EQ(work_->Release(true).removed_files(), 0);
  work_.reset();
  EXPECT_TRUE(std::filesystem::exists(ExtentPath(2, 1)));
  expect_clean_ = false;
}

TEST_F(LogWorkTest, RemovesTheFilesWhenItIsDestroyedInAStep) {
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  ASSERT_FALSE(ArmIn(kSoon).late());
  sink_.AwaitWrites();
  EXPECT_EQ(work_->State(), "running");
  work_.reset();
  EXPECT_EQ(sink_.NextDone().stopped(), "the session ended");
}

TEST_F(LogWorkTest, ALateArmStartsNothing) {
  CreateAndPrepare();
  const v1::Armed past = ArmIn(-kMs);
  EXPECT_TRUE(past.late());
  EXPECT_GT(past.now_ns(), past.start_ns());
  EXPECT_TRUE(ArmIn(kMs).late());
  EXPECT_EQ(work_->State(), "ready");
  // Nor does it leave what was armed before.
  ASSERT_FALSE(ArmIn(kHour).late());
  EXPECT_EQ(work_->State(), "armed");
  EXPECT_TRUE(ArmIn(0).late());
  EXPECT_EQ(work_->State(), "ready");
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  EXPECT_EQ(done.stopped(), "");
  EXPECT_THAT(sink_.Faults(), IsEmpty());
}

TEST_F(LogWorkTest, ArmingAnUnknownStepStartsNothing) {
  CreateAndPrepare();
  EXPECT_TRUE(ArmIn(20 * kMs, 1).late());
  EXPECT_EQ(work_->State(), "ready");
}

TEST_F(LogWorkTest, AddedStepsRunWithTheirOwnRateAndQueueManagers) {
  CreateAndPrepare();
  v1::Command command;
  v1::AddStep& add = *command.mutable_add_step();
  add.set_step(1);
  add.mutable_spec()->set_block_size_bytes(4096);
  add.mutable_spec()->set_duration_ns(100 * kMs);
  add.mutable_spec()->set_rate_per_second(100);
  add.mutable_spec()->set_arrival(v1::ARRIVAL_EVEN);
  add.mutable_spec()->set_qm(1);
  ASSERT_THAT(work_->Do(command), IsOk());
  EXPECT_THAT(work_->Do(command), IsOk()) << "the same once more";
  EXPECT_EQ(work_->StepNs(1), 100 * kMs);
  ASSERT_FALSE(ArmIn(kSoon, 0).late());
  ASSERT_EQ(sink_.NextDone().writers_size(), 2);
  ASSERT_FALSE(ArmIn(kSoon, 1).late());
  const v1::StepDone done = sink_.NextDone();
  ASSERT_EQ(done.writers_size(), 1) << "the second queue manager waits";
  EXPECT_EQ(done.writers(0).due(), 10);
  // The plan's step is as it was.
  ASSERT_FALSE(ArmIn(kSoon, 0).late());
  const v1::StepDone again = sink_.NextDone();
  ASSERT_EQ(again.writers_size(), 2);
  EXPECT_FALSE(again.writers(1).has_due());
}

TEST_F(LogWorkTest, RefusesToAddStepsThatWereNotPreparedFor) {
  ASSERT_THAT(Create(), IsOk());
  v1::Command command;
  v1::AddStep& add = *command.mutable_add_step();
  add.set_step(1);
  add.mutable_spec()->set_block_size_bytes(4096);
  add.mutable_spec()->set_duration_ns(100 * kMs);
  EXPECT_THAT(work_->Do(command), StatusIs(absl::StatusCode::kFailedPrecondition, "between steps"));
  ASSERT_THAT(Prepare(), IsOk());
  const auto refused = [&](const auto& change, const std::string& why) {
    v1::Command wrong = command;
    change(*wrong.mutable_add_step(), *wrong.mutable_add_step()->mutable_spec());
    EXPECT_THAT(work_->Do(wrong), StatusIs(absl::StatusCode::kInvalidArgument, why));
  };
  refused([](v1::AddStep& /*add*/, v1::LogStep& step) { step.set_block_size_bytes(8192); }, "blocks of 8k");
  refused([](v1::AddStep& /*add*/, v1::LogStep& step) { step.set_block_size_bytes(1 << 20); }, "larger than an extent");
  refused([](v1::AddStep& /*add*/, v1::LogStep& step) { step.set_duration_ns(0); }, "duration must be above 0");
  refused([](v1::AddStep& /*add*/, v1::LogStep& step) { step.set_rate_per_second(-1); }, "rate");
  refused([](v1::AddStep& /*add*/, v1::LogStep& step) { step.set_qm(3); }, "the host has 2");
  refused([](v1::AddStep& /*add*/, v1::LogStep& step) { step.set_arrival(v1::ARRIVAL_UNSPECIFIED); }, "arrival");
  refused([](v1::AddStep& other, v1::LogStep& /*step*/) { other.set_step(2); }, "the next one is 1");
  refused(
      [](v1::AddStep& other, v1::LogStep& step) {
        other.set_step(0);
        step.set_rate_per_second(5);
      },
      "the next one is 1");
  EXPECT_EQ(work_->StepNs(1), 0);
  // Nor while a step is armed.
  ASSERT_FALSE(ArmIn(kHour).late());
  EXPECT_THAT(work_->Do(command), StatusIs(absl::StatusCode::kFailedPrecondition, "between steps"));
}

TEST_F(LogWorkTest, AStartThatNoClockShowsStartsNothing) {
  CreateAndPrepare();
  for (const int64_t start_ns : {INT64_MIN, int64_t{-1}, INT64_MAX, MonotonicNowNs() + 25 * kHour}) {
    v1::Arm arm;
    arm.set_start_ns(start_ns);
    EXPECT_TRUE(work_->Arm(arm).late()) << start_ns;
    EXPECT_EQ(work_->State(), "ready");
  }
}

TEST_F(LogWorkTest, ArmingAgainReplacesTheFirstStart) {
  CreateAndPrepare();
  ASSERT_FALSE(ArmIn(kHour).late());
  const v1::Armed second = ArmIn(kSoon);
  ASSERT_FALSE(second.late());
  const v1::StepDone done = sink_.NextDone();
  ASSERT_EQ(done.writers_size(), 2);
  for (const v1::WriterTotals& writer : done.writers()) {
    if (writer.writes() > 0) {
      EXPECT_GE(writer.first_start_ns(), second.start_ns());
    }
  }
  EXPECT_EQ(work_->State(), "ready");
}

TEST_F(LogWorkTest, ArmingARunningStepIsRefused) {
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  ASSERT_FALSE(ArmIn(kSoon).late());
  sink_.AwaitWrites();
  EXPECT_TRUE(ArmIn(kSoon).late());
  EXPECT_EQ(work_->State(), "running");
}

TEST_F(LogWorkTest, AStopInTheArmedStateEndsTheStepWithoutAWrite) {
  CreateAndPrepare();
  ASSERT_FALSE(ArmIn(kHour).late());
  work_->Stop("changed my mind");
  const v1::StepDone done = sink_.NextDone();
  EXPECT_EQ(done.stopped(), "changed my mind");
  ASSERT_EQ(done.writers_size(), 2);
  EXPECT_EQ(done.writers(0).writes(), 0);
  EXPECT_TRUE(work_->WaitIdle(10 * kNsPerSecond));
  EXPECT_EQ(work_->State(), "ready");
  // And the next step runs as if nothing had been.
  ASSERT_FALSE(ArmIn(kSoon).late());
  EXPECT_EQ(sink_.NextDone().stopped(), "");
}

TEST_F(LogWorkTest, AStopInARunningStepKeepsWhatWasMeasured) {
  step().set_duration_ns(kHour);
  workload().set_delay_ns(600 * kNsPerSecond);
  CreateAndPrepare();
  ASSERT_FALSE(ArmIn(kSoon).late());
  sink_.AwaitWrites(2);
  EXPECT_FALSE(work_->WaitIdle(kMs));
  work_->Stop("enough");
  work_->Stop("a second reason");
  EXPECT_TRUE(work_->WaitIdle(60 * kNsPerSecond));
  const v1::StepDone done = sink_.NextDone();
  EXPECT_EQ(done.stopped(), "enough");
  EXPECT_EQ(done.writers(0).writes(), 1);
}

TEST_F(LogWorkTest, StopsWhileReadyAreForgotten) {
  CreateAndPrepare();
  work_->Stop("nothing to stop");
  ASSERT_FALSE(ArmIn(kSoon).late());
  EXPECT_EQ(sink_.NextDone().stopped(), "");
}

TEST_F(LogWorkTest, AStopBeforePreparingCancelsIt) {
  ASSERT_THAT(Create(), IsOk());
  work_->Stop("interrupted");
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kCancelled, "stopped while preparing"));
}

TEST_F(LogWorkTest, AStopWhilePreparingCancelsIt) {
  workload().set_file_size_bytes(8 * 1024 * 1024);
  workload().set_num_files(100);
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = work_->Prepare([this](uint64_t, uint64_t) { work_->Stop("interrupted"); });
  EXPECT_THAT(prepared, StatusIs(absl::StatusCode::kCancelled, "stopped while preparing"));
}

TEST_F(LogWorkTest, AnExpiredLeaseEndsThePreparing) {
  lease_deadline_ns_ = 0;
  ASSERT_THAT(Create(), IsOk());
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kDeadlineExceeded, "lease expired"));
}

TEST_F(LogWorkTest, AnExpiredLeaseStopsTheWriters) {
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  const int64_t deadline_ns = MonotonicNowNs() + kSoon + 60 * kMs;
  lease_deadline_ns_ = deadline_ns;
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  EXPECT_THAT(done.stopped(), HasSubstr("lease expired"));
  std::vector<TracedWrite> writes;
  for (const v1::Frame& frame : sink_.Frames()) {
    for (const std::string& block : frame.trace()) ASSERT_THAT(DecodeTrace(block, writes), IsOk());
  }
  EXPECT_EQ(writes.size(), done.writers(0).writes() + done.writers(1).writes());
  for (const TracedWrite& write : writes) EXPECT_LT(write.start_ns, deadline_ns);
}

TEST_F(LogWorkTest, AnExpiredLeaseLetsNoArmedWriterStart) {
  CreateAndPrepare();
  lease_deadline_ns_ = MonotonicNowNs();
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  EXPECT_THAT(done.stopped(), HasSubstr("lease expired"));
  for (const v1::WriterTotals& writer : done.writers()) EXPECT_EQ(writer.writes(), 0);
}

TEST_F(LogWorkTest, AFileThatMayNotGrowIsAClearError) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 100 * 1024;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(prepared.ok());
  EXPECT_THAT(std::string(prepared.status().message()), HasSubstr("/active/S0000000.LOG: File too large (27)"));
  EXPECT_THAT(std::string(prepared.status().message()), HasSubstr("use a smaller --file-size"));
}

TEST_F(LogWorkTest, AFailingWriteStopsAllWritersAndIsReportedWithItsPlace) {
  std::signal(SIGXFSZ, SIG_IGN);
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 64 * 1024;  // a quarter of the extent
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  const std::vector<v1::Fault> faults = sink_.Faults();
  ASSERT_FALSE(faults.empty());
  EXPECT_THAT(faults[0].message(), HasSubstr("S0000000.LOG: File too large (27), 4096 bytes at offset 65536"));
  EXPECT_THAT(done.stopped(), HasSubstr("File too large"));
  ASSERT_EQ(done.writers_size(), 2);
  EXPECT_EQ(done.writers(static_cast<int>(faults[0].qm()) - 1).writes(), 16);
  EXPECT_EQ(work_->State(), "ready");
}

TEST_F(LogWorkTest, AFullDiskIsAClearErrorAndNothingStays) {
  if (!MountOverRoot("tmpfs", "size=1m")) GTEST_SKIP() << "needs the right to mount";
  workload().set_file_size_bytes(700 * 1024);
  workload().set_min_free_bytes(0);
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  // Found before a piece is written, or, where both writers found the same room, by the write.
  EXPECT_THAT(prepared,
              AnyOf(StatusIs(absl::StatusCode::kResourceExhausted, ".LOG stopped: its file system has "),
                    StatusIs(absl::StatusCode::kResourceExhausted, ".LOG: No space left on device (28) at offset")));
  EXPECT_THAT(std::string(prepared.status().message()), HasSubstr(root_ + "/plimsoll-0123abcd/alpha/qm"));
  EXPECT_THAT(std::string(prepared.status().message()), HasSubstr("free space there, or use a smaller --file-size"));
  EXPECT_EQ(work_->Release(false).left_behind(), "");
}

TEST_F(LogWorkTest, FillingStopsAtTheSpaceThatMustStayFree) {
  if (!MountOverRoot("tmpfs", "size=16m")) GTEST_SKIP() << "needs the right to mount";
  workload().set_file_size_bytes(4 << 20);
  workload().set_min_free_bytes(6 << 20);
  ASSERT_THAT(Create(), IsOk());
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kResourceExhausted, "6 MiB must remain free (--min-free)"));
  const auto placed = work_->Look(v1::Look());
  ASSERT_THAT(placed, IsOk());
  // Two writers may each have found room for the same piece.
  EXPECT_GE(placed->free_bytes(), uint64_t{5} << 20);
  EXPECT_EQ(work_->Release(false).left_behind(), "");
}

TEST_F(LogWorkTest, LooksForTheOthersAndMeasuresTheSpaceBeforeItFills) {
  ASSERT_THAT(Create(), IsOk());
  v1::Look look;
  look.set_round(1);
  look.add_hosts("alpha");
  look.add_hosts("beta");
  auto placed = work_->Look(look);
  ASSERT_THAT(placed, IsOk());
  EXPECT_THAT(placed->visible_hosts(), ElementsAre("alpha"));
  EXPECT_GT(placed->total_bytes(), 0U);
  EXPECT_EQ(placed->min_free_bytes(), std::max(placed->total_bytes() / 20, uint64_t{256} << 20));
  const std::string beta = root_ + "/plimsoll-0123abcd/beta";
  std::filesystem::create_directory(beta);
  placed = work_->Look(look);
  ASSERT_THAT(placed, IsOk());
  EXPECT_THAT(placed->visible_hosts(), ElementsAre("alpha", "beta"));
  // Whom it has seen it has seen: a host that has left meanwhile shares its storage all the same.
  std::filesystem::remove(beta);
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_THAT(prepared->visible_hosts(), ElementsAre("alpha", "beta"));
}

TEST_F(LogWorkTest, GoesOnWithoutDirectWhereTheFileSystemRefusesItAndSaysWhy) {
  if (!MountOverRoot("ramfs", "")) GTEST_SKIP() << "needs the right to mount";
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_FALSE(prepared->direct());
  EXPECT_THAT(prepared->direct_refused(), HasSubstr("Invalid argument (22)"));
  EXPECT_EQ(prepared->open_flags(), "O_RDWR|O_DSYNC");
  ASSERT_FALSE(ArmIn(kSoon).late());
  EXPECT_EQ(sink_.NextDone().stopped(), "");
  EXPECT_EQ(work_->Release(false).removed_files(), 4);
}

TEST_F(LogWorkTest, DirectThatWasAskedForAndRefusedIsAnError) {
  if (!MountOverRoot("ramfs", "")) GTEST_SKIP() << "needs the right to mount";
  workload().set_direct(v1::DIRECT_MODE_ON);
  ASSERT_THAT(Create(), IsOk());
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kInvalidArgument, "refuses O_DIRECT; use --direct auto or off"));
}

// Two directories, the second one a file system of its own that refuses O_DIRECT.
class TwoDirectoriesTest : public LogWorkTest {
 protected:
  TwoDirectoriesTest() {
    for (const std::string& dir : {first_, second_}) std::filesystem::create_directory(dir);
    for (const std::string& dir : {second_, first_, second_}) workload().add_qm_dirs(dir);
    workload().set_dir(second_);
    workload().set_qm(3);
  }
  ~TwoDirectoriesTest() override {
    work_.reset();
    for (const std::string& dir : {first_, second_}) EXPECT_TRUE(std::filesystem::is_empty(dir)) << dir;
    if (mounted_) umount2(second_.c_str(), MNT_DETACH);
    for (const std::string& dir : {first_, second_}) std::filesystem::remove(dir);
    mounted_ = false;
  }

  bool MountOverSecond() {
    if (unshare(CLONE_NEWNS) != 0) return false;
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    mounted_ = mount("none", second_.c_str(), "ramfs", 0, "") == 0;
    return mounted_;
  }

  const std::string first_ = root_ + "/first";
  const std::string second_ = root_ + "/second";
};

TEST_F(TwoDirectoriesTest, EachWriterWritesInItsOwnAndEachFileSystemDecidesAboutODirect) {
  if (!MountOverSecond()) GTEST_SKIP() << "needs the right to mount";
  // Long enough for a busy machine to let each writer write.
  step().set_duration_ns(2 * kNsPerSecond);
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->directory(), second_ + "/plimsoll-0123abcd/alpha");
  EXPECT_FALSE(prepared->direct());
  EXPECT_THAT(prepared->direct_refused(), HasSubstr("Invalid argument (22)"));
  ASSERT_EQ(prepared->more_size(), 1);
  EXPECT_EQ(prepared->more(0).directory(), first_ + "/plimsoll-0123abcd/alpha");
  EXPECT_TRUE(prepared->more(0).direct()) << prepared->more(0).direct_refused();
  EXPECT_EQ(prepared->more(0).open_flags(), "O_RDWR|O_DSYNC|O_DIRECT");
  for (const auto& [dir, qm] : {std::pair(second_, 1), std::pair(first_, 2), std::pair(second_, 3)}) {
    for (const std::string& other : {first_, second_}) {
      const std::string path = other + "/plimsoll-0123abcd/alpha/qm" + std::to_string(qm) + "/active/S0000001.LOG";
      EXPECT_EQ(std::filesystem::exists(path), other == dir) << path;
    }
  }
  const auto placed = work_->Look(v1::Look());
  ASSERT_THAT(placed, IsOk());
  ASSERT_EQ(placed->more_size(), 1);
  EXPECT_EQ(placed->total_bytes(), 0U) << "a ramfs has no size";
  EXPECT_GT(placed->more(0).total_bytes(), 0U);
  ASSERT_FALSE(ArmIn(kSoon).late());
  const v1::StepDone done = sink_.NextDone();
  EXPECT_EQ(done.stopped(), "");
  EXPECT_EQ(done.writers_size(), 3);
  for (const v1::WriterTotals& writer : done.writers()) EXPECT_GT(writer.writes(), 0U);
  EXPECT_EQ(work_->Release(false).removed_files(), 6);
}

TEST_F(TwoDirectoriesTest, WhereOneCannotBeMadeNoneRemains) {
  for (const std::string& wrong : {root_ + "/missing", std::string("/"), first_ + "/../first/"}) {
    workload().set_qm_dirs(2, wrong);
    EXPECT_THAT(Create(), ::testing::Not(IsOk())) << wrong;
    for (const std::string& dir : {first_, second_}) EXPECT_TRUE(std::filesystem::is_empty(dir)) << wrong;
  }
}

TEST_F(TwoDirectoriesTest, KeptFilesStayInEach) {
  CreateAndPrepare();
  EXPECT_EQ(work_->Release(true).left_behind(), "");
  work_.reset();
  for (const std::string& dir : {first_, second_}) {
    EXPECT_TRUE(std::filesystem::exists(dir + "/plimsoll-0123abcd/alpha/qm" + (dir == first_ ? "2" : "1")));
    std::filesystem::remove_all(dir + "/plimsoll-0123abcd");
  }
}

TEST_F(LogWorkTest, ASecondPreparingIsRefused) {
  CreateAndPrepare();
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kFailedPrecondition, "prepared already"));
}

TEST_F(LogWorkTest, ReportsNoWriteInFlightWhileNobodyWrites) {
  CreateAndPrepare();
  EXPECT_THAT(work_->InFlight(0), IsEmpty());
}

TEST_F(LogWorkTest, ADirectoryOutsideTheSandboxIsRefused) {
  workload().set_dir("/");
  EXPECT_FALSE(Create().ok());
}

}  // namespace
}  // namespace plimsoll::tests
