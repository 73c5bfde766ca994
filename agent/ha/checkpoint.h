// The checkpoint beside a log: up to which block it needs no replay, and which epoch writes it; and the thread of an
// active instance that takes it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/instance_reporter.h"
#include "common/mutex.h"
#include "common/page_stamp.h"

namespace plimsoll {

struct CheckpointRecord {
  uint32_t epoch = 0;
  // Counts the records of the log, over all epochs.
  uint64_t generation = 0;
  uint32_t host_index = 0;
  // Blocks up to this one need no replay.
  uint64_t sequence = 0;
};

// One page for the file's identity, then slots of a page each: two for each epoch in turn, so that neither a torn write
// nor the late one of an instance that was replaced destroys the newest record.
inline constexpr uint64_t kCheckpointSlots = 4;
inline constexpr uint64_t kCheckpointBytes = (1 + kCheckpointSlots) * kStampedPageBytes;

// Slot of a record, from 0.
constexpr uint64_t SlotOf(const CheckpointRecord& record) {
  return record.epoch % 2 * 2 + record.generation % 2;
}

// Fills `page` with the record as it lies in its slot.
void FormatCheckpoint(const std::array<uint8_t, 16>& run_token, uint32_t qm, const CheckpointRecord& record,
                      std::span<std::byte> page);
// What the slot's page holds; none where it is not whole, or of another log.
std::optional<CheckpointRecord> ParseCheckpoint(const std::array<uint8_t, 16>& run_token, uint32_t qm, uint64_t slot,
                                                std::span<const std::byte> page);

// The file, open for reading and writing with O_DSYNC or a sync after each write. Not thread-safe.
class CheckpointFile {
 public:
  // `fd` must outlive the object; `path` is for errors.
  CheckpointFile(int fd, std::string path, const std::array<uint8_t, 16>& run_token, uint32_t qm);

  // The newest record: by epoch, then by generation. One of epoch 0 where there is none yet. DATA_LOSS where the file
  // is shorter than it was made.
  absl::StatusOr<CheckpointRecord> Read();
  // Makes the record durable.
  absl::Status Write(const CheckpointRecord& record);

 private:
  const int fd_;
  const std::string path_;
  const std::array<uint8_t, 16> run_token_;
  const uint32_t qm_;
};

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
