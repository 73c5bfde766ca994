// What a writer does next: whether it writes or reads, where the block lies, how large it is, and its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/writer/access_order.h"
#include "agent/writer/block_source.h"
#include "agent/writer/log_files.h"
#include "common/integers.h"
#include "common/page_stamp.h"

namespace plimsoll {

// The sizes of a writer's blocks where they differ. A block's size is drawn from its number: with equal keys the same
// blocks have the same sizes.
class SizeMix {
 public:
  struct Share {
    uint64_t bytes = 0;
    uint32_t percent = 0;
    bool operator==(const Share&) const = default;
  };
  struct Key {
    uint32_t seed = 0;
    uint32_t host = 0;    // number of the host in the run, from 0
    uint32_t writer = 0;  // of the host, from 1
  };

  // `shares`: at least one; their percentages are 100 together.
  SizeMix(std::vector<Share> shares, Key key)
      : shares_(std::move(shares)), key_(MixBits(MixBits(MixBits(kSalt ^ key.seed) ^ key.host) ^ key.writer)) {
    constexpr uint64_t kPercent = UINT64_MAX / 100;
    uint64_t percent = 0;
    for (const Share& share : shares_) below_.push_back(kPercent * (percent += share.percent));
    below_.back() = UINT64_MAX;
  }

  // Place, in the list of sizes, of the size of block `number` (from 0). Some nanoseconds.
  uint32_t SizeOf(uint64_t number) const {
    const uint64_t drawn = MixBits(key_ ^ MixBits(number + kGolden));
    uint32_t size = 0;
    while (drawn > below_[size]) ++size;
    return size;
  }
  uint64_t bytes(uint32_t size) const { return shares_[size].bytes; }
  const std::vector<Share>& shares() const { return shares_; }

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
  // Keeps sizes independent of the random arrivals of the same seed.
  static constexpr uint64_t kSalt = 0x73697a65;

  std::vector<Share> shares_;
  // The largest draw that selects each size.
  std::vector<uint64_t> below_;
  uint64_t key_;
};

// The blocks of one step of one writer, in their order. Not thread-safe.
class LogSource {
 public:
  struct Block {
    BlockPlace place;
    // Null: the block is read.
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
    // Place of its size in the mix; 0 where all have one size.
    uint32_t size = 0;
  };

  // `blocks` makes the bytes, and must outlive the object. Without a mix, all have the layout's size, and the first one
  // is number `first_block` of the log; with one, sizes are multiples of a page, and the order is not random. `mix` and
  // `access` must outlive the object.
  LogSource(const ExtentLayout& layout, const std::optional<SizeMix>& mix, const std::optional<Access>& access,
            uint32_t epoch, uint64_t first_block, BlockSource& blocks)
      : block_bytes_(layout.block_bytes()),
        pages_per_extent_(layout.file_size_bytes() / kStampedPageBytes + 1),
        mix_(mix ? &*mix : nullptr),
        access_(access ? &*access : nullptr),
        is_plain_(!mix && !access),
        sequence_(first_block),
        walk_(layout, first_block),
        places_(layout, mix ? 0 : first_block, access_),
        blocks_(blocks) {
    blocks_.StartEpoch(epoch, block_bytes_, layout.blocks_per_lap());
  }

  // Number of the block that Next has returned last, from 1.
  uint64_t sequence() const { return sequence_; }

  // Returns the next block. Its bytes are valid until the next call.
  Block Next() {
    ++sequence_;
    if (is_plain_) [[likely]]
      return {walk_.Take(block_bytes_), blocks_.Next(sequence_), block_bytes_, 0};
    return NextOfMixOrAccess();
  }

 private:
  // Apart, so that the loop of a plain log stays small.
  [[gnu::noinline]] Block NextOfMixOrAccess() {
    const bool reads = access_ != nullptr && access_->Reads(sequence_ - 1);
    if (mix_ == nullptr) {
      return {places_.Take(block_bytes_), reads ? nullptr : blocks_.Next(sequence_), block_bytes_, 0};
    }
    const uint32_t size = mix_->SizeOf(sequence_ - 1);
    const uint64_t bytes = mix_->bytes(size);
    const BlockPlace place = places_.Take(bytes);
    if (reads) return {place, nullptr, bytes, size};
    const uint64_t page = place.extent * pages_per_extent_ + place.offset_bytes / kStampedPageBytes;
    return {place, blocks_.AtPage(sequence_, bytes, places_.laps(), page), bytes, size};
  }

  const uint64_t block_bytes_;
  const uint64_t pages_per_extent_;
  const SizeMix* const mix_;
  const Access* const access_;
  const bool is_plain_;
  uint64_t sequence_;
  ExtentWalk walk_;
  OperationPlaces places_;
  BlockSource& blocks_;
};

}  // namespace plimsoll
