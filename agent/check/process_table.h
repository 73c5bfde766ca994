// The processes of a check, as the agent has them.
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
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/check/check_process.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/check.pb.h"

namespace plimsoll {

// Starts processes, hands each its operations, answers for those that do not, and kills them. One thread of its own
// does all of it, and lasts as long as they do: the kernel kills a process when the thread that started it ends. It
// makes no call to the storage, so that it answers whatever hangs there.
class ProcessTable {
 public:
  struct Options {
    // The program to start; it must call RunCheckProcess for kCheckProcessOption.
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
  // Of the processes that have ended: answers what waits for them, and forgets them.
  void Reap();
  void AnswerLate();
  // Before the answers go, so that who has one sees what it changed.
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
