// The agent's side of checking a shared file system, with real processes, locks and files.
#include "agent/fsck/fsck_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "agent/fsck/fsck_operations.h"
#include "agent/fsck/fsck_process.h"
#include "common/clock.h"
#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr int64_t kLongNs = 60 * kNsPerSecond;

// Keeps the answers, by id.
class AnswerSink final : public WorkSink {
 public:
  void OnFrames(v1::FrameBatch /*frames*/) override {}
  void OnStepDone(v1::StepDone /*done*/) override {}
  void OnFault(v1::Fault /*fault*/) override {}
  void OnMessage(v1::AgentMessage message) override {
    const MutexLock lock(mutex_);
    answers_[message.check_answer().id()] = message.check_answer();
    changed_.NotifyAll();
  }
  v1::CheckAnswer Await(uint64_t id) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLongNs);
    const MutexLock lock(mutex_);
    while (answers_.count(id) == 0) {
      if (!changed_.WaitUntil(mutex_, deadline)) {
        ADD_FAILURE() << "no answer to command " << id;
        return {};
      }
    }
    return answers_[id];
  }
  bool Has(uint64_t id) {
    const MutexLock lock(mutex_);
    return answers_.count(id) != 0;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, v1::CheckAnswer> answers_ ABSL_GUARDED_BY(mutex_);
};

// Ids of this process's children that run.
std::set<int> Children() {
  std::set<int> children;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (int pid = 0; list >> pid;) children.insert(pid);
  }
  return children;
}

// One host of a check.
struct TestHost {
  AnswerSink sink;
  std::atomic<int64_t> deadline_ns{std::numeric_limits<int64_t>::max()};
  std::unique_ptr<FsckWork> work;
  uint64_t next_id = 0;

  uint64_t Send(uint32_t process, v1::CheckCommand command, int64_t timeout_ns = kLongNs) {
    command.set_process(process);
    command.set_timeout_ns(timeout_ns);
    v1::Command envelope;
    envelope.set_id(++next_id);
    *envelope.mutable_check() = std::move(command);
    EXPECT_THAT(work->Do(envelope), IsOk());
    return next_id;
  }
  v1::CheckAnswer Ask(uint32_t process, v1::CheckCommand command, int64_t timeout_ns = kLongNs) {
    return sink.Await(Send(process, std::move(command), timeout_ns));
  }
  void Start(uint32_t process) {
    v1::CheckCommand command;
    command.mutable_start();
    const v1::CheckAnswer answer = Ask(process, command);
    EXPECT_EQ(answer.code(), 0) << answer.message();
  }
  v1::CheckAnswer Kill(uint32_t process) {
    v1::CheckCommand command;
    command.mutable_kill();
    return Ask(process, command);
  }
  v1::CheckAnswer Open(uint32_t process, const std::string& host, uint32_t file, bool direct = false) {
    v1::CheckCommand command;
    command.mutable_open()->set_host(host);
    command.mutable_open()->set_file(file);
    command.mutable_open()->set_direct(direct);
    command.mutable_open()->set_dsync(direct);
    return Ask(process, command);
  }
  v1::CheckAnswer Lock(uint32_t process, v1::CheckLock::Kind kind, int64_t limit_ns = 0) {
    return Ask(process, LockCommand(kind, limit_ns));
  }
  static v1::CheckCommand LockCommand(v1::CheckLock::Kind kind, int64_t limit_ns = 0) {
    v1::CheckCommand command;
    command.mutable_lock()->set_kind(kind);
    command.mutable_lock()->set_length(1);
    command.mutable_lock()->set_limit_ns(limit_ns);
    return command;
  }
  v1::CheckAnswer Read(uint32_t process, uint32_t pages) {
    v1::CheckCommand command;
    command.mutable_read()->set_count(pages);
    return Ask(process, command);
  }
};

class FsckWorkTest : public ::testing::Test {
 protected:
  FsckWorkTest() : sandbox_(*Sandbox::Create({temp_.path()}, "00000000000000aa")) {
    Make(alpha_, "alpha", 0);
    Make(beta_, "beta", 1);
  }
  ~FsckWorkTest() override {
    for (TestHost* host : {&alpha_, &beta_}) {
      if (host->work == nullptr) continue;
      host->work->Stop("over");
      EXPECT_TRUE(host->work->WaitIdle(kLongNs));
      EXPECT_EQ(host->work->Release(false).left_behind(), "");
      host->work.reset();
    }
    EXPECT_TRUE(fs::is_empty(temp_.path()));
    EXPECT_THAT(Children(), ::testing::IsEmpty());
  }

  v1::HostPlan Plan(const std::string& label, uint32_t index) const {
    v1::HostPlan plan;
    plan.set_run_id("0a");
    plan.set_run_token("0123456789abcdef");
    plan.set_host_label(label);
    plan.set_host_index(index);
    plan.mutable_check()->set_dir(temp_.path());
    plan.mutable_check()->set_files(3);
    plan.mutable_check()->set_pages(8);
    plan.mutable_check()->set_processes(3);
    return plan;
  }
  void Make(TestHost& host, const std::string& label, uint32_t index) {
    auto work = FsckWork::Create(Plan(label, index), *sandbox_, host.deadline_ns, host.sink);
    ASSERT_THAT(work, IsOk());
    host.work = *std::move(work);
    ASSERT_THAT(host.work->Prepare([](uint64_t, uint64_t) {}), IsOk());
  }
  std::string FileOf(const std::string& label, uint32_t number) const {
    return temp_.Sub("plimsoll-0a/" + label + "/" + FsckFileName(number));
  }

  tests::TempDirectory temp_;
  std::unique_ptr<Sandbox> sandbox_;
  TestHost alpha_;
  TestHost beta_;
};

TEST_F(FsckWorkTest, TheLockOfOneProcessIsRefusedToOthersAndGoesWithIt) {
  alpha_.Start(1);
  beta_.Start(1);
  EXPECT_EQ(alpha_.Open(1, "alpha", 0).code(), 0);
  EXPECT_EQ(beta_.Open(1, "alpha", 0).code(), 0);
  EXPECT_TRUE(alpha_.Lock(1, v1::CheckLock::KIND_TRY).granted());
  EXPECT_FALSE(beta_.Lock(1, v1::CheckLock::KIND_TRY).granted());
  EXPECT_FALSE(beta_.Lock(1, v1::CheckLock::KIND_TEST).granted());
  const uint64_t waiting = beta_.Send(1, TestHost::LockCommand(v1::CheckLock::KIND_WAIT, kLongNs));
  const v1::CheckAnswer killed = alpha_.Kill(1);
  EXPECT_EQ(killed.code(), 0) << killed.message();
  const v1::CheckAnswer granted = beta_.sink.Await(waiting);
  EXPECT_TRUE(granted.granted());
  EXPECT_GE(granted.ended_ns(), killed.started_ns());
}

TEST_F(FsckWorkTest, AWaiterThatIsNotGrantedTheLockGivesUpAtItsLimit) {
  alpha_.Start(1);
  alpha_.Start(2);
  alpha_.Open(1, "alpha", 0);
  alpha_.Open(2, "alpha", 0);
  EXPECT_TRUE(alpha_.Lock(1, v1::CheckLock::KIND_TRY).granted());
  for (const auto kind : {v1::CheckLock::KIND_WAIT, v1::CheckLock::KIND_POLL}) {
    const v1::CheckAnswer answer = alpha_.Lock(2, kind, 50 * kNsPerMs);
    EXPECT_EQ(answer.code(), 0) << answer.message();
    EXPECT_FALSE(answer.granted());
    EXPECT_GE(answer.ended_ns() - answer.started_ns(), 50 * kNsPerMs);
  }
  // It takes operations again.
  EXPECT_EQ(alpha_.Read(2, 1).code(), 0);
}

TEST_F(FsckWorkTest, ACallThatDoesNotReturnIsAnsweredForAndItsProcessCanBeKilled) {
  alpha_.Start(1);
  alpha_.Start(2);
  alpha_.Open(1, "alpha", 0);
  alpha_.Open(2, "alpha", 0);
  alpha_.Lock(1, v1::CheckLock::KIND_TRY);
  const v1::CheckAnswer answer =
      alpha_.Ask(2, TestHost::LockCommand(v1::CheckLock::KIND_WAIT, 10 * kLongNs), 30 * kNsPerMs);
  EXPECT_EQ(answer.code(), static_cast<int>(StatusCode::kDeadlineExceeded));
  ASSERT_EQ(alpha_.work->InFlight(0).size(), 1U);
  EXPECT_EQ(alpha_.Kill(2).code(), 0);
  EXPECT_EQ(alpha_.Kill(1).code(), 0);
  EXPECT_THAT(alpha_.work->InFlight(0), ::testing::IsEmpty());
}

TEST_F(FsckWorkTest, AKilledStreamReportsWhatWasAcknowledgedAndThatIsThere) {
  beta_.Start(1);
  EXPECT_EQ(beta_.Open(1, "alpha", 1, true).code(), 0);
  v1::CheckCommand command;
  command.mutable_stream()->add_handles(0);
  command.mutable_stream()->set_pages(4);
  command.mutable_stream()->set_epoch(7);
  command.mutable_stream()->set_limit_ns(kLongNs);
  const uint64_t stream = beta_.Send(1, command);
  alpha_.Start(1);
  EXPECT_EQ(alpha_.Open(1, "alpha", 1, true).code(), 0);
  uint64_t seen = 0;
  while (seen < 8 && !beta_.sink.Has(stream)) seen = std::max(seen, alpha_.Read(1, 1).pages(0).sequence());
  const v1::CheckAnswer killed = beta_.Kill(1);
  EXPECT_EQ(beta_.sink.Await(stream).code(), static_cast<int>(StatusCode::kAborted));
  ASSERT_GE(killed.acknowledged() + 1, seen);
  const v1::CheckAnswer read = alpha_.Read(1, 4);
  for (const v1::CheckPage& page : read.pages()) {
    EXPECT_EQ(page.state(), v1::CHECK_PAGE_STATE_WHOLE);
    EXPECT_EQ(page.host(), 1U);
    EXPECT_EQ(page.epoch(), 7U);
    EXPECT_EQ((page.sequence() - 1) % 4, page.page());
    EXPECT_GT(page.sequence() + 4, killed.acknowledged());
  }
}

TEST_F(FsckWorkTest, ReplacesAFileByRenamingAndRemovesTheNewOne) {
  alpha_.Start(1);
  v1::CheckCommand command;
  command.mutable_replace()->set_target(2);
  command.mutable_replace()->set_sequence(1);
  command.mutable_replace()->set_rounds(5);
  const v1::CheckAnswer answer = alpha_.Ask(1, command);
  EXPECT_EQ(answer.code(), 0) << answer.message();
  EXPECT_EQ(answer.acknowledged(), 5U);
  beta_.Start(1);
  v1::CheckCommand look;
  look.mutable_look()->set_host("alpha");
  look.mutable_look()->set_file(2);
  const v1::CheckAnswer looked = beta_.Ask(1, look);
  ASSERT_EQ(looked.sights_size(), 1) << looked.message();
  EXPECT_EQ(looked.sights(0).first().sequence(), 5U);
  EXPECT_FALSE(fs::exists(FileOf("alpha", 3)));
}

TEST_F(FsckWorkTest, WhatAKilledReplacementLeftIsRemoved) {
  tests::WriteText(FileOf("alpha", 3), "");
  alpha_.work->Stop("over");
  ASSERT_TRUE(alpha_.work->WaitIdle(kLongNs));
  EXPECT_EQ(alpha_.work->Release(false).left_behind(), "");
  EXPECT_FALSE(fs::exists(temp_.Sub("plimsoll-0a/alpha")));
}

TEST_F(FsckWorkTest, OpensOnlyRegularFilesWithOneNameThatCarryTheToken) {
  beta_.Start(1);
  EXPECT_EQ(beta_.Open(1, "alpha", 0).code(), 0);
  fs::create_hard_link(FileOf("alpha", 0), temp_.Sub("second"));
  EXPECT_THAT(beta_.Open(1, "alpha", 0).message(), HasSubstr("has more than one name"));
  fs::remove(temp_.Sub("second"));
  EXPECT_EQ(beta_.Open(1, "alpha", 0).code(), 0);
  // Somebody's file in the place of one of the run's; a link; a missing one; a way out.
  const std::string file = FileOf("alpha", 1);
  fs::rename(file, temp_.Sub("kept"));
  tests::WriteText(file, std::string(8192, 'x'));
  EXPECT_THAT(beta_.Open(1, "alpha", 1).message(), HasSubstr("does not carry the run's token"));
  fs::remove(file);
  fs::create_symlink(temp_.Sub("kept"), file);
  EXPECT_THAT(beta_.Open(1, "alpha", 1).message(), HasSubstr("is not a regular file"));
  fs::remove(file);
  EXPECT_EQ(beta_.Open(1, "alpha", 1).code(), static_cast<int>(StatusCode::kNotFound));
  fs::rename(temp_.Sub("kept"), file);
  EXPECT_EQ(beta_.Open(1, "..", 1).code(), static_cast<int>(StatusCode::kInvalidArgument));
}

TEST_F(FsckWorkTest, AFileThatLostItsFirstPageIsDistinguishedFromOneOfSomebodyElse) {
  beta_.Start(1);
  const std::string file = FileOf("alpha", 1);
  for (const std::string& left : {std::string(8192, '\0'), std::string()}) {
    tests::WriteText(file, left);
    const v1::CheckAnswer opened = beta_.Open(1, "alpha", 1);
    EXPECT_EQ(opened.code(), static_cast<int>(StatusCode::kDataLoss)) << left.size();
    EXPECT_THAT(opened.message(), HasSubstr("its first page is empty"));
  }
  tests::WriteText(file, std::string(8192, 'x'));
  EXPECT_EQ(beta_.Open(1, "alpha", 1).code(), static_cast<int>(StatusCode::kPermissionDenied));
}

TEST_F(FsckWorkTest, ProcessesEndWithTheLease) {
  alpha_.Start(1);
  alpha_.Open(1, "alpha", 0, true);
  v1::CheckCommand command;
  command.mutable_stream()->add_handles(0);
  command.mutable_stream()->set_pages(1);
  command.mutable_stream()->set_limit_ns(kLongNs);
  const uint64_t stream = alpha_.Send(1, command);
  alpha_.deadline_ns = SystemClock::Read().value;
  // Killed, or refused the next write, whichever comes first.
  const int code = alpha_.sink.Await(stream).code();
  EXPECT_THAT(code, ::testing::AnyOf(static_cast<int>(StatusCode::kAborted), static_cast<int>(StatusCode::kCancelled)));
  v1::CheckCommand read;
  read.mutable_read()->set_count(1);
  EXPECT_NE(alpha_.Ask(1, read).code(), 0);
}

TEST(FsckPage, ItsBytesAreTheSameOnEveryMachine) {
  FsckPageBytes page;
  FillFsckPage({{}, 0x01020304, 5, 6, 7, 0x1122334455667788}, page);
  const std::string payload(reinterpret_cast<const char*>(page.bytes.data()) + kStampBytes, 16);
  EXPECT_EQ(absl::BytesToHexString(payload), "9270f124f39cd8f1f9b8aa192cd15f01");
}

TEST_F(FsckWorkTest, TakesNoMoreProcessesThanWereAskedForAndNoOtherCommand) {
  for (uint32_t process = 1; process <= 3; ++process) alpha_.Start(process);
  v1::CheckCommand start;
  start.mutable_start();
  EXPECT_EQ(alpha_.Ask(4, start).code(), static_cast<int>(StatusCode::kResourceExhausted));
  v1::Command command;
  command.mutable_stop_trace();
  EXPECT_THAT(alpha_.work->Do(command), StatusIs(StatusCode::kUnimplemented, "does not support this command"));
  EXPECT_EQ(alpha_.Read(9, 1).code(), static_cast<int>(StatusCode::kNotFound));
}

TEST_F(FsckWorkTest, PlansThatAskForTooMuchAreRefusedBeforeAnythingIsMade) {
  v1::HostPlan plan = Plan("gamma", 2);
  plan.mutable_check()->set_files(1001);
  EXPECT_THAT(FsckWork::Create(plan, *sandbox_, alpha_.deadline_ns, alpha_.sink).status(),
              StatusIs(StatusCode::kInvalidArgument, "at most 1000 files"));
  const WorkDemand demand = FsckWork::Kind(*sandbox_).demand_of(Plan("gamma", 2));
  EXPECT_EQ(demand.bytes.value, 4U * 9 * 4096);
  EXPECT_EQ(demand.threads.value, 3U);
  EXPECT_FALSE(fs::exists(temp_.Sub("plimsoll-0a/gamma")));
}

}  // namespace
}  // namespace plimsoll

// The processes of a check are started from the program itself.
int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == plimsoll::kFsckProcessOption) {
    return plimsoll::RunFsckProcess(std::atoi(argv[2]));
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
