// Reads packed columns as a page's script does.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace plimsoll::tests {

// What pack.js does, in numbers that are exact up to 2^53 only. Text that is not base64 gives a single -1.
inline std::vector<double> Unpack(const std::string& text) {
  std::string bytes;
  if (!absl::Base64Unescape(text, &bytes)) return {-1};
  std::vector<double> values;
  double last = 0;
  double folded = 0;
  double scale = 1;
  for (const char byte : bytes) {
    const auto bits = static_cast<unsigned char>(byte);
    folded += static_cast<double>(bits & 0x7FU) * scale;
    scale *= 128;
    if ((bits & 0x80U) != 0) continue;
    const bool negative = static_cast<uint64_t>(folded) % 2 == 1;
    last += negative ? -(folded + 1) / 2 : folded / 2;
    values.push_back(last);
    folded = 0;
    scale = 1;
  }
  return values;
}

}  // namespace plimsoll::tests
