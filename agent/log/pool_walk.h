// Which part of the pool each block is.
#pragma once

#include <array>
#include <cstdint>

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

}  // namespace plimsoll
