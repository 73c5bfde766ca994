// What a writer has written into its log, by its own count of writes, and what each byte of the log holds therefore.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/writer/block_source.h"
#include "agent/writer/log_files.h"

namespace plimsoll {

// One run of a step by one writer: blocks of one size, written in order from the first place of the log on.
struct WrittenRun {
  uint32_t epoch = 0;  // of the stamps
  uint64_t block_bytes = 0;
  // Writes that completed, those of the warm-up too.
  uint64_t acknowledged = 0;
  // One more write began and failed: its place may hold this write, a part of it, or what was there before.
  bool open_write = false;
};

// The log of one writer: how it lies on its extents, and every run since it was filled.
struct WrittenLog {
  BlockSource::Identity identity;
  uint64_t file_size_bytes = 0;
  uint32_t num_files = 0;
  // In their order. Each has written something, but for the last one of a log that is read back.
  std::vector<WrittenRun> runs = {};

  ExtentLayout LayoutOf(const WrittenRun& run) const { return {file_size_bytes, num_files, run.block_bytes}; }
  // Number of the run's last acknowledged write to a place, from 1; 0: none.
  uint64_t LastWriteTo(const WrittenRun& run, uint64_t place) const;
  // Adds a run, and forgets those of which it has overwritten everything.
  void Add(const WrittenRun& run);
};

// The bytes that a log holds after its first so many runs. Makes them again from the numbers of the writes. Not
// thread-safe.
class LogContents {
 public:
  // Bytes of one write, or of the filling.
  struct Piece {
    uint64_t size_bytes = 0;
    // Null where it is not known what they are: in the place of an open write, and where a page carries no stamp. Valid
    // until the next call.
    const std::byte* bytes = nullptr;
    // Of the write; 0: of the filling.
    uint32_t epoch = 0;
    uint64_t sequence = 0;
  };

  // `log` must outlive the object. Takes 2.1 MiB, or 1.1 MiB and the largest block. Throws std::bad_alloc.
  LogContents(const WrittenLog& log, size_t runs);

  // The bytes from an offset on, within the extent: at least one, at most `most_bytes`.
  Piece At(uint32_t extent, uint64_t offset_bytes, uint64_t most_bytes);

 private:
  // One write: where it lies in the extent, and which it is.
  struct Write {
    uint64_t offset_bytes = 0;
    uint64_t size_bytes = 0;
    uint64_t sequence = 0;
  };

  // The part of a write from an offset on, at most up to `end_bytes` of the extent. `run` is null for the filling.
  Piece PartOf(const Write& write, const WrittenRun* run, uint64_t offset_bytes, uint64_t end_bytes);

  const WrittenLog& log_;
  const size_t runs_;
  BlockSource source_;
  // The block that the source has made last.
  const WrittenRun* made_of_ = nullptr;
  uint64_t made_sequence_ = 0;
  const std::byte* made_ = nullptr;
};

}  // namespace plimsoll
