// The processes of a check: what such a process does (`plimsoll-agent --check-process PARENT`), and the table of them
// that the agent has.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/check.pb.h"

namespace plimsoll {

// One page of memory (a memfd) that the agent and its check processes share: the moment of CLOCK_MONOTONIC at and after
// which no write starts. Only the agent moves it. Thread-safe.
class LeasePage {
 public:
  // The agent's: a page of its own, with a deadline that has passed.
  static absl::StatusOr<LeasePage> Create();
  // A process's: the page behind the descriptor that it was given.
  static absl::StatusOr<LeasePage> Open(UniqueFd fd);
  ~LeasePage();
  LeasePage(LeasePage&& other) noexcept;
  LeasePage& operator=(LeasePage&& other) = delete;

  int fd() const { return fd_.get(); }
  int64_t deadline_ns() const { return deadline_ns_->load(std::memory_order_relaxed); }
  // Relaxed: the moment stands alone, and an old one is an earlier one.
  void set_deadline_ns(int64_t deadline_ns) { deadline_ns_->store(deadline_ns, std::memory_order_relaxed); }

 private:
  LeasePage(UniqueFd fd, std::atomic<int64_t>* deadline_ns) : fd_(std::move(fd)), deadline_ns_(deadline_ns) {}
  static absl::StatusOr<LeasePage> Map(UniqueFd fd);

  UniqueFd fd_;
  std::atomic<int64_t>* deadline_ns_;
};

// The option that makes a process of the agent's program a check process; only the agent passes it.
inline constexpr char kFsckProcessOption[] = "--check-process";

// What the agent gives it: a packet socket, and the page of the lease.
inline constexpr int kFsckSocketFd = 3;
inline constexpr int kFsckLeaseFd = 4;

// Most bytes of one packet either way.
inline constexpr int kMostFsckPacketBytes = 180'000;

// Takes its setup and then orders from the socket, one at a time, and answers them. Ends when the socket is closed,
// when the lease has expired, and (by a signal of the kernel) with the thread of process `parent` that started it.
// Returns the exit code.
int RunFsckProcess(int parent);

// Starts processes, hands each its operations, answers for those that do not, and kills them. One thread of its own
// does all of it, and lasts as long as they do: the kernel kills a process when the thread that started it ends. It
// makes no call to the storage, so that it answers whatever hangs there.
class ProcessTable {
 public:
  struct Options {
    // The program to start; it must call RunFsckProcess for kFsckProcessOption.
    std::string program = "/proc/self/exe";
    // For each process; id and process are filled in.
    v1::CheckSetup setup;
    // Processes at once.
    uint32_t most = 0;
    // A moment of CLOCK_MONOTONIC; processes that it passes end. Outlives the table.
    const std::atomic<int64_t>* lease_deadline_ns = nullptr;
    // An answer. The table's thread.
    std::function<void(v1::CheckAnswer)> answer;
  };

  static absl::StatusOr<std::unique_ptr<ProcessTable>> Create(Options options);
  // Stops, and waits for the end of the processes, however long a call to the storage takes.
  ~ProcessTable();
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;

  // Takes a command; its answer comes later. FAILED_PRECONDITION after Stop. Any thread.
  absl::Status Do(uint64_t id, const v1::CheckCommand& command);
  // Kills all processes; answers nothing more. Returns at once. Any thread.
  void Stop();
  // Waits until no process is left after Stop, at most so long; false where one still is.
  bool WaitEnded(int64_t timeout_ns);
  // Grows with each command and each answer. Any thread.
  uint64_t Progress() const { return progress_.load(std::memory_order_relaxed); }
  // Operations whose time was up at least `min_age_ns` ago and that have not returned. Any thread.
  std::vector<v1::InFlight> Overdue(int64_t min_age_ns) const;

 private:
  struct Waiting {
    // When DEADLINE_EXCEEDED is answered.
    int64_t deadline_ns = 0;
  };
  struct Process {
    pid_t pid = -1;
    UniqueFd pid_fd;
    UniqueFd socket;
    std::map<uint64_t, Waiting> waiting;  // by id
    // Operations that were answered for: since when.
    std::map<uint64_t, int64_t> overdue;
    // Last sequence of a stream that it reported.
    uint64_t acknowledged = 0;
    // When it reported that; 0: it has not. The longest time between two.
    int64_t acknowledged_ns = 0;
    int64_t longest_gap_ns = 0;
    // The CheckKill that waits for its end, when the signal was sent; 0: none.
    uint64_t kill_id = 0;
    int64_t killed_ns = 0;
  };
  struct Job {
    uint64_t id = 0;
    v1::CheckCommand command;
  };

  ProcessTable(Options options, LeasePage lease, UniqueFd wake);

  void Run();
  // Waits for a job, an answer, an end, or the next deadline.
  void Wait();
  void TakeJobs();
  void Carry(const Job& job);
  void StartProcess(const Job& job);
  absl::StatusOr<Process> Spawn();
  absl::Status Hand(Process& process, const std::string& packet);
  // Takes what the process has sent.
  void Receive(uint32_t number, Process& process);
  // Counts the time since the last sequence of a stream.
  static void CountGap(Process& process);
  void KillAll();
  // Handles the processes that have ended: answers what waits for them, and forgets them.
  void Reap();
  void AnswerLate();
  // Called before the answers go, so that the receiver of one sees what it changed.
  void PublishOverdue();
  void SendAll();
  void Answer(uint64_t id, uint32_t process, const absl::Status& status, int64_t started_ns, uint64_t acknowledged,
              int64_t longest_gap_ns = 0);

  const Options options_;
  LeasePage lease_;
  const UniqueFd wake_;
  std::atomic<uint64_t> progress_{0};
  // The thread's alone.
  std::map<uint32_t, Process> processes_;
  std::vector<v1::CheckAnswer> outgoing_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<v1::InFlight> overdue_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace plimsoll
