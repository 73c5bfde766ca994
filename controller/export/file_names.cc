#include "controller/export/file_names.h"

#include "absl/strings/ascii.h"

namespace plimsoll {

std::string SafeName(const std::string& text, size_t most) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = absl::ascii_isalnum(byte) || c == '_' || c == '-' || (c == '.' && !name.empty());
    const size_t needed = plain ? 1 : 3;
    if (name.size() + needed > most) break;
    if (plain) {
      name += c;
    } else {
      name += '%';
      name += kHex[byte >> 4U];
      name += kHex[byte & 15U];
    }
  }
  return name.empty() ? "%" : name;
}

}  // namespace plimsoll
