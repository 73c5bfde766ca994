// The life of measuring restart I/O on a host: files, trials, stop, lease and clean-up, on real files.
#include "agent/restart/restart_work.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "agent/writer/file_env.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/restart_fixture.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr int kCancelled = static_cast<int>(StatusCode::kCancelled);
constexpr int kExpired = static_cast<int>(StatusCode::kDeadlineExceeded);

// Holds a trial before its measured part: it drops caches by writing to a pipe, which waits for a reader.
class HeldTrialTest : public RestartWorkTest {
 protected:
  HeldTrialTest() : pipe_(temp_.Sub("drop_caches")) {
    EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0) << errno;
    restart().set_drop_caches(true);
    EXPECT_THAT(Create(/*allow_drop_caches=*/true, pipe_), IsOk());
    EXPECT_THAT(Prepare(), IsOk());
  }
  // Lets the held trial go on. Waits until it has come to the pipe.
  void LetGo() {
    reader_ = UniqueFd(open(pipe_.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(reader_.valid()) << errno;
  }

  const std::string pipe_;
  UniqueFd reader_;
};

TEST_F(RestartWorkTest, FillsEveryFileWithWholePagesOfItsOwn) {
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  EXPECT_EQ(prepared->directory(), PathOf("").substr(0, PathOf("").size() - 1));
  EXPECT_EQ(prepared->prepared_bytes(), kLogBytes + kQueues * kQueueBytes + kMiB);
  EXPECT_EQ(filled_, (std::pair<uint64_t, uint64_t>(prepared->prepared_bytes(), prepared->prepared_bytes())));
  EXPECT_THAT(prepared->visible_hosts(), ElementsAre("alpha"));
  EXPECT_EQ(prepared->direct(), prepared->direct_refused().empty());
  EXPECT_EQ(prepared->open_flags(), prepared->direct() ? "O_RDWR|O_DIRECT" : "O_RDWR");
  EXPECT_EQ(fs::file_size(PathOf("qm1/active/S0000000.LOG")), kExtentBytes);
  EXPECT_EQ(fs::file_size(PathOf("qm1/active/S0000002.LOG")), kLogBytes - 2 * kExtentBytes);
  EXPECT_FALSE(fs::exists(PathOf("qm1/active/S0000003.LOG")));
  EXPECT_EQ(fs::file_size(PathOf("qm1/queues/queue10")), kQueueBytes);
  EXPECT_FALSE(fs::exists(PathOf("qm1/queues/queue11")));

  PageStamp stamp = StampOf(ReadPage(PathOf("qm1/active/S0000002.LOG"), 127));
  EXPECT_EQ(std::string(stamp.run_token.begin(), stamp.run_token.end()), kRunToken);
  EXPECT_EQ(stamp.host_index, 3U);
  EXPECT_EQ(stamp.qm, 1U);
  EXPECT_EQ(stamp.epoch, 0U);
  // The last page of the log.
  EXPECT_EQ(stamp.sequence, 768U);
  stamp = StampOf(ReadPage(PathOf("qm1/queues/queue10"), 136));
  EXPECT_EQ(stamp.epoch, 10U);
  EXPECT_EQ(stamp.sequence, 137U);
}

TEST_F(RestartWorkTest, DescribesEachDirectoryInTheOrderOfThePlan) {
  restart().add_dirs(temp_.MakeDirectory("second"));
  ASSERT_THAT(Create(), IsOk());
  const std::string second = temp_.Sub("second/plimsoll-0a1b/alpha");
  EXPECT_EQ(work_->Directory(), temp_.Sub("first/plimsoll-0a1b/alpha") + ", " + second);
  // A host that shares the second directory only.
  fs::create_directory(temp_.Sub("second/plimsoll-0a1b/beta"));
  v1::Look look;
  look.add_hosts("alpha");
  look.add_hosts("beta");
  const auto placed = work_->Look(look);
  ASSERT_THAT(placed, IsOk());
  EXPECT_THAT(placed->visible_hosts(), ElementsAre("alpha"));
  EXPECT_EQ(placed->min_free_bytes(), 0U);
  ASSERT_EQ(placed->more_size(), 1);
  EXPECT_THAT(placed->more(0).visible_hosts(), ElementsAre("alpha", "beta"));
  EXPECT_EQ(placed->more(0).total_bytes(), placed->total_bytes());
  fs::remove(temp_.Sub("second/plimsoll-0a1b/beta"));
  const auto prepared = Prepare();
  ASSERT_THAT(prepared, IsOk());
  ASSERT_EQ(prepared->more_size(), 1);
  EXPECT_EQ(prepared->more(0).directory(), second);
  EXPECT_EQ(prepared->prepared_bytes(), 2 * (kLogBytes + kQueues * kQueueBytes + kMiB));
  v1::RestartTrial trial = Undo(10, 1);
  trial.set_side(1);
  Complete(trial);
  Release();
  EXPECT_EQ(released_files_, 2U * 14);
}

TEST_F(RestartWorkTest, ProgressRisesWithEveryCallAndEveryFileThatIsRemoved) {
  ASSERT_THAT(Create(), IsOk());
  EXPECT_EQ(work_->State(), "preparing");
  uint64_t before = work_->Progress();
  ASSERT_THAT(Prepare(), IsOk());
  // The pieces of 14 files, and the fdatasync of each.
  EXPECT_GE(work_->Progress(), before + 28);
  EXPECT_EQ(work_->State(), "ready");
  before = work_->Progress();
  Complete(Undo(100, 1));
  EXPECT_GE(work_->Progress(), before + 201);
  EXPECT_THAT(work_->InFlight(0), IsEmpty());
  before = work_->Progress();
  work_->Stop("over");
  ASSERT_TRUE(work_->WaitIdle(kNsPerSecond));
  EXPECT_EQ(work_->Release(false).removed_files(), 14U);
  EXPECT_EQ(work_->Progress(), before + 14);
}

TEST_F(RestartWorkTest, KeepsTheFilesIfTheSessionSaysSo) {
  CreateAndPrepare();
  work_->Stop("over");
  ASSERT_TRUE(work_->WaitIdle(kNsPerSecond));
  const v1::Released released = work_->Release(true);
  EXPECT_EQ(released.removed_files(), 0U);
  EXPECT_EQ(released.left_behind(), "");
  work_.reset();
  EXPECT_TRUE(fs::exists(PathOf("qm1/queues/queue1")));
  fs::remove_all(temp_.Sub("first/plimsoll-0a1b"));
}

TEST_F(RestartWorkTest, WhatCannotBeRemovedIsReportedForEachDirectory) {
  restart().add_dirs(temp_.MakeDirectory("second"));
  CreateAndPrepare();
  for (const char* const dir : {"first", "second"}) {
    WriteText(temp_.Sub(std::string(dir) + "/plimsoll-0a1b/alpha/qm1/queues/stranger"), "not of the run");
  }
  work_->Stop("over");
  ASSERT_TRUE(work_->WaitIdle(kNsPerSecond));
  EXPECT_THAT(work_->Release(false).left_behind(),
              AllOf(HasSubstr("first/plimsoll-0a1b/alpha/qm1/queues holds 'stranger'"), HasSubstr("; "),
                    HasSubstr("second/plimsoll-0a1b/alpha/qm1/queues holds 'stranger'")));
  work_.reset();
  for (const char* const dir : {"first", "second"}) fs::remove_all(temp_.Sub(std::string(dir) + "/plimsoll-0a1b"));
}

TEST_F(RestartWorkTest, WhatAKilledAgentLeftIsRemovedByItsSuccessor) {
  EXPECT_EQ(InChild([this] {
              CreateAndPrepare();
              if (HasFailure() || Run(Undo(10, 1)).code() != 0) return kBroken;
              // The process ends without its destructor, as if it was killed.
              return work_.release() == nullptr ? kBroken : kHeld;
            }),
            kHeld);
  EXPECT_TRUE(fs::exists(PathOf("qm1/queues/queue1")));
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(temp_.Sub("first/plimsoll-0a1b/alpha")));
}

TEST_F(RestartWorkTest, AStopBeforeFillingEndsIt) {
  ASSERT_THAT(Create(), IsOk());
  work_->Stop("interrupted");
  EXPECT_THAT(Prepare(), StatusIs(StatusCode::kCancelled, "stopped while preparing"));
  EXPECT_FALSE(fs::exists(PathOf("qm1")));
  EXPECT_THAT(Order(Undo(1, 1)), StatusIs(StatusCode::kFailedPrecondition, "was stopped"));
}

TEST_F(RestartWorkTest, AStopWhileFillingEndsItAndNothingIsLeft) {
  ASSERT_THAT(Create(), IsOk());
  const auto prepared = work_->Prepare([this](uint64_t done, uint64_t /*total*/) {
    if (done > 0) work_->Stop("interrupted");
  });
  EXPECT_THAT(prepared, StatusIs(StatusCode::kCancelled, "stopped while preparing"));
  Release();
}

TEST_F(RestartWorkTest, NothingIsWrittenOnceTheLeaseHasExpired) {
  ASSERT_THAT(Create(), IsOk());
  lease_deadline_ns_ = MonotonicNowNs();
  EXPECT_THAT(Prepare(), StatusIs(StatusCode::kDeadlineExceeded, "no message from the controller"));
  EXPECT_FALSE(fs::exists(PathOf("qm1")));
}

TEST_F(RestartWorkTest, ATrialAfterTheEndOfTheLeaseMakesNoCall) {
  CreateAndPrepare();
  const std::string page = ReadPage(PathOf("qm1/queues/queue1"), 65);
  lease_deadline_ns_ = MonotonicNowNs();
  const v1::RestartTrialDone done = Run(Undo(10, 1));
  EXPECT_EQ(done.code(), kExpired);
  EXPECT_EQ(done.message(), "lease expired while measuring: no message from the controller");
  EXPECT_FALSE(done.has_queue_reads());
  EXPECT_EQ(ReadPage(PathOf("qm1/queues/queue1"), 65), page);
}

TEST_F(RestartWorkTest, AFailedCallIsReportedWithFileAndCall) {
  CreateAndPrepare();
  // No file may grow or be written beyond this size: writes fail with EFBIG.
  const FileSizeLimit limit(kPage);
  const v1::RestartTrialDone done = Run(Undo(10, 1));
  EXPECT_NE(done.code(), 0);
  EXPECT_THAT(done.message(), AllOf(StartsWith("pwritev2 " + PathOf("qm1/queues/queue")), HasSubstr("File too large")));
  EXPECT_EQ(done.queue_reads().count(), 1U);
  EXPECT_FALSE(done.has_queue_writes());
}

TEST_F(RestartWorkTest, DropsTheCachesOfTheHostIfThePlanSaysSo) {
  const std::string path = temp_.Sub("drop_caches");
  WriteText(path, "");
  ASSERT_THAT(Create(/*allow_drop_caches=*/true, path), IsOk());
  ASSERT_THAT(Prepare(), IsOk());
  Complete(Undo(10, 1));
  EXPECT_EQ(ReadText(path), "");
  Release();
  restart().set_drop_caches(true);
  ASSERT_THAT(Create(/*allow_drop_caches=*/true, path), IsOk());
  ASSERT_THAT(Prepare(), IsOk());
  Complete(Undo(10, 1));
  EXPECT_EQ(ReadText(path), "1");
  fs::remove(path);
  const v1::RestartTrialDone done = Run(Undo(10, 1));
  EXPECT_EQ(done.code(), static_cast<int>(StatusCode::kNotFound));
  EXPECT_THAT(done.message(), StartsWith("open " + path));
}

TEST_F(HeldTrialTest, OneTrialRunsAtATime) {
  const v1::RestartTrial first = Undo(10, 1);
  const v1::RestartTrial second = Undo(10, 1);
  ASSERT_THAT(Order(first), IsOk());
  EXPECT_EQ(work_->State(), "running");
  EXPECT_THAT(Order(second),
              StatusIs(StatusCode::kFailedPrecondition, "trial 1 is still running; trial 2 must wait for its end"));
  EXPECT_FALSE(work_->WaitIdle(kNsPerMs));
  LetGo();
  EXPECT_EQ(sink_.Await(1).code(), 0);
  ASSERT_TRUE(work_->WaitIdle(60 * kNsPerSecond));
  EXPECT_EQ(work_->State(), "ready");
  // The pipe has a reader now.
  EXPECT_EQ(Run(second).code(), 0);
}

TEST_F(HeldTrialTest, AStopEndsTheTrialAsCancelledAndNothingIsLeft) {
  const std::string page = ReadPage(PathOf("qm1/queues/queue1"), 65);
  const v1::RestartTrial trial = Undo(10, 1);
  ASSERT_THAT(Order(trial), IsOk());
  work_->Stop("interrupted");
  EXPECT_THAT(work_->State(), AnyOf("draining", "ready"));
  // The trial may have found the stop before it came to the pipe.
  const UniqueFd reader(open(pipe_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const v1::RestartTrialDone done = sink_.Await(trial.trial());
  EXPECT_EQ(done.code(), kCancelled);
  EXPECT_EQ(done.message(), "stopped while measuring");
  EXPECT_FALSE(done.has_queue_reads());
  EXPECT_EQ(ReadPage(PathOf("qm1/queues/queue1"), 65), page);
  EXPECT_THAT(Order(Undo(10, 1)), StatusIs(StatusCode::kFailedPrecondition, "was stopped"));
  Release();
  EXPECT_EQ(released_files_, 14U);
  EXPECT_TRUE(fs::is_empty(temp_.Sub("first")));
}

TEST_F(HeldTrialTest, TheEndOfTheLeaseEndsATrialThatRuns) {
  const v1::RestartTrial trial = Undo(10, 1);
  ASSERT_THAT(Order(trial), IsOk());
  lease_deadline_ns_ = MonotonicNowNs();
  const UniqueFd reader(open(pipe_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  EXPECT_EQ(sink_.Await(trial.trial()).code(), kExpired);
}

}  // namespace
}  // namespace plimsoll
