// Checkpoints, the verification of a lock, messages, and files that another host made.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "agent/ha/ha_setup.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/instance_locks.h"
#include "agent/ha/log_upkeep.h"
#include "agent/ha/qm_files.h"
#include "agent/host/sandbox.h"
#include "agent/writer/file_env.h"
#include "common/units.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

constexpr std::array<uint8_t, 16> kToken = {1, 2, 3};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    WriteText(path_, std::string(kCheckpointBytes, '\0'));
    fd_ = UniqueFd(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  }
  CheckpointFile File(uint32_t qm = 1) { return {fd_.get(), path_, kToken, qm}; }

  TempDirectory directory_;
  const std::string path_ = directory_.Sub("checkpoint");
  UniqueFd fd_;
};

TEST_F(CheckpointTest, TheNewestRecordCounts) {
  CheckpointFile file = File();
  ASSERT_THAT(file.Read(), IsOk());
  EXPECT_EQ(file.Read()->epoch, 0U);
  for (uint64_t generation = 1; generation <= 5; ++generation) {
    ASSERT_THAT(file.Write({1, generation, 3, generation * 100}), IsOk());
    EXPECT_EQ(file.Read()->sequence, generation * 100);
  }
  ASSERT_THAT(file.Write({2, 6, 4, 500}), IsOk());
  EXPECT_EQ(file.Read()->epoch, 2U);
  EXPECT_EQ(file.Read()->host_index, 4U);
}

// The two hosts of a pair may be of either byte order.
TEST(CheckpointPage, KeepsItsLayout) {
  std::array<std::byte, kStampedPageBytes> page;
  FormatCheckpoint(kToken, 5, {2, 6, 4, 0x0102030405060708}, page);
  const std::string bytes(reinterpret_cast<const char*>(page.data()), page.size());
  // Host, queue manager, epoch, place, generation.
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(24, 24)), "040000000500000002000000010000000600000000000000");
  EXPECT_EQ(absl::BytesToHexString(bytes.substr(kStampBytes, 16)), "08070605040302010000000000000000");
}

TEST_F(CheckpointTest, ATornRecordLeavesTheOneBefore) {
  CheckpointFile file = File();
  ASSERT_THAT(file.Write({1, 1, 3, 100}), IsOk());
  ASSERT_THAT(file.Write({1, 2, 3, 200}), IsOk());
  const CheckpointRecord torn{1, 3, 3, 300};
  const auto offset = static_cast<off_t>((SlotOf(torn) + 1) * kStampedPageBytes);
  ASSERT_EQ(pwrite(fd_.get(), "torn", 4, offset), 4);
  EXPECT_EQ(file.Read()->sequence, 200U);
}

TEST_F(CheckpointTest, ALateRecordOfTheInstanceThatWasReplacedDestroysNothing) {
  CheckpointFile file = File();
  ASSERT_THAT(file.Write({1, 1, 3, 100}), IsOk());
  ASSERT_THAT(file.Write({2, 2, 4, 100}), IsOk());
  ASSERT_THAT(file.Write({2, 3, 4, 200}), IsOk());
  for (uint64_t generation = 2; generation <= 5; ++generation) {
    ASSERT_THAT(file.Write({1, generation, 3, 150}), IsOk());
  }
  EXPECT_EQ(file.Read()->epoch, 2U);
  EXPECT_EQ(file.Read()->sequence, 200U);
}

TEST_F(CheckpointTest, RecordsOfAnotherLogDoNotCount) {
  ASSERT_THAT(File(2).Write({5, 1, 3, 100}), IsOk());
  EXPECT_EQ(File(1).Read()->epoch, 0U);
}

TEST_F(CheckpointTest, AFileThatWasCutOffIsAnError) {
  ASSERT_EQ(ftruncate(fd_.get(), kStampedPageBytes), 0);
  EXPECT_TRUE(absl::IsDataLoss(File().Read().status()));
}

class LockVerificationTest : public ::testing::Test {
 protected:
  LockVerificationTest() {
    WriteText(path_, std::string(2 * kStampedPageBytes, '\0'));
    fd_ = UniqueFd(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  }

  TempDirectory directory_;
  const std::string path_ = directory_.Sub("active");
  UniqueFd fd_;
  const std::atomic<int64_t> never_{INT64_MAX};
};

TEST_F(LockVerificationTest, NothingIsWrittenAfterTheLease) {
  const std::atomic<int64_t> over{MonotonicNowNs()};
  LockVerification verification(fd_.get(), path_, {kToken, 1, 1, 1}, kNsPerSecond, over);
  EXPECT_TRUE(absl::IsDeadlineExceeded(verification.Verify()));
  std::string bytes(2 * kStampedPageBytes, 'x');
  ASSERT_EQ(pread(fd_.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(bytes, std::string(2 * kStampedPageBytes, '\0'));
}

TEST_F(LockVerificationTest, AnInstanceNoticesThatALaterEpochHasWritten) {
  LockVerification old_one(fd_.get(), path_, {kToken, 1, 1, 1}, kNsPerSecond, never_);
  LockVerification new_one(fd_.get(), path_, {kToken, 1, 2, 2}, kNsPerSecond, never_);
  EXPECT_THAT(old_one.Verify(), IsOk());
  EXPECT_THAT(new_one.Verify(), IsOk());
  const absl::Status lost = old_one.Verify();
  EXPECT_TRUE(absl::IsAborted(lost));
  EXPECT_THAT(std::string(lost.message()), HasSubstr("epoch 2"));
  EXPECT_THAT(new_one.Verify(), IsOk());
}

TEST_F(LockVerificationTest, TwoInstancesOfOneEpochNoticeOneAnother) {
  LockVerification one(fd_.get(), path_, {kToken, 1, 1, 5}, kNsPerSecond, never_);
  LockVerification other(fd_.get(), path_, {kToken, 1, 2, 5}, kNsPerSecond, never_);
  EXPECT_THAT(one.Verify(), IsOk());
  EXPECT_THAT(one.Verify(), IsOk());
  EXPECT_TRUE(absl::IsAborted(other.Verify()));
}

TEST_F(LockVerificationTest, AnErrorOfTheStorageIsALostLock) {
  const UniqueFd read_only(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  LockVerification verification(read_only.get(), path_, {kToken, 1, 1, 1}, kNsPerSecond, never_);
  EXPECT_FALSE(verification.Verify().ok());
}

TEST(MessageChannelTest, MessagesArriveWholeInWhateverPiecesTheyAreRead) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd near(pair[0]);
  UniqueFd far(pair[1]);
  std::vector<v1::HaLedgerEntry> received;
  std::thread reader([&] {
    MessageReader messages;
    std::array<char, 7> piece{};
    while (true) {
      const ssize_t size = recv(near.get(), piece.data(), piece.size(), 0);
      if (size <= 0) return;
      messages.Append(piece.data(), static_cast<size_t>(size));
      v1::HaLedgerEntry entry;
      while (messages.Next(entry).value()) received.push_back(entry);
    }
  });
  MessageSender sender(far.get());
  for (uint64_t i = 0; i < 1'000; ++i) {
    v1::HaLedgerEntry entry;
    entry.set_last_sequence(i * 1'000'003);
    ASSERT_THAT(sender.Send(entry), IsOk());
  }
  far.Reset();
  reader.join();
  ASSERT_EQ(received.size(), 1'000U);
  EXPECT_EQ(received.back().last_sequence(), uint64_t{999} * 1'000'003);
}

TEST(MessageChannelTest, APeerThatDoesNotReadHoldsNobodyUpWhoIsAboutToEnd) {
  std::array<int, 2> pair{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const UniqueFd near(pair[0]);
  const UniqueFd far(pair[1]);
  MessageSender sender(far.get());
  v1::HaStarted large;
  large.set_open_flags(std::string(size_t{4} << 20U, 'x'));
  EXPECT_TRUE(absl::IsDeadlineExceeded(sender.SendWithin(large, kNsPerMs)));
}

TEST(MessageChannelTest, AStreamThatIsNoneIsAnError) {
  MessageReader messages;
  messages.Append("\xff\xff\xff\xff", 4);
  v1::HaStarted message;
  EXPECT_TRUE(absl::IsInvalidArgument(messages.Next(message).status()));
}

TEST(InstanceBoardTest, TheMomentsBelongToTheLastCompletedWrite) {
  UniqueFd fd;
  const auto board = BoardMapping::Create(fd);
  ASSERT_THAT(board, IsOk());
  EXPECT_FALSE(LastCompleted(**board).has_value());
  const auto seen = BoardMapping::Open(fd.get());
  ASSERT_THAT(seen, IsOk());
  std::thread writer([&] {
    for (uint64_t sequence = 1; sequence <= 200'000; ++sequence) {
      InstanceBoard::Moments& moments = (*board)->moments[sequence % InstanceBoard::kMoments];
      moments.start_ns.store(static_cast<int64_t>(sequence) * 10, std::memory_order_relaxed);
      moments.end_ns.store(static_cast<int64_t>(sequence) * 10 + 5, std::memory_order_relaxed);
      (*board)->completed.store(sequence, std::memory_order_release);
    }
  });
  uint64_t last = 0;
  while (last < 200'000) {
    const auto write = LastCompleted(**seen);
    if (!write.has_value()) continue;
    ASSERT_EQ(write->start_ns, static_cast<int64_t>(write->sequence) * 10);
    ASSERT_EQ(write->end_ns, static_cast<int64_t>(write->sequence) * 10 + 5);
    last = write->sequence;
  }
  writer.join();
}

class LedgerTest : public ::testing::Test {
 protected:
  // The next write of the instance.
  void Complete(int64_t end_ns) {
    InstanceBoard::Moments& moments = board_->moments[++completed_ % InstanceBoard::kMoments];
    moments.start_ns.store(end_ns - 5'000);
    moments.end_ns.store(end_ns);
    board_->completed.store(completed_);
  }
  // The entries that have left the instance since the last call.
  std::vector<v1::HaLedgerEntry> Received() {
    std::array<char, 4096> piece{};
    const ssize_t size = recv(sockets_[1].get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size > 0) messages_.Append(piece.data(), static_cast<size_t>(size));
    std::vector<v1::HaLedgerEntry> entries;
    v1::AgentMessage message;
    while (messages_.Next(message).value()) {
      EXPECT_EQ(message.ha().ledger_size(), 1);
      entries.push_back(message.ha().ledger(0));
    }
    return entries;
  }

  static std::array<UniqueFd, 2> SocketPair() {
    std::array<int, 2> pair{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
    return {UniqueFd(pair[0]), UniqueFd(pair[1])};
  }

  const std::array<UniqueFd, 2> sockets_ = SocketPair();  // of the instance, and of its agent
  MessageSender sender_{sockets_[0].get()};
  MessageReader messages_;
  InstanceReporter reporter_{sender_, 1, 1};
  UniqueFd fd_;
  const BoardMapping board_ = *BoardMapping::Create(fd_);
  uint64_t completed_ = 0;
  Ledger ledger_{*board_, reporter_, 0};
};

// The thread that flushes wakes every kTickNs by its own clock; writes complete in between, as often as they like.
TEST_F(LedgerTest, AnEntryLeavesAtMostTwoMillisecondsAfterTheFirstCompletionThatItReports) {
  const auto seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  constexpr int64_t kPromisedNs = 2 * kNsPerMs;
  std::vector<int64_t> completions;  // of sequence 1 and on
  int64_t next_completion_ns = 1'000;
  int64_t now_ns = 0;
  uint64_t told = 0;
  for (int wake = 0; wake < 2'000; ++wake) {
    now_ns += Ledger::kTickNs;
    for (; next_completion_ns <= now_ns; next_completion_ns += 10'000 + static_cast<int64_t>(random() % 3'000'000)) {
      completions.push_back(next_completion_ns);
      Complete(next_completion_ns);
    }
    ledger_.Flush([&] { return now_ns; });
    for (const v1::HaLedgerEntry& entry : Received()) {
      EXPECT_EQ(entry.first_sequence(), told + 1);
      told = entry.last_sequence();
      EXPECT_LE(entry.sent_ns() - completions.at(entry.first_sequence() - 1), kPromisedNs);
      EXPECT_EQ(entry.last_end_ns(), completions.at(told - 1));
    }
    ASSERT_EQ(told, completions.size()) << "what has completed by a wake-up is told at it";
  }
}

TEST_F(LedgerTest, AnEntryLeavesAfterTheWritesThatItNames) {
  Complete(1'000'000);
  // The writer goes on while the clock is read.
  ledger_.Flush([&] {
    Complete(2'000'145);
    return int64_t{2'000'000};
  });
  const std::vector<v1::HaLedgerEntry> entries = Received();
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries[0].last_end_ns(), 1'000'000);
  EXPECT_EQ(entries[0].sent_ns(), 2'000'000);
}

// A directory that an agent shares, and another agent's sandbox over it.
class SharedFileTest : public ::testing::Test {
 protected:
  SharedFileTest() {
    maker_ = *Sandbox::Create({root_}, "maker");
    opener_ = *Sandbox::Create({root_}, "opener");
    made_ = *maker_->MakeRunDirectory(root_, "abc", kToken, "alpha", /*shared=*/true);
    Make("qm1/active/S0000000.LOG", ExtentPage(kToken));
  }
  void Make(const std::string& name, const std::string& content) {
    const auto fd = made_->CreateFile(name, O_RDWR);
    ASSERT_THAT(fd, IsOk());
    ASSERT_EQ(pwrite(fd->get(), content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  }
  absl::StatusOr<std::unique_ptr<SharedDirectory>> Open(const std::array<uint8_t, 16>& token = kToken) {
    return opener_->OpenSharedDirectory(root_, {"abc", token, "alpha"});
  }
  absl::Status OpenFile(const std::string& name, int flags = O_RDWR) {
    const auto directory = Open();
    return directory.ok() ? (*directory)->OpenFile(name, flags).status() : directory.status();
  }
  std::string Path(const std::string& name) const { return made_->path() + "/" + name; }

  TempDirectory directory_;
  const std::string root_ = directory_.path();
  std::unique_ptr<Sandbox> maker_;
  std::unique_ptr<Sandbox> opener_;
  std::unique_ptr<RunDirectory> made_;
};

TEST_F(SharedFileTest, AnotherAgentOpensAFileOfTheRunForWriting) {
  const auto directory = Open();
  ASSERT_THAT(directory, IsOk());
  const auto fd = (*directory)->OpenFile("qm1/active/S0000000.LOG", O_RDWR | O_DSYNC);
  ASSERT_THAT(fd, IsOk());
  EXPECT_EQ(fcntl(fd->get(), F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR);
  EXPECT_EQ(pwrite(fd->get(), "x", 1, 4096), 1);
}

TEST_F(SharedFileTest, AFileThatDoesNotBeginWithTheTokenIsNotOpened) {
  Make("qm1/active/S0000001.LOG", ExtentPage({9}));
  Make("qm1/active/S0000002.LOG", "");
  EXPECT_TRUE(absl::IsPermissionDenied(OpenFile("qm1/active/S0000001.LOG")));
  EXPECT_TRUE(absl::IsDataLoss(OpenFile("qm1/active/S0000002.LOG")));
}

TEST_F(SharedFileTest, AFileWithTwoNamesIsNotOpened) {
  ASSERT_EQ(link(Path("qm1/active/S0000000.LOG").c_str(), directory_.Sub("other").c_str()), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenFile("qm1/active/S0000000.LOG")));
}

TEST_F(SharedFileTest, LinksPipesAndWaysOutAreNotFollowed) {
  ASSERT_EQ(symlink("S0000000.LOG", Path("qm1/active/link").c_str()), 0);
  ASSERT_EQ(symlink("active", Path("qm1/linked").c_str()), 0);
  ASSERT_EQ(mkfifo(Path("qm1/active/pipe").c_str(), 0600), 0);
  EXPECT_FALSE(OpenFile("qm1/active/link").ok());
  EXPECT_FALSE(OpenFile("qm1/linked/S0000000.LOG").ok());
  EXPECT_FALSE(OpenFile("qm1/active/pipe").ok());
  EXPECT_FALSE(OpenFile("../alpha/qm1/active/S0000000.LOG").ok());
}

TEST_F(SharedFileTest, ADirectoryOfAnotherRunOrOfOneHostAloneIsNotOpened) {
  EXPECT_TRUE(absl::IsFailedPrecondition(Open({5}).status()));
  const auto own = maker_->MakeRunDirectory(root_, "abc", kToken, "beta");
  ASSERT_THAT(own, IsOk());
  EXPECT_TRUE(absl::IsFailedPrecondition(opener_->OpenSharedDirectory(root_, {"abc", kToken, "beta"}).status()));
  EXPECT_TRUE(absl::IsNotFound(opener_->OpenSharedDirectory(root_, {"abc", kToken, "gamma"}).status()));
}

TEST_F(SharedFileTest, AStartRemovesItNeverAndAnyAgentThatIsGivenTheRunDoes) {
  Make("qm1/active/checkpoint", ExtentPage(kToken));
  Make("qm1/data/active", ExtentPage(kToken));
  Make("qm1/data/master", ExtentPage(kToken));
  made_->Keep();
  made_.reset();
  EXPECT_TRUE(maker_->RemoveLeftovers().empty());
  EXPECT_TRUE(std::filesystem::exists(root_ + "/plimsoll-abc/alpha/qm1/data/active"));
  const auto cleaned = opener_->Clean(root_, "abc", [] { return absl::OkStatus(); });
  ASSERT_THAT(cleaned, IsOk());
  ASSERT_EQ(cleaned->size(), 1U);
  EXPECT_EQ(cleaned->front().left(), "");
  EXPECT_EQ(cleaned->front().removed_files(), 4U);
  EXPECT_TRUE(std::filesystem::is_empty(root_));
}

TEST_F(SharedFileTest, WhatNoRunMakesBesideTheFilesOfADrillStays) {
  Make("qm1/data/mine", ExtentPage(kToken));
  made_->Keep();
  made_.reset();
  const auto cleaned = opener_->Clean(root_, "abc", [] { return absl::OkStatus(); });
  ASSERT_THAT(cleaned, IsOk());
  EXPECT_THAT(cleaned->front().left(), HasSubstr("data/mine is not a file of a run"));
}

v1::HostPlan DrillPlan() {
  v1::HostPlan plan;
  plan.set_run_id("abc");
  plan.set_run_token(std::string(16, 't'));
  plan.set_host_label("alpha");
  plan.set_frame_interval_ns(250 * kNsPerMs);
  v1::HaWork& work = *plan.mutable_ha();
  v1::LogWorkload& workload = *work.mutable_workload();
  workload.set_dir("/mnt/log");
  workload.set_file_size_bytes(1 << 20);
  workload.set_num_files(2);
  workload.set_file_prefix("S");
  workload.set_sync(v1::SYNC_MODE_DSYNC);
  workload.set_direct(v1::DIRECT_MODE_AUTO);
  work.set_block_size_bytes(4096);
  for (const uint32_t qm : {1U, 2U}) {
    v1::HaQueueManager& queue_manager = *work.add_queue_managers();
    queue_manager.set_qm(qm);
    queue_manager.set_home(qm == 1 ? "alpha" : "beta");
  }
  return plan;
}

TEST(HaSetupTest, DefaultsAreThoseOfMq) {
  const auto setup = MakeHaSetup(DrillPlan());
  ASSERT_THAT(setup, IsOk());
  EXPECT_EQ(setup->data_dir, "/mnt/log");
  EXPECT_EQ(setup->lock_wait, v1::HA_LOCK_WAIT_POLL);
  EXPECT_EQ(setup->lock_poll_ns, 2 * kNsPerSecond);
  EXPECT_EQ(setup->verify_ns, 10 * kNsPerSecond);
  EXPECT_EQ(setup->verify_timeout_ns, 20 * kNsPerSecond);
  EXPECT_EQ(setup->fence, v1::HA_FENCE_EXTENTS);
}

TEST(HaSetupTest, WhatProvesNothingIsRefused) {
  v1::HostPlan plan = DrillPlan();
  plan.mutable_ha()->mutable_workload()->set_sync(v1::SYNC_MODE_NONE);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeHaSetup(plan).status()));
  plan = DrillPlan();
  plan.mutable_ha()->set_block_size_bytes(512);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeHaSetup(plan).status()));
  plan = DrillPlan();
  plan.mutable_ha()->mutable_queue_managers(1)->set_qm(1);
  EXPECT_TRUE(absl::IsInvalidArgument(MakeHaSetup(plan).status()));
  plan = DrillPlan();
  plan.mutable_ha()->mutable_queue_managers(0)->set_home("../alpha");
  EXPECT_TRUE(absl::IsInvalidArgument(MakeHaSetup(plan).status()));
}

TEST(HaSetupTest, CapsCountTheExtentsThatTheHostMakesAndRefuseADrillOfUnknownLength) {
  const WorkDemand demand = HaDemand(DrillPlan());
  EXPECT_EQ(demand.bytes.value, uint64_t{2} << 20);
  EXPECT_EQ(demand.threads.value, 2U);
  v1::AgentLimits limits;
  EXPECT_THAT(CheckDemand(limits, demand), IsOk());
  limits.set_max_duration_ns(3600 * kNsPerSecond);
  EXPECT_TRUE(absl::IsOutOfRange(CheckDemand(limits, demand)));
}

}  // namespace
}  // namespace plimsoll
