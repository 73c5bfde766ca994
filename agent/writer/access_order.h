// In which order a step reaches the blocks of the extents, and which of them it reads, where it does not write one
// after the other as a log is written.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "agent/writer/log_files.h"
#include "common/integers.h"

namespace plimsoll {

// A random order of the numbers below `count`, each of them once. With equal keys it is the same order. A Feistel
// network of four rounds over the next power of four, whose numbers from `count` on are skipped (Black and Rogaway,
// "Ciphers with Arbitrary Finite Domains", 2002): no memory, some 20 to 80 ns a number.
class RandomOrder {
 public:
  // `count` in [1, 2^62].
  RandomOrder(uint64_t count, uint64_t key)
      : count_(count),
        key_(key),
        half_bits_(static_cast<int>((std::bit_width(count - 1) + 1) / 2)),
        mask_((uint64_t{1} << half_bits_) - 1) {}

  uint64_t count() const { return count_; }

  // The number at `place`, which is below count().
  uint64_t At(uint64_t place) const {
    do {
      place = Shuffle(place);
    } while (place >= count_);
    return place;
  }

 private:
  uint64_t Shuffle(uint64_t place) const {
    uint64_t left = place >> half_bits_;
    uint64_t right = place & mask_;
    for (uint64_t round = 1; round <= 4; ++round) {
      const uint64_t next = left ^ (MixBits(key_ + round * kGolden + right) & mask_);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;

  uint64_t count_;
  uint64_t key_;
  int half_bits_;
  uint64_t mask_;
};

// How the operations of one step of one writer differ from a log's.
class Access {
 public:
  struct Key {
    uint32_t seed = 0;
    uint32_t host = 0;    // number of the host in the run, from 0
    uint32_t writer = 0;  // of the host, from 1
  };

  // `random`: each pass takes all blocks in a random order of its own. `read_percent`: at most 100. `read_operation`:
  // place of the read in the step's list of operations.
  Access(bool random, uint32_t read_percent, uint32_t read_operation, Key key)
      : random_(random),
        read_percent_(read_percent),
        read_operation_(read_operation),
        key_(MixBits(MixBits(MixBits(kSalt ^ key.seed) ^ key.host) ^ key.writer)) {}

  bool random() const { return random_; }
  uint32_t read_operation() const { return read_operation_; }

  // Whether operation `number` (from 0) reads. Of each hundred operations, exactly the share does.
  bool Reads(uint64_t number) const {
    if (read_percent_ == 0 || read_percent_ == kHundred) return read_percent_ != 0;
    return RandomOrder(kHundred, key_ + number / kHundred).At(number % kHundred) < read_percent_;
  }
  // Order of the blocks of a pass.
  RandomOrder OrderOf(uint64_t pass, uint64_t blocks) const { return {blocks, MixBits(~key_ ^ pass)}; }

 private:
  static constexpr uint64_t kHundred = 100;
  // Keeps the draws independent of the random arrivals and sizes of the same seed.
  static constexpr uint64_t kSalt = 0x616363657373;

  bool random_;
  uint32_t read_percent_;
  uint32_t read_operation_;
  uint64_t key_;
};

// The places of a step's operations, in their order. Not thread-safe.
class OperationPlaces {
 public:
  // As ExtentWalk. `access`: none for a log; must outlive the object. A random order is one of blocks of the layout's
  // size.
  OperationPlaces(const ExtentLayout& layout, uint64_t first_block, const Access* access)
      : layout_(layout),
        walk_(layout, first_block),
        access_(access != nullptr && access->random() ? access : nullptr) {}

  // Place of the next operation, which has `bytes`.
  BlockPlace Take(uint64_t bytes) {
    if (access_ == nullptr) [[likely]]
      return walk_.Take(bytes);
    if (!order_ || at_ == order_->count()) {
      order_ = access_->OrderOf(passes_++, layout_.blocks_per_lap());
      at_ = 0;
    }
    return layout_.PlaceOf(order_->At(at_++));
  }

  // How often the first extent was begun again. Always 0 in a random order.
  uint64_t laps() const { return walk_.laps(); }

 private:
  ExtentLayout layout_;
  ExtentWalk walk_;
  const Access* access_;
  std::optional<RandomOrder> order_;
  uint64_t at_ = 0;
  uint64_t passes_ = 0;
};

}  // namespace plimsoll
