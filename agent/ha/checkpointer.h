// Takes the checkpoints of an active instance.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/checkpoint.h"
#include "agent/ha/instance_board.h"
#include "agent/ha/instance_reporter.h"
#include "common/mutex.h"

namespace plimsoll {

// Owns the thread that takes one at once, of what was replayed, and one every interval, of what the writer has
// completed by then. The first lets a log go on that was full when its instance died: nothing can be written there
// before. No record is written after the lease. A record that cannot be written ends the process.
class Checkpointer {
 public:
  // What is referred to must outlive the object.
  Checkpointer(CheckpointFile& file, const InstanceBoard& board, InstanceReporter& reporter, int64_t interval_ns)
      : file_(file), board_(board), reporter_(reporter), interval_ns_(interval_ns) {}
  ~Checkpointer();

  // Makes a new epoch durable; the log is as checkpointed as before. Returns the record.
  absl::StatusOr<CheckpointRecord> RaiseEpoch(uint32_t host_index);

  // Starts the thread. Blocks up to `replayed_sequence` were replayed.
  void Start(uint64_t replayed_sequence);
  // Ends it; `last` takes one more checkpoint.
  void Finish(bool last);

  // Blocks up to this one may be overwritten.
  const std::atomic<uint64_t>& sequence() const { return sequence_; }

 private:
  void Run();
  // Of what the writer has completed.
  void Take();
  void TakeUpTo(uint64_t sequence);
  absl::Status Write(const CheckpointRecord& record);

  CheckpointFile& file_;
  const InstanceBoard& board_;
  InstanceReporter& reporter_;
  const int64_t interval_ns_;
  std::atomic<uint64_t> sequence_{0};
  // The thread's while it runs.
  CheckpointRecord record_;
  uint64_t replayed_sequence_ = 0;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll
