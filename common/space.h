// What preparing leaves free on a file system.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace plimsoll {

// Bytes that stay free on a file system of `total_bytes`: `asked` (--min-free), or 5 % of the file system or 256 MiB,
// whichever is greater. Agent and controller check against the same number.
inline uint64_t MinFreeBytes(std::optional<uint64_t> asked, uint64_t total_bytes) {
  constexpr uint64_t kLeastBytes = uint64_t{256} << 20;
  return asked.value_or(std::max(total_bytes / 20, kLeastBytes));
}

}  // namespace plimsoll
