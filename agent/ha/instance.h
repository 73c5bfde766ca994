// One instance of a queue manager: what its process does.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/ha_setup.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/instance_locks.h"
#include "agent/ha/log_upkeep.h"
#include "agent/ha/qm_files.h"
#include "agent/writer/block_source.h"
#include "agent/writer/writer_state.h"
#include "agent/writer/writer_tally.h"

namespace plimsoll {

// Opens the files, waits for the locks, raises the epoch, replays the log, and writes until it is ordered to end, the
// lease is over, a write fails or the lock is lost. Or reads the whole log once (a scan). Every end is
// InstanceReporter::Exit.
//
// Threads: this one takes locks and writes; "orders" reads what the agent sends; "watch" sends the ledger, and ends the
// process at the lease's end or where a verification of the lock does not return, whatever the others hang in;
// "verify"; "checkpoint"; "read back"; "recorder", as of a log run; "poller" while it is the standby.
class Instance {
 public:
  // `orders_fd` and the rest must outlive the object, which lives as long as its process.
  Instance(v1::HaInstanceSetup setup, int orders_fd, MessageReader& orders, InstanceReporter& reporter,
           InstanceBoard& board);

  [[noreturn]] void Run();

 private:
  absl::Status Open();
  [[noreturn]] void Scan();
  absl::Status TakeOver();
  absl::Status Replay(uint64_t checkpoint_sequence);
  void StartVerifying();
  [[noreturn]] void WriteLog();
  void RunOrders();
  void RunWatch();
  void RunVerification();
  void RunRecorder(const TallyParams& tally);
  // Which event the writer's cells ask for, once each.
  void WatchWriter();
  void CheckLease(int64_t now_ns);
  [[noreturn]] void LoseLock(absl::StatusCode code, const std::string& reason);
  std::string DescribeFailure() const;

  const v1::HaInstanceSetup order_;
  const int orders_fd_;
  MessageReader& orders_;
  InstanceReporter& reporter_;
  InstanceBoard& board_;

  std::optional<HaSetup> setup_;
  std::unique_ptr<Sandbox> sandbox_;
  QmFiles files_;
  std::unique_ptr<BlockSource> source_;
  std::optional<LockCourse> locks_;
  // `locks_` once it is there, for the thread of the orders.
  std::atomic<const LockCourse*> course_{nullptr};
  std::optional<CheckpointFile> checkpoint_file_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<ReadBack> read_back_;
  std::optional<LockVerification> verification_;
  std::atomic<bool> verifying_{false};
  // Since then there is a loop that an order or the lease ends by itself.
  std::atomic<bool> writing_{false};
  uint32_t epoch_ = 0;
  uint64_t last_sequence_ = 0;
  StopControl control_;
  WriterState state_;
  const std::atomic<int64_t> never_{StopControl::kNever};

  // The watching thread's.
  std::optional<Ledger> ledger_;
  bool reported_first_write_ = false;
  uint64_t reported_full_waits_ = 0;
  std::atomic<bool> stop_watch_{false};
  std::thread watch_;
};

// What the agent's program does when it is started as an instance: with the socket and the memfd of these numbers, by
// an agent that lives.
inline constexpr char kInstanceOption[] = "--ha-instance";
inline constexpr int kInstanceSocketFd = 3;
inline constexpr int kInstanceBoardFd = 4;
int RunInstanceProcess();

}  // namespace plimsoll
