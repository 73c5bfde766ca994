// Where a writer's blocks lie: block after block, extent after extent, round and round.
#pragma once

#include <cstdint>

namespace plimsoll {

// Place of a block.
struct BlockPlace {
  uint32_t extent = 0;
  uint64_t offset_bytes = 0;
  bool operator==(const BlockPlace&) const = default;
};

// Extents of equal size that are written in turn. A block that does not fit in the rest of an extent goes to the start
// of the next one. All arithmetic is in 64 bits: extents of 2 and 4 GiB and above are nothing special.
class ExtentLayout {
 public:
  // `block_bytes` in [1, file_size_bytes], `num_files` at least 1.
  ExtentLayout(uint64_t file_size_bytes, uint32_t num_files, uint64_t block_bytes)
      : block_bytes_(block_bytes), blocks_per_extent_(file_size_bytes / block_bytes), num_files_(num_files) {}

  uint64_t block_bytes() const { return block_bytes_; }
  // Blocks until the first place comes again.
  uint64_t blocks_per_lap() const { return blocks_per_extent_ * num_files_; }

  // Place of the block with number `block` of a step, from 0.
  BlockPlace PlaceOf(uint64_t block) const {
    const uint64_t slot = block % blocks_per_lap();
    return {static_cast<uint32_t>(slot / blocks_per_extent_), slot % blocks_per_extent_ * block_bytes_};
  }

  // The place of the block after the one at `place`. Does without a division.
  BlockPlace After(BlockPlace place) const {
    place.offset_bytes += block_bytes_;
    if (place.offset_bytes == blocks_per_extent_ * block_bytes_) {
      place.offset_bytes = 0;
      if (++place.extent == num_files_) place.extent = 0;
    }
    return place;
  }

 private:
  uint64_t block_bytes_;
  uint64_t blocks_per_extent_;
  uint32_t num_files_;
};

}  // namespace plimsoll
