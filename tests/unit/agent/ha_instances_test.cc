// Instances of one queue manager as real processes: one dies, is stopped or is switched, the other takes over or does
// not.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <fstream>
#include <thread>

#include "agent/ha/instance.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/instance_locks.h"
#include "plimsoll/v1/ha_instance.pb.h"
#include "tests/testing.h"
#include "tests/unit/agent/ha_fixture.h"

// How often this program, which is the agents of its tests, asked for a lock that belongs to its process.
static std::atomic<int> process_locks{0};  // NOLINT

// In place of the C library's, for all that is linked into this program; instances are programs of their own.
static int CountLocks(int fd, int command, long argument) {
  if (command == F_SETLK || command == F_SETLKW) ++process_locks;
  return static_cast<int>(syscall(SYS_fcntl, fd, command, argument));
}
extern "C" int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  return CountLocks(fd, command, argument);
}
extern "C" int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  const long argument = va_arg(arguments, long);
  va_end(arguments);
  return CountLocks(fd, command, argument);
}

namespace plimsoll {
namespace {

class HaInstances : public DrillTest {};

TEST_F(HaInstances, TheStandbyTakesOverFromAKilledOneAndLosesNothing) {
  // No checkpoint is as new as the last block.
  plan_.mutable_ha()->set_checkpoint_ns(10 * kNsPerSecond);
  StartPair();
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_SIGNAL);
  EXPECT_EQ(ended.signal(), SIGKILL);
  EXPECT_EQ(ended.epoch(), 1U);
  const uint64_t acknowledged = alpha_.sink.LastWritten(1);
  EXPECT_EQ(acknowledged, ended.last_sequence());

  const v1::HaEvent signalled = alpha_.sink.Await(1, v1::HaEvent::kSignalled);
  const v1::HaEvent free = beta_.sink.Await(2, v1::HaEvent::kLockFree);
  const v1::HaEvent granted = beta_.sink.AwaitGranted(2, v1::HA_LOCK_ACTIVE);
  const v1::HaReplayed replayed = beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed();
  const v1::HaEvent first = beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
  EXPECT_GT(free.at_ns(), signalled.signalled().began_ns());
  EXPECT_GT(granted.at_ns(), signalled.signalled().began_ns());
  EXPECT_LT(free.lock_free().last_held_ns(), free.lock_free().asked_ns());
  // The write in flight may have landed.
  EXPECT_GE(replayed.last_sequence(), acknowledged);
  EXPECT_LE(replayed.last_sequence(), acknowledged + 1);
  EXPECT_EQ(replayed.last_epoch(), 1U);
  EXPECT_EQ(replayed.faults().missing_blocks(), 0U);
  for (const v1::HaFaultyBlock& block : replayed.faults().blocks()) EXPECT_GT(block.sequence(), acknowledged);
  EXPECT_EQ(first.first_write().epoch(), 2U);
  EXPECT_EQ(first.first_write().sequence(), replayed.last_sequence() + 1);
  EXPECT_GT(first.first_write().start_ns(), granted.at_ns());
  beta_.sink.AwaitFrames(2);
}

TEST_F(HaInstances, ABlockingWaiterTakesOverToo) {
  plan_.mutable_ha()->set_lock_wait(v1::HA_LOCK_WAIT_BLOCK);
  StartPair();
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaEvent granted = beta_.sink.AwaitGranted(2, v1::HA_LOCK_ACTIVE);
  EXPECT_GT(granted.at_ns(), alpha_.sink.Await(1, v1::HaEvent::kSignalled).signalled().began_ns());
  EXPECT_GE(beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed().last_sequence(),
            alpha_.sink.AwaitEnded(1).last_sequence());
  beta_.sink.AwaitWritten(2, 1);
}

TEST_F(HaInstances, APlannedSwitchGoesOnAtTheNextBlock) {
  StartPair();
  ASSERT_THAT(alpha_.End(1), IsOk());
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_ORDERED);
  EXPECT_EQ(ended.exit_code(), 0);
  EXPECT_EQ(ended.totals().writes(), ended.last_sequence());
  EXPECT_EQ(ended.in_flight_since_ns(), 0);
  const v1::HaReplayed replayed = beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed();
  EXPECT_EQ(replayed.last_sequence(), ended.last_sequence());
  // It took a checkpoint at its end.
  EXPECT_EQ(replayed.checkpoint_sequence(), ended.last_sequence());
  EXPECT_EQ(replayed.faults().blocks_size(), 0);
  // The roles turn.
  ASSERT_THAT(alpha_.Start(3), IsOk());
  alpha_.sink.AwaitGranted(3, v1::HA_LOCK_STANDBY);
  ASSERT_THAT(beta_.End(2), IsOk());
  EXPECT_EQ(alpha_.sink.Await(3, v1::HaEvent::kEpochRaised).epoch_raised().epoch(), 3U);
  alpha_.sink.Await(3, v1::HaEvent::kFirstWrite);
}

TEST_F(HaInstances, AStoppedOneKeepsItsLocksAndContinues) {
  constexpr int64_t kVerifyNs = 500 * kNsPerMs;
  plan_.mutable_ha()->set_verify_ns(kVerifyNs);
  StartPair();
  ASSERT_THAT(alpha_.Hang(1), IsOk());
  const v1::HaEvent stopped = alpha_.sink.Await(1, v1::HaEvent::kSignalled);
  EXPECT_EQ(stopped.signalled().signal(), v1::HaSignalled::SIGNAL_STOP);
  const uint64_t written = alpha_.sink.LastWritten(1);
  // Nothing announces what must not happen: the stop outlasts a verification's timeout, twice its interval, and by then
  // the standby has polled the lock dozens of times.
  SleepUntilNs(stopped.at_ns() + 2 * kVerifyNs + 10 * plan_.ha().lock_poll_ns());
  EXPECT_FALSE(beta_.sink.Has(2, v1::HaEvent::kLockFree));
  EXPECT_FALSE(beta_.sink.Has(2, v1::HaEvent::kEpochRaised));
  ASSERT_THAT(alpha_.Resume(1), IsOk());
  alpha_.sink.AwaitWritten(1, written + 20);
  EXPECT_FALSE(alpha_.sink.Has(1, v1::HaEvent::kEnded));
}

TEST_F(HaInstances, AThirdOneIsTurnedAway) {
  StartPair();
  ASSERT_THAT(beta_.Start(3), IsOk());
  const v1::HaEnded ended = beta_.sink.AwaitEnded(3);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_LOCK_DENIED);
  EXPECT_THAT(ended.message(), HasSubstr("waits already"));
}

TEST_F(HaInstances, TheLedgerNamesEveryWriteOnceAndInOrder) {
  StartPair();
  alpha_.sink.AwaitWritten(1, 200);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  uint64_t next = 1;
  for (const v1::HaLedgerEntry& entry : alpha_.sink.LedgerOf(1)) {
    EXPECT_EQ(entry.first_sequence(), next);
    EXPECT_GE(entry.last_sequence(), entry.first_sequence());
    EXPECT_LT(entry.last_start_ns(), entry.last_end_ns());
    EXPECT_LE(entry.last_end_ns(), entry.sent_ns());
    next = entry.last_sequence() + 1;
  }
  EXPECT_EQ(next, ended.last_sequence() + 1);
}

TEST_F(HaInstances, NoWriteStartsAfterTheLeaseAndTheInstanceEnds) {
  StartPair();
  const int64_t deadline_ns = MonotonicNowNs() + 200 * kNsPerMs;
  alpha_.lease_deadline_ns.store(deadline_ns);
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_EQ(ended.reason(), v1::HaEnded::REASON_LEASE);
  ASSERT_FALSE(alpha_.sink.LedgerOf(1).empty());
  EXPECT_LT(alpha_.sink.LedgerOf(1).back().last_start_ns(), deadline_ns);
  // The partner's lease is another.
  beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
  beta_.lease_deadline_ns.store(MonotonicNowNs());
  EXPECT_EQ(beta_.sink.AwaitEnded(2).reason(), v1::HaEnded::REASON_LEASE);
}

TEST_F(HaInstances, AStoppedOneIsKilledSoonAfterTheLease) {
  StartPair();
  ASSERT_THAT(alpha_.Hang(1), IsOk());
  alpha_.sink.Await(1, v1::HaEvent::kSignalled);
  alpha_.lease_deadline_ns.store(MonotonicNowNs());
  EXPECT_EQ(alpha_.sink.AwaitEnded(1).signal(), SIGKILL);
}

TEST_F(HaInstances, ABrokenStreamStopsNothingBeforeTheLease) {
  StartPair();
  alpha_.work->Abandon("the controller is gone");
  alpha_.sink.AwaitWritten(1, alpha_.sink.LastWritten(1) + 50);
  EXPECT_FALSE(alpha_.work->WaitIdle(0));
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha_.Start(5)));
  alpha_.lease_deadline_ns.store(MonotonicNowNs());
  EXPECT_TRUE(alpha_.work->WaitIdle(30 * kNsPerSecond));
  EXPECT_EQ(alpha_.sink.AwaitEnded(1).reason(), v1::HaEnded::REASON_LEASE);
}

TEST_F(HaInstances, AKilledAgentLeavesNoInstance) {
  std::array<int, 2> pipe_fds{};
  ASSERT_EQ(pipe2(pipe_fds.data(), O_CLOEXEC), 0);
  const pid_t agent = fork();
  if (agent == 0) {
    DrillHost host;
    if (!host.Create(PlanOf("alpha", 1), root_).ok() || !host.Prepare().ok() || !host.Start(1).ok()) _exit(1);
    const int64_t instance = host.sink.Await(1, v1::HaEvent::kStarted).started().pid();
    host.sink.Await(1, v1::HaEvent::kFirstWrite);
    if (write(pipe_fds[1], &instance, sizeof instance) != sizeof instance) _exit(1);
    while (true) pause();
  }
  int64_t instance = 0;
  ASSERT_EQ(read(pipe_fds[0], &instance, sizeof instance), static_cast<ssize_t>(sizeof instance));
  close(pipe_fds[0]);
  close(pipe_fds[1]);
  ASSERT_EQ(kill(agent, SIGKILL), 0);
  ASSERT_EQ(waitpid(agent, nullptr, 0), agent);
  // Whoever inherits it may be slow to bury it.
  const auto runs = [instance] {
    std::ifstream stat("/proc/" + std::to_string(instance) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return false;
    const char state = text[text.rfind(')') + 2];
    return state != 'Z' && state != 'X';
  };
  const int64_t until_ns = MonotonicNowNs() + 30 * kNsPerSecond;
  while (runs() && MonotonicNowNs() < until_ns) SleepUntilNs(MonotonicNowNs() + kNsPerMs);
  EXPECT_FALSE(runs());
  // Any agent that is given the run may remove its files.
  const auto sandbox = Sandbox::Create({root_}, "another");
  ASSERT_THAT(sandbox, IsOk());
  EXPECT_TRUE((*sandbox)->RemoveLeftovers().empty());
  const auto cleaned = (*sandbox)->Clean(root_, "0123abcd", [] { return absl::OkStatus(); });
  ASSERT_THAT(cleaned, IsOk());
  EXPECT_EQ(cleaned->front().left(), "");
}

TEST_F(HaInstances, AFullLogWaitsForTheCheckpoint) {
  v1::HaWork& work = *plan_.mutable_ha();
  work.mutable_workload()->set_file_size_bytes(64 * 1024);
  work.mutable_workload()->set_num_files(2);
  work.mutable_workload()->set_delay_ns(0);
  work.set_checkpoint_ns(400 * kNsPerMs);
  PrepareBoth();
  ASSERT_THAT(alpha_.Start(1), IsOk());
  const v1::HaEvent full = alpha_.sink.Await(1, v1::HaEvent::kLogFull);
  // 16 blocks, none behind a checkpoint.
  EXPECT_EQ(full.log_full().sequence(), 17U);
  EXPECT_EQ(full.log_full().checkpoint_sequence(), 0U);
  // It continues, and is full again.
  alpha_.sink.AwaitWritten(1, 32);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const v1::HaEnded ended = alpha_.sink.AwaitEnded(1);
  EXPECT_GE(ended.log_full_waits(), 2U);
  EXPECT_GT(ended.log_full_wait_ns(), 0U);
  // Nothing that replay needs was overwritten.
  ASSERT_THAT(beta_.Start(2), IsOk());
  const v1::HaReplayed replayed = beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed();
  EXPECT_GE(replayed.last_sequence(), ended.last_sequence());
  EXPECT_EQ(replayed.faults().missing_blocks(), 0U);
}

TEST_F(HaInstances, ALogThatIsFullAtTheTakeoverGoesOn) {
  v1::HaWork& work = *plan_.mutable_ha();
  work.mutable_workload()->set_file_size_bytes(64 * 1024);
  work.mutable_workload()->set_num_files(2);
  work.mutable_workload()->set_delay_ns(0);
  // None of its own before it is killed, and the next one only at the takeover.
  work.set_checkpoint_ns(3600 * kNsPerSecond);
  PrepareBoth();
  ASSERT_THAT(alpha_.Start(1), IsOk());
  alpha_.sink.Await(1, v1::HaEvent::kLogFull);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  EXPECT_EQ(alpha_.sink.AwaitEnded(1).last_sequence(), 16U);
  ASSERT_THAT(beta_.Start(2), IsOk());
  EXPECT_EQ(beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed().last_sequence(), 16U);
  beta_.sink.AwaitWritten(2, 32);
}

TEST_F(HaInstances, AScanReportsEveryEpochAndOfAPageThatIsTorn) {
  StartPair();
  ASSERT_THAT(alpha_.End(1), IsOk());
  const uint64_t first = alpha_.sink.AwaitEnded(1).last_sequence();
  beta_.sink.AwaitWritten(2, first + 20);
  ASSERT_THAT(beta_.End(2), IsOk());
  const uint64_t second = beta_.sink.AwaitEnded(2).last_sequence();
  {
    // The second page of block 2.
    const int fd = open(FileName("active/S0000000.LOG").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(pwrite(fd, "torn", 4, 8192 + 4096 + 512), 4);
    close(fd);
  }
  ASSERT_THAT(beta_.Scan(9), IsOk());
  const v1::HaScanned scanned = beta_.sink.Await(9, v1::HaEvent::kScanned).scanned();
  EXPECT_EQ(beta_.sink.AwaitEnded(9).reason(), v1::HaEnded::REASON_ORDERED);
  EXPECT_EQ(scanned.pages_checked(), 3U * 256);
  EXPECT_EQ(scanned.checkpoint_epoch(), 2U);
  EXPECT_EQ(scanned.checkpoint_sequence(), second);
  ASSERT_EQ(scanned.faults().blocks_size(), 1);
  EXPECT_EQ(scanned.faults().blocks(0).kind(), v1::HaFaultyBlock::KIND_TORN);
  EXPECT_EQ(scanned.faults().blocks(0).offset_bytes(), 8192U);
  uint64_t old_blocks = 0;
  uint64_t new_blocks = 0;
  for (const v1::HaLogRange& range : scanned.ranges()) {
    old_blocks += range.epoch() == 1 ? range.blocks() : 0;
    new_blocks += range.epoch() == 2 ? range.blocks() : 0;
    EXPECT_TRUE(range.epoch() == 0 || range.host_index() == range.epoch()) << range.ShortDebugString();
  }
  EXPECT_EQ(old_blocks, first - 1);
  EXPECT_EQ(new_blocks, second - first);
}

TEST_F(HaInstances, ALaterSessionOfTheSameDrillGoesOnWithTheFiles) {
  StartPair();
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
  alpha_.Finish(/*keep=*/true);
  ASSERT_THAT(alpha_.Create(PlanOf("alpha", 1), root_), IsOk());
  const auto placed = alpha_.work->Look({});
  ASSERT_THAT(placed, IsOk());
  EXPECT_THAT(placed->visible_hosts(), ::testing::ElementsAre("alpha", "beta"));
  ASSERT_THAT(alpha_.Prepare(), IsOk());
  ASSERT_THAT(alpha_.Start(3), IsOk());
  alpha_.sink.AwaitGranted(3, v1::HA_LOCK_STANDBY);
  ASSERT_THAT(beta_.Kill(2), IsOk());
  EXPECT_EQ(alpha_.sink.Await(3, v1::HaEvent::kEpochRaised).epoch_raised().epoch(), 3U);
  alpha_.sink.Await(3, v1::HaEvent::kFirstWrite);
}

TEST_F(HaInstances, LocksMayLieInAnotherDirectoryThanTheLog) {
  const std::string root = root_;
  const std::string data = directory_.MakeDirectory("data");
  const std::string log = directory_.MakeDirectory("log");
  plan_.mutable_ha()->mutable_workload()->set_dir(log);
  plan_.mutable_ha()->set_data_dir(data);
  StartPair();
  EXPECT_TRUE(std::filesystem::exists(data + "/plimsoll-0123abcd/alpha/qm1/data/active"));
  EXPECT_TRUE(std::filesystem::exists(log + "/plimsoll-0123abcd/alpha/qm1/active/checkpoint"));
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
  beta_.Finish();
  alpha_.Finish();
  EXPECT_TRUE(std::filesystem::is_empty(data));
  EXPECT_TRUE(std::filesystem::is_empty(log));
  std::filesystem::remove(data);
  std::filesystem::remove(log);
}

TEST_F(HaInstances, WithoutAFenceTheExtentsAreNotLocked) {
  plan_.mutable_ha()->set_fence(v1::HA_FENCE_NONE);
  PrepareBoth();
  ASSERT_THAT(alpha_.Start(1), IsOk());
  alpha_.sink.Await(1, v1::HaEvent::kFirstWrite);
  const int fd = open(FileName("active/S0000000.LOG").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  EXPECT_EQ(fcntl(fd, F_GETLK, &whole), 0);
  EXPECT_EQ(whole.l_type, F_UNLCK);
  close(fd);
}

TEST_F(HaInstances, WithAFenceTheActiveOneHoldsItsExtents) {
  PrepareBoth();
  ASSERT_THAT(alpha_.Start(1), IsOk());
  alpha_.sink.Await(1, v1::HaEvent::kFirstWrite);
  const int fd = open(FileName("active/S0000002.LOG").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct flock whole{};
  whole.l_type = F_WRLCK;
  EXPECT_EQ(fcntl(fd, F_GETLK, &whole), 0);
  EXPECT_EQ(whole.l_pid, alpha_.sink.Await(1, v1::HaEvent::kStarted).started().pid());
  close(fd);
}

TEST_F(HaInstances, NoPlaceIsWrittenAgainBeforeItsBlockWasReadBackAndReported) {
  v1::HaWork& work = *plan_.mutable_ha();
  work.mutable_workload()->set_file_size_bytes(64 * 1024);
  work.mutable_workload()->set_num_files(2);
  work.mutable_workload()->set_delay_ns(0);
  work.set_checkpoint_ns(2 * kNsPerMs);
  constexpr uint64_t kLap = 16;
  StartPair();
  alpha_.sink.AwaitWritten(1, 20 * kLap);
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  const uint64_t last = beta_.sink.Await(2, v1::HaEvent::kReplayed).replayed().last_sequence();
  beta_.sink.AwaitWritten(2, last + 10 * kLap);
  for (DrillHost* host : {&alpha_, &beta_}) {
    // A takeover goes on with the block behind the place that its first write takes.
    uint64_t read = host == &alpha_ ? 0 : last + 1 - kLap;
    for (const v1::AgentMessage& message : host->sink.Messages()) {
      for (const v1::HaEvent& event : message.ha().events()) {
        if (!event.has_read_back()) continue;
        EXPECT_EQ(event.read_back().first_sequence(), read + 1);
        EXPECT_EQ(event.read_back().faults().blocks_size(), 0);
        read = event.read_back().last_sequence();
      }
      for (const v1::HaLedgerEntry& entry : message.ha().ledger()) EXPECT_LE(entry.last_sequence(), read + kLap);
    }
    EXPECT_GT(read, kLap);
  }
}

TEST_F(HaInstances, TheAgentsOwnProcessTakesNoLockThatBelongsToAProcess) {
  const int before = process_locks;
  {
    const std::string path = directory_.Sub("lock");
    const UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_THAT(TryLockFile(fd.get(), path), IsOk());
    ASSERT_EQ(process_locks, before + 1) << "such a lock is counted";
    std::filesystem::remove(path);
  }
  StartPair();
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  beta_.sink.Await(2, v1::HaEvent::kFirstWrite);
  ASSERT_THAT(alpha_.Start(3), IsOk());
  alpha_.sink.AwaitGranted(3, v1::HA_LOCK_STANDBY);
  ASSERT_THAT(beta_.Hang(2), IsOk());
  beta_.sink.Await(2, v1::HaEvent::kSignalled);
  ASSERT_THAT(beta_.Resume(2), IsOk());
  ASSERT_THAT(beta_.End(2), IsOk());
  alpha_.sink.Await(3, v1::HaEvent::kFirstWrite);
  ASSERT_THAT(beta_.Scan(4), IsOk());
  beta_.sink.AwaitEnded(4);
  beta_.Finish();
  alpha_.Finish();
  EXPECT_EQ(process_locks, before + 1);
}

TEST_F(HaInstances, TheHeartbeatAndTheCheckpointAreWrittenPastTheCacheAndDurably) {
  PrepareBoth();
  const auto setup = MakeHaSetup(PlanOf("beta", 2));
  ASSERT_THAT(setup, IsOk());
  const auto files = OpenQmFiles(*setup, 1, *beta_.sandbox, /*for_scan=*/false);
  ASSERT_THAT(files, IsOk());
  if (!files->small_files_direct_refused.empty()) GTEST_SKIP() << files->small_files_direct_refused;
  for (const QmFiles::File* file : {&files->active, &files->checkpoint}) {
    EXPECT_EQ(fcntl(file->fd.get(), F_GETFL) & (O_DIRECT | O_DSYNC | O_ACCMODE), O_DIRECT | O_DSYNC | O_RDWR)
        << file->path;
  }
}

// Starts an instance's program as the child of this process, whose memory names `agent` as its agent, with a set-up
// that asks for nothing: whoever goes on to it fails with a message.
int ExitCodeOfInstanceOf(pid_t agent, bool& spoke) {
  UniqueFd board_fd;
  const auto board = BoardMapping::Create(board_fd);
  std::array<int, 2> pair{};
  if (!board.ok() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) return -1;
  (*board)->agent_pid.store(agent);
  const UniqueFd near(pair[0]);
  // Above those that the instance gets.
  UniqueFd far(fcntl(pair[1], F_DUPFD_CLOEXEC, 10));
  const UniqueFd shared(fcntl(board_fd.get(), F_DUPFD_CLOEXEC, 10));
  close(pair[1]);
  v1::HaInstanceOrder order;
  order.mutable_setup()->mutable_start()->set_instance(1);
  if (!MessageSender(near.get()).Send(order).ok()) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, far.get(), kInstanceSocketFd);
  posix_spawn_file_actions_adddup2(&actions, shared.get(), kInstanceBoardFd);
  std::string program = PLIMSOLL_AGENT;
  std::string option = kInstanceOption;
  std::array<char*, 3> arguments = {program.data(), option.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  far.Reset();
  if (error != 0) return -1;
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  std::array<char, 4096> bytes{};
  spoke = recv(near.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0;
  return WEXITSTATUS(status);
}

TEST_F(HaInstances, AnInstanceWhoseAgentIsNotItsParentEndsBeforeItDoesAnything) {
  bool spoke = false;
  EXPECT_EQ(ExitCodeOfInstanceOf(getpid(), spoke), InstanceReporter::kExitByItself);
  EXPECT_TRUE(spoke) << "with its agent as its parent it goes on, and fails for want of a plan";
  // Init took it over: its agent died before it could ask the kernel to end with it.
  EXPECT_EQ(ExitCodeOfInstanceOf(1, spoke), 4);
  EXPECT_FALSE(spoke);
}

TEST_F(HaInstances, CommandsThatMakeNoSenseAreRefused) {
  ASSERT_THAT(alpha_.Create(PlanOf("alpha", 1), root_), IsOk());
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha_.Start(1)));
  ASSERT_THAT(alpha_.Prepare(), IsOk());
  EXPECT_TRUE(absl::IsInvalidArgument(alpha_.Start(1, 7)));
  EXPECT_TRUE(absl::IsNotFound(alpha_.Kill(1)));
  ASSERT_THAT(alpha_.Start(1), IsOk());
  EXPECT_TRUE(absl::IsAlreadyExists(alpha_.Start(1)));
  ASSERT_THAT(alpha_.Kill(1), IsOk());
  alpha_.sink.AwaitEnded(1);
  EXPECT_TRUE(alpha_.work->WaitIdle(30 * kNsPerSecond));
  EXPECT_TRUE(absl::IsFailedPrecondition(alpha_.Kill(1)));
  v1::Command other;
  other.mutable_stop_trace();
  EXPECT_TRUE(absl::IsUnimplemented(alpha_.work->Do(other)));
}

}  // namespace
}  // namespace plimsoll
