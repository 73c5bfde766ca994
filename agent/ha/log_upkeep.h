// What an active instance does for its log beside writing it, each on a thread of its own: the checkpoint, up to which
// block the log needs no replay and which epoch writes it; and reading each block back before its place is written
// again. Replay and scan read the log by the same reader.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/log_pages.h"
#include "agent/ha/qm_files.h"
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

// Owns the thread that takes checkpoints: one at once, of what was replayed, and one every interval, of the writes
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
  // Takes a checkpoint of the writes that have completed.
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

// Reads ahead within an extent, as the places are read in their order. Without O_DIRECT it drops what the host has
// cached first, as far as the kernel does so. Not thread-safe.
class LogReader {
 public:
  static constexpr uint64_t kReadBytes = uint64_t{1} << 20U;

  // `files` must outlive the object. Throws std::bad_alloc.
  LogReader(const QmFiles& files, const LogShape& shape);

  // The next read is one of the storage: what was read ahead may have been written since.
  void Forget();

  // The block at this place, valid until the next call. DATA_LOSS where the extent ends before it.
  absl::StatusOr<std::span<const std::byte>> Read(uint64_t place);

 private:
  struct FreeBuffer {
    void operator()(std::byte* memory) const { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)
  };

  const QmFiles& files_;
  const LogShape shape_;
  const uint64_t blocks_at_once_;
  const uint64_t blocks_per_extent_;
  std::unique_ptr<std::byte, FreeBuffer> buffer_;
  uint64_t first_place_ = 0;
  uint64_t blocks_read_ = 0;
};

// Owns a thread that reads each block of the last lap once, in the order of the log and as late as it can: when the
// writer has as many blocks of room left as kRoomPart of a lap. So whatever the storage lost of a block before that, at
// a crash, at its own restart or when it acknowledged the block, is found, whether a checkpoint covers the block or
// not. What it read is reported before the place may be written again. A read that fails ends the process.
class ReadBack {
 public:
  // Blocks are read once the writer's room is down to one part in kRoomPart of a lap.
  static constexpr uint64_t kRoomPart = 4;

  // What is referred to must outlive the object. `last_sequence`: the last block of the log when the epoch began.
  ReadBack(const QmFiles& files, const LogShape& shape, const InstanceBoard& board, InstanceReporter& reporter,
           uint64_t last_sequence);
  ~ReadBack() { Finish(); }

  void Start();
  void Finish();

  // Blocks up to this one were read back by this instance or one before it.
  const std::atomic<uint64_t>& sequence() const { return sequence_; }

  // The last block to have read back when `completed` is the last one written.
  static uint64_t Target(uint64_t completed, uint64_t blocks_per_lap);
  // Blocks that are read at once.
  static uint64_t Piece(const LogShape& shape);
  // Blocks up to this one are no longer there, or are about to go, when an instance continues behind `last_sequence`:
  // the block whose place comes next may have been half overwritten by the write that was in flight.
  static uint64_t Gone(uint64_t last_sequence, uint64_t blocks_per_lap);

 private:
  void Run();
  void Read(uint64_t last);

  const LogShape shape_;
  const InstanceBoard& board_;
  InstanceReporter& reporter_;
  const uint64_t last_sequence_;
  LogReader reader_;
  std::atomic<uint64_t> sequence_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace plimsoll
