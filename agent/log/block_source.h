// The bytes that a writer writes: incompressible, every page different from every other one, made for next to nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/log/pool_walk.h"
#include "common/page_stamp.h"

namespace plimsoll {

// A pool of random pages of one writer. A block is a window of the pool whose pages are stamped in place: nothing is
// copied and nothing is summed up, since the checksums of the payloads are known beforehand.
//
// Every page differs from every other page of the run by its stamp (run, host, writer, epoch, sequence, page). Where a
// block overwrites the one of the lap before, in the same epoch, each of its pages has another payload than the page
// that it overwrites (see PoolWalk), so that a torn page shows. Between epochs the payloads differ too, but for one
// page in some hundreds.
//
// The memory is aligned to 4096 bytes. Not thread-safe; a block is valid until the next call.
class BlockSource {
 public:
  struct Identity {
    std::array<uint8_t, 16> run_token{};
    uint32_t host_index = 0;
    uint32_t qm = 0;
  };

  // For blocks of the sizes in `block_bytes` (whose incomplete last pages need checksums of their own). The pool takes
  // the largest of them and 1.1 MiB; making it, some milliseconds for each 16 MiB. Throws std::bad_alloc.
  BlockSource(const Identity& identity, std::span<const uint64_t> block_bytes);

  // Blocks of `block_bytes`, one of the sizes given to the constructor, are asked for next; a lap of the extents has
  // `blocks_per_lap`. A page that is smaller than a stamp (the end of an odd block) carries none.
  void StartEpoch(uint32_t epoch, uint64_t block_bytes, uint64_t blocks_per_lap);

  // The block with number `sequence` of the epoch, from 1. Some 10 ns a page.
  const std::byte* Next(uint64_t sequence) {
    const std::byte* block = StampAt(walk_.window(), sequence, block_bytes_);
    walk_.Advance();
    return block;
  }

  // The same for a block of another of the sizes given, without a promise on the lap: for filling extents.
  const std::byte* NextOfSize(uint64_t sequence, uint64_t block_bytes);

 private:
  struct FreeMemory {
    void operator()(std::byte* memory) const;
  };
  // Checksums of all pool pages, cut to `length` bytes.
  struct Checksums {
    uint64_t length = 0;
    std::vector<uint64_t> of_page;
  };

  const std::byte* StampAt(uint64_t window, uint64_t sequence, uint64_t block_bytes);
  const std::vector<uint64_t>& ChecksumsOf(uint64_t length) const;
  void AddChecksums(uint64_t length);

  PageStamp stamp_;
  uint64_t pages_ = 0;
  std::unique_ptr<std::byte, FreeMemory> pool_;
  std::vector<Checksums> checksums_;  // full pages first, then each length of an incomplete one

  uint64_t block_bytes_ = 0;
  PoolWalk walk_;
  uint64_t fill_window_ = 0;
};

}  // namespace plimsoll
