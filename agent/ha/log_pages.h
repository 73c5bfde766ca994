// What the pages of a log show: whether each block is whole, and where the log ends. Functions of the bytes alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/writer/log_files.h"
#include "common/page_stamp.h"
#include "plimsoll/v1/ha.pb.h"

namespace plimsoll {

// How one log lies on its extents. Blocks are whole pages.
struct LogShape {
  std::array<uint8_t, 16> run_token{};
  uint32_t qm = 0;
  uint64_t file_size_bytes = 0;
  uint32_t num_files = 0;
  uint64_t block_bytes = 0;

  ExtentLayout layout() const { return {file_size_bytes, num_files, block_bytes}; }
  uint64_t blocks_per_lap() const { return layout().blocks_per_lap(); }
  uint64_t pages_per_block() const { return block_bytes / kStampedPageBytes; }
  // Where the block with this sequence number lies, from 0.
  uint64_t PlaceOf(uint64_t sequence) const { return (sequence - 1) % blocks_per_lap(); }
};

// What one place of the log holds.
struct BlockFinding {
  enum class State {
    kFilled,     // as the extents were filled: epoch 0
    kWritten,    // one whole write: see `stamp`
    kTorn,       // a page whose payload is not its stamp's
    kUnstamped,  // a page without a stamp
    kMisplaced,  // a page of another run, queue manager or place
    kMixed,      // whole pages of several writes
  };
  State state = State::kUnstamped;
  // Stamp of the first page; where the block is faulty, of the first page that is wrong (kUnstamped: empty).
  PageStamp stamp;
  // The first page that is wrong, from 0.
  uint32_t page = 0;
  uint64_t torn_pages = 0;
  uint64_t unstamped_pages = 0;
  uint64_t misplaced_pages = 0;
  bool faulty() const { return state != State::kFilled && state != State::kWritten; }
};

// `place` is below blocks_per_lap(), `block` has block_bytes.
BlockFinding JudgeBlock(const LogShape& shape, uint64_t place, std::span<const std::byte> block);

// Counts the faults of a log, and keeps the first of them.
class LogFaults {
 public:
  static constexpr int kMostBlocks = 1'000;

  explicit LogFaults(const LogShape& shape) : shape_(shape) {}
  // A block that is faulty in itself. `sequence`: the block expected in its place; 0: not known.
  void AddFaulty(uint64_t place, uint64_t sequence, const BlockFinding& finding);
  // A place that holds a whole block, but not this one: MISSING or EPOCH_REVERSED.
  void AddWrong(v1::HaFaultyBlock::Kind kind, uint64_t sequence, const BlockFinding& finding);
  const v1::HaFaults& faults() const { return faults_; }

 private:
  void Keep(v1::HaFaultyBlock::Kind kind, uint64_t place, uint64_t sequence, const BlockFinding& finding);

  const LogShape shape_;
  v1::HaFaults faults_;
};

// Finds the end of a log, block by block from its last checkpoint on.
//
// Block n continues the log where its place holds a whole block with that number, of an epoch that is not below that of
// the block before. Where one does not, the log has ended before it, unless a later block continues it: then what is
// between is faulty or missing, for a block is written only when the one before it is durable. So a bounded number of
// blocks is looked at behind the end. A block of a lower epoch behind the end is not a fault: a takeover that found
// less of the log than there is leaves such.
class LogReplay {
 public:
  static constexpr uint64_t kLookAheadBlocks = 256;
  static constexpr uint64_t kLookAheadBytes = uint64_t{8} << 20U;

  // Blocks up to `checkpoint_sequence` need no replay.
  LogReplay(const LogShape& shape, uint64_t checkpoint_sequence);

  // Sequence number of the block to read and to Take next; 0: the end is found.
  uint64_t next() const { return next_; }
  void Take(std::span<const std::byte> block);

  // Once next() is 0.
  uint64_t last_sequence() const { return last_sequence_; }
  // Epoch of the last block's pages; 0 where nothing was written behind the checkpoint.
  uint32_t last_epoch() const { return last_epoch_; }
  uint64_t pages_checked() const { return pages_checked_; }
  const v1::HaFaults& faults() const { return faults_.faults(); }

 private:
  struct Pending {
    uint64_t sequence = 0;
    BlockFinding finding;
  };
  // What is behind the last block that continued the log is within it after all.
  void TakePendingAsFaults();
  void Finish();

  const LogShape shape_;
  const uint64_t checkpoint_sequence_;
  const uint64_t look_ahead_;
  LogFaults faults_;
  uint64_t next_;
  uint64_t last_sequence_;
  uint32_t last_epoch_ = 0;
  uint64_t pages_checked_ = 0;
  std::vector<Pending> pending_;
};

// Describes blocks of a log that is being written, in the order of the log: each of them should be whole in its place.
class LogReadBack {
 public:
  LogReadBack(const LogShape& shape, uint64_t first_sequence);

  // Sequence number of the block to Take next.
  uint64_t next() const { return next_; }
  void Take(std::span<const std::byte> block);
  // Findings of all blocks that were taken, with at most LogFaults::kMostBlocks faults; the caller fills in the time.
  v1::HaReadBack Finish();

 private:
  const LogShape shape_;
  LogFaults faults_;
  uint64_t next_;
  v1::HaReadBack read_;
};

// Describes a whole log, place by place.
class LogScan {
 public:
  static constexpr int kMostRanges = 100'000;

  explicit LogScan(const LogShape& shape) : shape_(shape), faults_(shape) {}

  // The blocks of all places, in their order.
  void Take(std::span<const std::byte> block);
  // Ranges, faults and pages_checked; the caller fills the rest.
  v1::HaScanned Finish();

 private:
  const LogShape shape_;
  LogFaults faults_;
  uint64_t place_ = 0;
  v1::HaScanned scanned_;
  // The place after the last range: only there it grows.
  std::optional<uint64_t> growing_until_;
};

}  // namespace plimsoll
