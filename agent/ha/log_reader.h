// Reads a log past the cache: for a replay or a scan, and back, before its places are written again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/ha/instance_channel.h"
#include "agent/ha/instance_reporter.h"
#include "agent/ha/log_pages.h"
#include "agent/ha/qm_files.h"

namespace plimsoll {

// Reads ahead within an extent, as the places are asked for in their order. Without O_DIRECT it drops what the host has
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
  // Of a lap: the writer's room in which blocks are read.
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
  // Those up to this one are no longer there, or are about to go, when an instance continues behind `last_sequence`:
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
