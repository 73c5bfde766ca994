#include "controller/page/packing.h"

#include <algorithm>

#include "absl/strings/escaping.h"

namespace plimsoll {

std::string PackColumn(const std::vector<int64_t>& values) {
  std::string bytes;
  int64_t last = 0;
  for (const int64_t value : values) {
    const int64_t packed = std::clamp(value, -kMaxPacked, kMaxPacked);
    const int64_t change = packed - last;
    last = packed;
    uint64_t folded = change < 0 ? 2 * static_cast<uint64_t>(-(change + 1)) + 1 : 2 * static_cast<uint64_t>(change);
    for (; folded >= 0x80; folded >>= 7)
      bytes += static_cast<char>(static_cast<unsigned char>(0x80U | (folded & 0x7FU)));
    bytes += static_cast<char>(folded);
  }
  return absl::Base64Escape(bytes);
}

}  // namespace plimsoll
