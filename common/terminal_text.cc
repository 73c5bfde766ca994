#include "common/terminal_text.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

constexpr std::array<CodePointRange, 7> kControl = {{{0x00, 0x1F},
                                                     {0x7F, 0x9F},
                                                     {0x200E, 0x200F},
                                                     {0x2028, 0x202E},
                                                     {0x2066, 0x2069},
                                                     {0xFEFF, 0xFEFF},
                                                     {0xE0000, 0xE007F}}};

}  // namespace

CodePoint DecodeUtf8(const std::string& text, size_t pos) {
  const auto byte = [&text](size_t at) { return static_cast<uint32_t>(static_cast<unsigned char>(text[at])); };
  const uint32_t first = byte(pos);
  if (first < 0x80) return {first, 1};
  const size_t length = first >= 0xF0 && first < 0xF5 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (first >= 0xF5 || length == 0 || pos + length > text.size()) return {kReplacement, 1};
  uint32_t value = first & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(pos + i) & 0xC0U) != 0x80) return {kReplacement, 1};
    value = (value << 6) | (byte(pos + i) & 0x3FU);
  }
  constexpr std::array<uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {kReplacement, 1};
  return {value, length};
}

void AppendUtf8(uint32_t code_point, std::string& text) {
  const auto put = [&text](uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | (code_point >> 6));
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    put(0xE0U | (code_point >> 12));
    put(0x80U | ((code_point >> 6) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    put(0xF0U | (code_point >> 18));
    put(0x80U | ((code_point >> 12) & 0x3FU));
    put(0x80U | ((code_point >> 6) & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  }
}

bool IsControl(uint32_t code_point) {
  return std::any_of(kControl.begin(), kControl.end(), [code_point](const CodePointRange& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::string SanitizeForTerminal(const std::string& text) {
  std::string neutral;
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    AppendUtf8(IsControl(point.value) ? kReplacement : point.value, neutral);
  }
  return neutral;
}

}  // namespace plimsoll
