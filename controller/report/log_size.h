// How large a writer's log has to be to hold what it writes.
#pragma once

#include <cstdint>

namespace plimsoll {

// The size that all files of a writer's log need to have together for so many blocks, rounded up to MiB.
inline uint64_t LogSizeFor(uint64_t blocks, uint64_t block_size_bytes) {
  constexpr uint64_t kUnitBytes = uint64_t{1} << 20;
  const uint64_t most_blocks = (UINT64_MAX - kUnitBytes) / (block_size_bytes == 0 ? 1 : block_size_bytes);
  const uint64_t bytes = (blocks < most_blocks ? blocks : most_blocks) * block_size_bytes;
  return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
}

}  // namespace plimsoll
