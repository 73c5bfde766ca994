// The whole write path on files that a plan names: made in the run's directory, made and kept, or found.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/writer/space_watch.h"
#include "common/page_stamp.h"
#include "common/protocol.h"
#include "tests/testing.h"
#include "tests/unit/agent/log_work_fixture.h"

namespace plimsoll::tests {
namespace {

constexpr uint64_t kBlock = 4096;

class NamedFilesWorkTest : public LogWorkTest {
 protected:
  NamedFilesWorkTest() {
    workload().set_share(v1::FILE_SHARE_OWN);
    workload().set_file_size_bytes(64 * kBlock);
  }

  void SetFiles(const std::vector<std::string>& names) {
    workload().mutable_files()->Assign(names.begin(), names.end());
  }
  std::string RunFile(const std::string& name) const { return root_ + "/plimsoll-0123abcd/alpha/files/" + name; }
  // A file that some user has, outside the agent's roots.
  std::string Foreign(const std::string& name, uint64_t size_bytes) const {
    std::string path = elsewhere_.path() + "/" + name;
    WriteText(path, std::string(size_bytes, 'u'));
    return path;
  }
  void OnlyRead() {
    step().set_read_percent(kOnlyReads);
    SetOperations(/*parts=*/false, step());
  }
  v1::StepDone RunStep() {
    EXPECT_FALSE(ArmIn(kSoon).late());
    return sink_.NextDone();
  }
  // Writers of the pages of a file, as their stamps have them; 0: no page of this run.
  static std::vector<uint32_t> WritersOf(const std::string& path) {
    const std::string text = ReadText(path);
    std::vector<uint32_t> writers;
    for (size_t at = 0; at + kStampedPageBytes <= text.size(); at += kStampedPageBytes) {
      PageStamp stamp;
      const std::span page(reinterpret_cast<const std::byte*>(text.data()) + at, kStampedPageBytes);
      writers.push_back(ReadStamp(page, stamp) == StampState::kWhole ? stamp.qm : 0);
    }
    return writers;
  }
  static uint64_t Count(const std::vector<uint32_t>& writers, uint32_t writer) {
    return static_cast<uint64_t>(std::ranges::count(writers, writer));
  }

  TempDirectory elsewhere_;
};

TEST_F(NamedFilesWorkTest, FewerThreadsThanFilesMakeAndFillOneEach) {
  SetFiles({"F000", "F001", "F002"});
  ASSERT_THAT(Create(), IsOk());
  EXPECT_FALSE(std::filesystem::exists(RunFile("F000"))) << "nothing is made before it is filled";
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->directory(), root_ + "/plimsoll-0123abcd/alpha");
  EXPECT_EQ(prepared->prepared_bytes(), 2 * 64 * kBlock);
  EXPECT_EQ(progress_.back(), std::make_pair(2 * 64 * kBlock, 2 * 64 * kBlock));
  EXPECT_EQ(Count(WritersOf(RunFile("F000")), 1), 64U);
  EXPECT_EQ(Count(WritersOf(RunFile("F001")), 2), 64U);
  EXPECT_FALSE(std::filesystem::exists(RunFile("F002"))) << "it is not used";
  EXPECT_EQ(work_->Directory(), root_ + "/plimsoll-0123abcd/alpha");

  const v1::StepDone done = RunStep();
  EXPECT_EQ(done.stopped(), "");
  EXPECT_THAT(sink_.Faults(), IsEmpty());
  std::set<uint32_t> measured;
  for (const v1::Frame& frame : sink_.Frames()) {
    if (frame.latency().count() == 0) continue;
    measured.insert(frame.qm());
    EXPECT_EQ(frame.slowest().extent(), frame.qm() - 1);
    EXPECT_LT(frame.slowest().offset_bytes(), 64 * kBlock);
  }
  EXPECT_THAT(measured, ElementsAre(1U, 2U));
  const v1::Released released = work_->Release(false);
  EXPECT_EQ(released.removed_files(), 2U);
  EXPECT_EQ(released.left_behind(), "");
}

TEST_F(NamedFilesWorkTest, MoreThreadsThanFilesStayInRangesOfTheirOwn) {
  workload().set_qm(3);
  SetFiles({"A", "B"});
  step().set_random_order(true);
  CreateAndPrepare();
  const v1::StepDone done = RunStep();
  EXPECT_EQ(done.stopped(), "");
  // Threads 1 and 2 have halves of A, thread 3 has B.
  std::vector<uint32_t> a = WritersOf(RunFile("A"));
  ASSERT_THAT(a, SizeIs(64));
  EXPECT_TRUE(std::all_of(a.begin(), a.begin() + 32, [](uint32_t writer) { return writer == 1; }));
  EXPECT_TRUE(std::all_of(a.begin() + 32, a.end(), [](uint32_t writer) { return writer == 2; }));
  EXPECT_EQ(Count(WritersOf(RunFile("B")), 3), 64U);
  std::set<uint32_t> measured;
  for (const v1::Frame& frame : sink_.Frames()) {
    if (frame.latency().count() == 0) continue;
    measured.insert(frame.qm());
    EXPECT_EQ(frame.slowest().extent(), frame.qm() == 3 ? 1U : 0U);
    if (frame.qm() == 1) {
      EXPECT_LT(frame.slowest().offset_bytes(), 32 * kBlock);
    }
    if (frame.qm() == 2) {
      EXPECT_GE(frame.slowest().offset_bytes(), 32 * kBlock);
    }
  }
  EXPECT_THAT(measured, ElementsAre(1U, 2U, 3U));
  EXPECT_EQ(work_->Release(false).removed_files(), 2U);
}

TEST_F(NamedFilesWorkTest, FsyncFollowsEachWriteAndIsMeasured) {
  SetFiles({"F000", "F001"});
  workload().set_sync(v1::SYNC_MODE_FSYNC);
  SetOperations(/*parts=*/true, step());
  CreateAndPrepare();
  const v1::StepDone done = RunStep();
  EXPECT_EQ(done.stopped(), "");
  ASSERT_EQ(done.writers_size(), 6) << "the write, the call and the sync of each";
  for (const v1::WriterTotals& totals : done.writers()) EXPECT_GT(totals.latency_sum_ns(), 0U);
}

TEST_F(NamedFilesWorkTest, OnePassTakesEachBlockOnceAndEndsTheStep) {
  SetFiles({"F000"});
  workload().set_one_pass(true);
  step().set_random_order(true);
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  const v1::StepDone done = RunStep();
  EXPECT_EQ(done.stopped(), "");
  ASSERT_EQ(done.writers_size(), 2);
  std::map<uint32_t, uint64_t> counts;
  std::map<uint32_t, int32_t> last;
  for (const v1::Frame& frame : sink_.Frames()) {
    EXPECT_FALSE(frame.closing());
    counts[frame.qm()] += frame.latency().count();
    last[frame.qm()] = frame.first_interval();
  }
  for (const v1::WriterTotals& totals : done.writers()) {
    EXPECT_EQ(totals.writes(), 32U);
    EXPECT_EQ(totals.bytes(), 32 * kBlock);
    EXPECT_GT(totals.latency_sum_ns(), 0U);
    EXPECT_EQ(counts[totals.qm()], 32U);
  }
  // An interval may be over while the last writer is between its last write and the word that it has ended.
  EXPECT_LE(std::abs(last[1] - last[2]), 1);
  // And once more.
  EXPECT_EQ(RunStep().writers(0).writes(), 32U);
}

TEST_F(NamedFilesWorkTest, APassThatDoesNotEndInTimeIsReported) {
  SetFiles({"F000", "F001"});
  workload().set_one_pass(true);
  workload().set_delay_ns(20 * kMs);
  CreateAndPrepare();
  const v1::StepDone done = RunStep();
  EXPECT_THAT(done.stopped(), HasSubstr("the pass was not finished within --duration "));
  EXPECT_THAT(sink_.Faults(), IsEmpty());
  ASSERT_EQ(done.writers_size(), 2);
  for (const v1::WriterTotals& totals : done.writers()) {
    EXPECT_GT(totals.writes(), 0U);
    EXPECT_LT(totals.writes(), 64U);
  }
}

TEST_F(NamedFilesWorkTest, PathsNeedTheAgentsPermission) {
  const std::string path = Foreign("data", 64 * kBlock);
  workload().clear_file_size_bytes();
  workload().set_dir(elsewhere_.path());
  SetFiles({path});
  OnlyRead();
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kPermissionDenied, "--allow-target"));
  permissions_.targets = {elsewhere_.path()};
  EXPECT_THAT(Create(), IsOk());
  step().set_read_percent(0);
  step().clear_operations();
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kPermissionDenied, "--overwrite"));
  EXPECT_EQ(ReadText(path), std::string(64 * kBlock, 'u'));
}

TEST_F(NamedFilesWorkTest, ReadsFilesThatExistAndLeavesThemAsTheyAre) {
  const std::string first = Foreign("first", 64 * kBlock + 100);
  const std::string second = Foreign("second", 8 * kBlock);
  permissions_.targets = {elsewhere_.path()};
  workload().clear_file_size_bytes();
  workload().set_dir(elsewhere_.path());
  workload().set_one_pass(true);
  SetFiles({first, second});
  OnlyRead();
  step().set_duration_ns(kHour);
  ASSERT_THAT(Create(), IsOk());
  const auto placed = work_->Look(v1::Look());
  ASSERT_THAT(placed, IsOk());
  EXPECT_THAT(placed->visible_hosts(), ElementsAre("alpha"));
  EXPECT_EQ(placed->total_bytes(), 0U);
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->directory(), elsewhere_.path());
  EXPECT_EQ(prepared->prepared_bytes(), 0U);
  EXPECT_THAT(prepared->open_flags(), StartsWith("O_RDONLY|O_DSYNC"));
  EXPECT_THAT(prepared->visible_hosts(), ElementsAre("alpha"));
  EXPECT_EQ(work_->Directory(), "");
  const v1::StepDone done = RunStep();
  EXPECT_EQ(done.stopped(), "");
  EXPECT_EQ(done.writers(0).writes(), 64U) << "whole blocks";
  EXPECT_EQ(done.writers(1).writes(), 8U);
  EXPECT_EQ(work_->Release(false).removed_files(), 0U);
  EXPECT_EQ(ReadText(first), std::string(64 * kBlock + 100, 'u'));
  EXPECT_EQ(ReadText(second), std::string(8 * kBlock, 'u'));
}

TEST_F(NamedFilesWorkTest, OverwritesThePartOfAFileThatThePlanUses) {
  const std::string path = Foreign("data", 64 * kBlock);
  permissions_.targets = {path};
  workload().set_file_size_bytes(16 * kBlock);
  workload().set_dir(elsewhere_.path());
  workload().set_overwrite(true);
  workload().set_one_pass(true);
  step().set_duration_ns(kHour);
  SetFiles({path});
  CreateAndPrepare();
  EXPECT_EQ(ReadText(path), std::string(64 * kBlock, 'u')) << "nothing is filled";
  const v1::StepDone done = RunStep();
  ASSERT_EQ(done.writers_size(), 2);
  EXPECT_EQ(done.writers(0).writes(), 8U);
  EXPECT_EQ(done.writers(1).writes(), 8U);
  const std::vector<uint32_t> writers = WritersOf(path);
  ASSERT_THAT(writers, SizeIs(64));
  EXPECT_EQ(Count(writers, 1), 8U);
  EXPECT_EQ(Count(writers, 2), 8U);
  EXPECT_EQ(ReadText(path).substr(16 * kBlock), std::string(48 * kBlock, 'u'));
  work_.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(NamedFilesWorkTest, FilesThatDoNotFitThePlanAreRefusedBeforeAnythingIsWritten) {
  const std::string path = Foreign("data", 16 * kBlock);
  permissions_.targets = {elsewhere_.path()};
  workload().set_dir(elsewhere_.path());
  SetFiles({path});
  OnlyRead();
  EXPECT_THAT(Create(),
              StatusIs(absl::StatusCode::kFailedPrecondition, path + " has 64k, less than file_size, which is 256k"));
  workload().clear_file_size_bytes();
  workload().set_qm(17);
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kInvalidArgument, "a block of 4k for each of 17 threads"));
  workload().set_qm(2);
  std::filesystem::create_hard_link(path, elsewhere_.path() + "/other");
  SetFiles({path, elsewhere_.path() + "/other"});
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kFailedPrecondition, "is the same file as " + path));
  SetFiles({path, elsewhere_.path() + "/missing"});
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kNotFound, "missing"));
}

TEST_F(NamedFilesWorkTest, AFileThatShrinksIsAShortReadWithItsPlace) {
  const std::string path = Foreign("data", 64 * kBlock);
  permissions_.targets = {elsewhere_.path()};
  workload().clear_file_size_bytes();
  workload().set_dir(elsewhere_.path());
  SetFiles({path});
  OnlyRead();
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  // The second thread's part begins in its middle.
  ASSERT_EQ(truncate(path.c_str(), 40 * kBlock), 0);
  const v1::StepDone done = RunStep();
  EXPECT_THAT(done.stopped(), HasSubstr("preadv2 " + path + ": short read at offset 163840: 0 of 4096 bytes"));
  ASSERT_FALSE(sink_.Faults().empty());
  EXPECT_EQ(sink_.Faults()[0].qm(), 2U);
}

TEST_F(NamedFilesWorkTest, CreateMakesFilesThatStayAndCanBeUsedAgain) {
  expect_clean_ = false;
  const std::vector<std::string> paths = {root_ + "/K000", root_ + "/K001"};
  workload().set_create(true);
  workload().set_dir(root_);
  SetFiles(paths);
  step().set_duration_ns(kHour);
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kPermissionDenied, "--allow-kept"));
  permissions_.kept = true;
  ASSERT_THAT(Create(), IsOk());
  EXPECT_FALSE(std::filesystem::exists(paths[0])) << "other hosts may refuse";
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->prepared_bytes(), 0U);
  EXPECT_EQ(std::filesystem::file_size(paths[0]), 64 * kBlock);
  EXPECT_EQ(Count(WritersOf(paths[0]), 0), 64U) << "it holds nothing yet";
  const v1::StepDone done = RunStep();
  EXPECT_EQ(done.stopped(), "");
  ASSERT_EQ(done.writers_size(), 2);
  EXPECT_EQ(done.writers(0).writes(), 64U);
  EXPECT_EQ(done.writers(1).writes(), 64U);
  EXPECT_EQ(work_->Release(false).removed_files(), 0U);
  EXPECT_EQ(Count(WritersOf(paths[0]), 1), 64U);
  EXPECT_EQ(Count(WritersOf(paths[1]), 2), 64U);

  // Without a target and without `overwrite`.
  workload().set_create(false);
  workload().clear_file_size_bytes();
  step().set_duration_ns(100 * kMs);
  CreateAndPrepare();
  EXPECT_EQ(RunStep().stopped(), "");
  // Made once more, over its own.
  workload().set_create(true);
  workload().set_file_size_bytes(16 * kBlock);
  CreateAndPrepare();
  EXPECT_EQ(std::filesystem::file_size(paths[0]), 16 * kBlock);
}

TEST_F(NamedFilesWorkTest, CreateRemovesItsNewFilesWhereNoStepBegins) {
  permissions_.kept = true;
  const std::vector<std::string> paths = {root_ + "/K000", root_ + "/K001"};
  workload().set_create(true);
  SetFiles(paths);
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  EXPECT_TRUE(std::filesystem::exists(paths[0]));
  v1::Released released = work_->Release(false);
  EXPECT_EQ(released.removed_files(), 2U);
  EXPECT_EQ(released.left_behind(), "");
  EXPECT_TRUE(std::filesystem::is_empty(root_));

  // One that exists by the time that it is made, so that preparing fails.
  ASSERT_THAT(Create(), IsOk());
  WriteText(paths[1], "precious");
  EXPECT_THAT(Prepare(), StatusIs(absl::StatusCode::kAlreadyExists, paths[1] + " exists"));
  released = work_->Release(false);
  EXPECT_EQ(released.left_behind(), "");
  EXPECT_FALSE(std::filesystem::exists(paths[0]));
  EXPECT_EQ(ReadText(paths[1]), "precious");
  std::filesystem::remove(paths[1]);
}

TEST_F(NamedFilesWorkTest, CreateKeepsAFileThatExistedWhereNoStepBegins) {
  expect_clean_ = false;
  permissions_.kept = true;
  const std::vector<std::string> paths = {root_ + "/K000", root_ + "/K001"};
  workload().set_create(true);
  workload().set_qm(1);
  SetFiles({paths[0]});
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  EXPECT_EQ(RunStep().stopped(), "");
  workload().set_qm(2);
  SetFiles(paths);
  CreateAndPrepare();
  EXPECT_EQ(work_->Release(false).removed_files(), 1U);
  EXPECT_TRUE(std::filesystem::exists(paths[0]));
  EXPECT_FALSE(std::filesystem::exists(paths[1]));
}

TEST_F(NamedFilesWorkTest, APassThatCreatesStopsAtTheSpaceThatMustStayFree) {
  expect_clean_ = false;
  if (!MountOverRoot("tmpfs", "size=64m")) GTEST_SKIP() << "needs the right to mount";
  permissions_.kept = true;
  workload().set_create(true);
  workload().set_file_size_bytes(8 << 20);
  workload().set_min_free_bytes(24 << 20);
  workload().set_delay_ns(10 * kMs);
  SetFiles({root_ + "/K000", root_ + "/K001"});
  step().set_duration_ns(kHour);
  CreateAndPrepare();
  EXPECT_FALSE(ArmIn(kSoon).late());
  sink_.AwaitWrites(2);
  // As another program would fill the file system.
  WriteText(root_ + "/other", std::string(size_t{48} << 20, 'o'));
  const v1::StepDone done = sink_.NextDone();
  EXPECT_THAT(done.stopped(), HasSubstr("24 MiB must remain free (--min-free)"));
  ASSERT_THAT(sink_.Faults(), SizeIs(1));
  EXPECT_EQ(sink_.Faults()[0].qm(), 0U);
  EXPECT_EQ(sink_.Faults()[0].message(), done.stopped());
  EXPECT_EQ(work_->Release(false).removed_files(), 0U);
  EXPECT_TRUE(std::filesystem::exists(root_ + "/K000")) << "it was written to";
}

TEST(SpaceWatch, ReportsEachTimeThatTooLittleIsFree) {
  const TempDirectory directory;
  v1::LogWorkload workload;
  std::vector<absl::Status> reports;
  const auto measure = [&] {
    std::vector<WatchedSpace> watched(1);
    watched[0] = {UniqueFd(open(directory.path().c_str(), O_PATH | O_CLOEXEC)), directory.path()};
    return SpaceWatch(std::move(watched), workload, [&](const absl::Status& status) { reports.push_back(status); })
        .Measure();
  };
  workload.set_min_free_bytes(0);
  EXPECT_GT(measure(), std::chrono::milliseconds(0));
  EXPECT_THAT(reports, IsEmpty());
  workload.set_min_free_bytes(uint64_t{1} << 62);
  EXPECT_EQ(measure(), std::chrono::milliseconds(10));
  ASSERT_THAT(reports, SizeIs(1));
  EXPECT_THAT(reports[0],
              StatusIs(absl::StatusCode::kResourceExhausted, "writing to " + directory.path() + " stopped: "));
}

TEST_F(NamedFilesWorkTest, CreateRefusesWhatIsThereAndWhatDoesNotFit) {
  expect_clean_ = false;
  permissions_.kept = true;
  workload().set_create(true);
  workload().set_dir(root_);
  const std::string foreign = root_ + "/data";
  WriteText(foreign, "precious");
  SetFiles({root_ + "/new", foreign});
  EXPECT_THAT(Create(), Not(IsOk()));
  permissions_.targets = {foreign};
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kAlreadyExists, foreign + " exists"));
  EXPECT_EQ(ReadText(foreign), "precious");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/new"));

  std::vector<std::string> large;
  for (int file = 0; file < 64; ++file) large.push_back(root_ + "/large" + std::to_string(file));
  SetFiles(large);
  workload().set_qm(64);
  workload().set_file_size_bytes(uint64_t{1} << 40);
  EXPECT_THAT(Create(), StatusIs(absl::StatusCode::kResourceExhausted, "64 TiB"));
  EXPECT_FALSE(std::filesystem::exists(large[0]));
}

TEST_F(NamedFilesWorkTest, GoesOnWithoutDirectWhereTheFileSystemRefusesIt) {
  if (!MountOverRoot("ramfs", "")) GTEST_SKIP() << "needs the right to mount";
  SetFiles({"F000"});
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_FALSE(prepared->direct());
  EXPECT_THAT(prepared->direct_refused(), HasSubstr("Invalid argument (22)"));
  EXPECT_EQ(RunStep().stopped(), "");
  EXPECT_EQ(work_->Release(false).removed_files(), 1U);
}

}  // namespace
}  // namespace plimsoll::tests
