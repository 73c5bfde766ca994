// Instances on storage that fails them, through the fault file system (tests/faultfs/README.md).
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "tests/testing.h"
#include "tests/unit/agent/ha_fixture.h"

namespace plimsoll {
namespace {

// A mounted fault file system, unmounted at the end.
class FaultFs {
 public:
  // Not mounted where this machine does not allow it.
  FaultFs(const std::string& backing, const std::string& mountpoint) : control_(mountpoint + ".control") {
    std::array<int, 2> out{};
    if (access("/dev/fuse", R_OK | W_OK) != 0 || geteuid() != 0 || pipe2(out.data(), O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string program = PLIMSOLL_FAULTFS;
    std::string from = backing;
    std::string to = mountpoint;
    std::array<char*, 5> arguments = {program.data(), from.data(), to.data(), control_.data(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    // "ready", or the end.
    std::array<char, 64> text{};
    mounted_ = read(out[0], text.data(), text.size()) > 0 && std::strstr(text.data(), "ready") != nullptr;
    close(out[0]);
  }
  ~FaultFs() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    unlink(control_.c_str());
  }
  FaultFs(const FaultFs&) = delete;
  FaultFs& operator=(const FaultFs&) = delete;

  bool mounted() const { return mounted_; }
  // Adds a rule.
  void Fault(const std::string& rule) { Ask("add " + rule); }
  void Clear() { Ask("clear"); }

 private:
  void Ask(const std::string& command) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, control_.c_str(), std::min(control_.size() + 1, sizeof address.sun_path - 1));
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string line = command + "\n";
    ASSERT_EQ(send(fd, line.data(), line.size(), 0), static_cast<ssize_t>(line.size()));
    std::array<char, 256> answer{};
    ASSERT_GT(recv(fd, answer.data(), answer.size() - 1, 0), 0);
    close(fd);
    ASSERT_EQ(std::string(answer.data()).substr(0, 2), "ok") << command << ": " << answer.data();
  }

  std::string control_;
  pid_t pid_ = -1;
  bool mounted_ = false;
};

class HaFaults : public DrillTest {
 protected:
  HaFaults() {
    const std::string backing = directory_.MakeDirectory("backing");
    mountpoint_ = directory_.MakeDirectory("mnt");
    faults_ = std::make_unique<FaultFs>(backing, mountpoint_);
    root_ = mountpoint_;
    v1::HaWork& work = *plan_.mutable_ha();
    work.mutable_workload()->set_dir(root_);
    work.set_verify_ns(30 * kNsPerMs);
    work.set_verify_timeout_ns(30 * kNsPerSecond);
  }
  ~HaFaults() override {
    if (faults_->mounted()) faults_->Clear();
    beta_.Finish();
    alpha_.Finish();
    if (faults_->mounted()) {
      EXPECT_TRUE(std::filesystem::is_empty(root_));
    }
    faults_.reset();
  }

  // Adds a rule, and waits until alpha's ledger has so many blocks more than those that may have been written before
  // it.
  void FaultWrites(const std::string& rule, uint64_t blocks) {
    faults_->Fault(rule);
    const int64_t since_ns = MonotonicNowNs();
    const auto written_ns = [this] { return alpha_.sink.LedgerOf(1).back().last_end_ns(); };
    while (written_ns() <= since_ns && !HasFailure()) alpha_.sink.AwaitWritten(1, alpha_.sink.LastWritten(1) + 1);
    alpha_.sink.AwaitWritten(1, alpha_.sink.LastWritten(1) + blocks);
  }

  std::string mountpoint_;
  std::unique_ptr<FaultFs> faults_;
};

#define NEED_FAULTFS() \
  if (!faults_->mounted()) GTEST_SKIP() << "the fault file system cannot be mounted here"

TEST_F(HaFaults, AnErrorWhenTheLockIsVerifiedEndsTheInstanceAndThePartnerTakesOver) {
  NEED_FAULTFS();
  StartPair();
  alpha_.sink.Await(1, v1::HaEvent::kVerified);
  faults_->Fault("write */data/active count=1 error=EIO");
  const v1::HaLockLost lost = alpha_.sink.Await(1, v1::HaEvent::kLockLost).lock_lost();
  EXPECT_THAT(lost.reason(), HasSubstr("Input/output error"));
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_LOCK_LOST);
  EXPECT_GE(beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed().last_sequence(), ended.last_sequence());
  beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
}

TEST_F(HaFaults, AStaleHandleIsALostLock) {
  NEED_FAULTFS();
  StartPair();
  faults_->Fault("read */data/active count=1 error=ESTALE");
  EXPECT_EQ(alpha_.sink.AwaitEnded(1).reason(), v1::HaEnded::REASON_LOCK_LOST);
}

TEST_F(HaFaults, AVerificationThatDoesNotReturnEndsTheInstance) {
  NEED_FAULTFS();
  plan_.mutable_ha()->set_verify_timeout_ns(3 * kNsPerSecond);
  StartPair();
  faults_->Fault("write */data/active count=1 hang interruptible");
  const v1::HaLockLost lost = alpha_.sink.Await(1, v1::HaEvent::kLockLost).lock_lost();
  EXPECT_EQ(lost.code(), static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(alpha_.sink.AwaitEnded(1).reason(), v1::HaEnded::REASON_LOCK_LOST);
  beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
}

TEST_F(HaFaults, AFailedWriteIsNamedAndInDoubt) {
  NEED_FAULTFS();
  StartPair();
  faults_->Fault("write *.LOG count=1 error=ENOSPC");
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_WRITE_FAILED);
  EXPECT_THAT(ended.message(), HasSubstr("No space left on device"));
  EXPECT_NE(ended.in_flight_since_ns(), 0);
}

TEST_F(HaFaults, AWriteThatHangsEndsWithTheLease) {
  NEED_FAULTFS();
  StartPair();
  faults_->Fault("write *.LOG count=1 hang interruptible");
  const uint64_t written = alpha_.sink.LastWritten(1);
  alpha_.lease_deadline_ns.store(MonotonicNowNs() + 3 * kNsPerSecond);
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_LEASE);
  EXPECT_GE(ended.last_sequence(), written);
  EXPECT_NE(ended.in_flight_since_ns(), 0);
}

TEST_F(HaFaults, AcknowledgedWritesThatTheStorageDropsAreMissingAfterTheTakeover) {
  NEED_FAULTFS();
  StartPair();
  FaultWrites("write *.LOG drop", 10);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  faults_->Clear();
  const v1::HaReplayed replayed = beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed();
  EXPECT_LT(replayed.last_sequence(), ended.last_sequence());
}

TEST_F(HaFaults, WritesThatAreDroppedBeforeACheckpointAreFoundBeforeTheirPlacesAreWrittenAgain) {
  NEED_FAULTFS();
  plan_.mutable_ha()->mutable_workload()->set_file_size_bytes(256 * 1024);
  plan_.mutable_ha()->mutable_workload()->set_num_files(2);
  constexpr uint64_t kLap = 64;
  StartPair();
  faults_->Fault("write *.LOG count=3 drop");
  std::vector<uint64_t> missing;
  alpha_.sink.Await(1, [&missing](const v1::HaEvent& event) {
    for (const v1::HaFaultyBlock& block : event.read_back().faults().blocks()) {
      EXPECT_EQ(block.kind(), v1::HaFaultyBlock::KIND_MISSING);
      if (missing.empty() || block.sequence() > missing.back()) missing.push_back(block.sequence());
    }
    return missing.size() == 3;
  });
  ASSERT_EQ(missing.size(), 3U);
  EXPECT_EQ(missing.back(), missing.front() + 2);
  // A takeover later finds nothing of it any more.
  alpha_.sink.AwaitWritten(1, missing.back() + kLap);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  EXPECT_EQ(beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed().faults().missing_blocks(), 0U);
}

TEST_F(HaFaults, AReadBackThatFailsEndsTheInstance) {
  NEED_FAULTFS();
  plan_.mutable_ha()->mutable_workload()->set_file_size_bytes(256 * 1024);
  plan_.mutable_ha()->mutable_workload()->set_num_files(2);
  StartPair();
  faults_->Fault("read *.LOG count=1 error=EIO");
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_FAILED);
  EXPECT_THAT(ended.message(), HasSubstr("Input/output error"));
}

TEST_F(HaFaults, ARefusalOfDirectAccessForTheHeartbeatIsReported) {
  NEED_FAULTFS();
  PrepareBoth();
  faults_->Fault("open */data/active count=1 error=EINVAL");
  ASSERT_THAT(alpha_.Start(1), IsOk());
  const v1::HaStarted started = alpha_.sink.Await(1, v1::HaEvent::kStarted).started();
  EXPECT_EQ(started.direct_refused(), "");
  EXPECT_THAT(started.small_files_direct_refused(), HasSubstr("data/active"));
  EXPECT_THAT(started.small_files_direct_refused(), HasSubstr("Invalid argument"));
}

TEST_F(HaFaults, AnAcknowledgedPageThatTheStorageTearsIsNamed) {
  NEED_FAULTFS();
  // Replay begins before it.
  plan_.mutable_ha()->set_checkpoint_ns(3600 * kNsPerSecond);
  StartPair();
  FaultWrites("write *.LOG count=1 torn=512", 20);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaReplayed replayed = beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed();
  EXPECT_EQ(replayed.checkpoint_sequence(), 0U);
  EXPECT_EQ(replayed.faults().torn_pages(), 1U);
  ASSERT_GE(replayed.faults().blocks_size(), 1);
  EXPECT_EQ(replayed.faults().blocks(0).kind(), v1::HaFaultyBlock::KIND_TORN);
  EXPECT_LT(replayed.faults().blocks(0).sequence(), replayed.last_sequence());
}

TEST_F(HaFaults, ALockThatTheStorageGrantsTwiceIsSeenByTheOldInstance) {
  NEED_FAULTFS();
  StartPair();
  faults_->Fault("lock *qm1* grant");
  const v1::HaEvent granted = beta_.sink.AwaitGranted(2, v1::HA_LOCK_ACTIVE);
  EXPECT_FALSE(granted.at_ns() == 0);
  beta_.sink.Await(2, v1::HaEvent::kVerified);
  const v1::HaLockLost lost = alpha_.sink.Await(1, v1::HaEvent::kLockLost).lock_lost();
  EXPECT_THAT(lost.reason(), HasSubstr("epoch 2"));
  EXPECT_LT(granted.at_ns(), alpha_.sink.LedgerOf(1).back().last_end_ns());
}

TEST_F(HaFaults, TheMomentTheLockIsFreeIsKnownApartFromTheGrant) {
  NEED_FAULTFS();
  plan_.mutable_ha()->set_lock_poll_ns(500 * kNsPerMs);
  StartPair();
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaEvent free = beta_.sink.Await(2, v1::HaEvent::kLockFree);
  const v1::HaEvent granted = beta_.sink.AwaitGranted(2, v1::HA_LOCK_ACTIVE);
  EXPECT_LT(free.at_ns(), granted.at_ns());
}

}  // namespace
}  // namespace plimsoll
