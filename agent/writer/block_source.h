// The bytes that a writer writes: incompressible, every page different from every other one, made for next to nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/page_stamp.h"

namespace plimsoll {

// Block n (from 0) is the window of the pool that starts at page (n x pages of a block + something) modulo a prime that
// divides neither the blocks of a lap nor the pages of a block. Hence the windows of two blocks that are one lap apart
// start at different pages, and so each page of the later one is another pool page than the page that it overwrites.
class PoolWalk {
 public:
  // Some 1 MiB of pages: more than what compressing arrays look at in one piece, little enough for a CPU's cache. A lap
  // has at most 511 x 1 TiB / 512 B = 2^40 blocks, a block 2^14 pages: no lap is a multiple of the product of five of
  // them, no block of the product of two, so one of the seven always divides neither.
  static constexpr std::array<uint64_t, 7> kPrimes = {257, 263, 269, 271, 277, 281, 283};
  // No window starts at or behind this page.
  static constexpr uint64_t kWindows = kPrimes.back();

  PoolWalk() = default;
  // The walk of an epoch starts at a page that depends on the epoch: what repeats between two epochs by chance is then
  // not the whole of a lap.
  PoolWalk(uint32_t epoch, uint64_t pages_per_block, uint64_t blocks_per_lap) {
    for (const uint64_t prime : kPrimes) {
      prime_ = prime;
      if (blocks_per_lap % prime != 0 && pages_per_block % prime != 0) break;
    }
    stride_ = pages_per_block % prime_;
    window_ = uint64_t{epoch} * kEpochStride % prime_;
  }

  // First page of the current block's window.
  uint64_t window() const { return window_; }
  // First page of the window of the block that comes `blocks` blocks after the current one.
  uint64_t WindowAfter(uint64_t blocks) const { return (window_ + blocks % prime_ * stride_) % prime_; }
  void Advance() {
    window_ += stride_;
    if (window_ >= prime_) window_ -= prime_;
  }

 private:
  static constexpr uint64_t kEpochStride = 101;

  uint64_t prime_ = kPrimes.front();
  uint64_t stride_ = 1;
  uint64_t window_ = 0;
};

// A pool of random pages of one writer. A block is a window of the pool whose pages are stamped in place: nothing is
// copied and nothing is summed up, since the checksums of the payloads are known beforehand.
//
// Every page differs from every other page of the run by its stamp (run, host, writer, epoch, sequence, page). Where a
// block of a log overwrites the one of the lap before, in the same epoch, each of its pages has another payload than
// the page that it overwrites (see PoolWalk), so that a torn page shows. Between epochs the payloads differ too, but
// for one page in some hundreds.
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

  // The next blocks are of `block_bytes`, one of the sizes given to the constructor; a lap of the extents has
  // `blocks_per_lap`. A page that is smaller than a stamp (the end of an odd block) carries none.
  void StartEpoch(uint32_t epoch, uint64_t block_bytes, uint64_t blocks_per_lap);

  // The block with number `sequence` of the epoch, from 1. Some 10 ns a page.
  const std::byte* Next(uint64_t sequence) {
    const std::byte* block = StampAt(walk_.window(), sequence, block_bytes_);
    walk_.Advance();
    return block;
  }

  // The block that Next has made, or will make, for this number of the epoch if Next began with number 1.
  const std::byte* Repeat(uint64_t sequence) {
    return StampAt(first_.WindowAfter(sequence - 1), sequence, block_bytes_);
  }

  // Next for blocks of several of the sizes given, each a multiple of a page: `page` is the number of the block's
  // first page in the log, `lap` how often the log was written before. Each page then differs from the one that it
  // overwrites, whatever blocks the two belong to: the pool page of a page is its number plus its lap, modulo a prime.
  const std::byte* AtPage(uint64_t sequence, uint64_t block_bytes, uint64_t lap, uint64_t page);

  // Allocates a buffer for reads, as large as the largest block. Throws std::bad_alloc.
  void MakeReadBuffer();
  // Null if no room was made.
  std::byte* read_buffer() const { return read_buffer_.get(); }

  // A block of another of the sizes given, without a promise on the lap: for filling extents. With the same number it
  // is the same block, whatever was made before.
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
  std::unique_ptr<std::byte, FreeMemory> read_buffer_;
  std::vector<Checksums> checksums_;  // full pages first, then each length of an incomplete one

  uint64_t block_bytes_ = 0;
  PoolWalk walk_;
  // At the epoch's first block.
  PoolWalk first_;
};

}  // namespace plimsoll
