#include "controller/render/plain_text.h"

#include <algorithm>
#include <array>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;
constexpr char kEllipsis[] = "\u2026";

struct Range {
  uint32_t first;
  uint32_t last;
};

template <size_t N>
bool In(const std::array<Range, N>& ranges, uint32_t value) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [value](const Range& range) { return value >= range.first && value <= range.last; });
}

// Marks that take no column of their own; the common ones.
constexpr std::array<Range, 8> kNoWidth = {{{0x0300, 0x036F},
                                            {0x0483, 0x0489},
                                            {0x0591, 0x05BD},
                                            {0x064B, 0x065F},
                                            {0x200B, 0x200D},
                                            {0x20D0, 0x20FF},
                                            {0xFE00, 0xFE0F},
                                            {0xFE20, 0xFE2F}}};

// Characters that take two columns (East Asian wide and full-width, emoji).
constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115F},
                                         {0x2E80, 0x303E},
                                         {0x3041, 0xA4CF},
                                         {0xAC00, 0xD7A3},
                                         {0xF900, 0xFAFF},
                                         {0xFE30, 0xFE6F},
                                         {0xFF00, 0xFF60},
                                         {0x1F300, 0x1FAFF},
                                         {0x20000, 0x3FFFD}}};

constexpr std::array<Range, 7> kControl = {{{0x00, 0x1F},
                                            {0x7F, 0x9F},
                                            {0x200E, 0x200F},
                                            {0x2028, 0x202E},
                                            {0x2066, 0x2069},
                                            {0xFEFF, 0xFEFF},
                                            {0xE0000, 0xE007F}}};

size_t WidthOf(uint32_t code_point) {
  if (In(kNoWidth, code_point)) return 0;
  return In(kWide, code_point) ? 2 : 1;
}

// The last characters of the text that fit `width` columns.
std::string Tail(const std::string& text, size_t width) {
  std::vector<std::string> characters;
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    characters.push_back(text.substr(pos, point.bytes));
    pos += point.bytes;
  }
  std::string tail;
  size_t used = 0;
  for (auto character = characters.rbegin(); character != characters.rend(); ++character) {
    used += DisplayWidth(*character);
    if (used > width) break;
    tail.insert(0, *character);
  }
  return tail;
}

bool AllDiffer(const std::vector<std::string>& names) {
  return std::set<std::string>(names.begin(), names.end()).size() == names.size();
}

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
  return In(kControl, code_point);
}

std::string Neutralise(const std::string& text) {
  std::string neutral;
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    AppendUtf8(IsControl(point.value) ? kReplacement : point.value, neutral);
  }
  return neutral;
}

size_t DisplayWidth(const std::string& text) {
  size_t width = 0;
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    pos += point.bytes;
    width += WidthOf(point.value);
  }
  return width;
}

std::string Shorten(const std::string& text, size_t width) {
  if (DisplayWidth(text) <= width) return text;
  std::string shortened;
  size_t used = 1;  // the ellipsis
  for (size_t pos = 0; pos < text.size();) {
    const CodePoint point = DecodeUtf8(text, pos);
    used += WidthOf(point.value);
    if (used > width) break;
    shortened.append(text, pos, point.bytes);
    pos += point.bytes;
  }
  return shortened + kEllipsis;
}

std::string ShortenMiddle(const std::string& text, size_t width, size_t tail) {
  if (DisplayWidth(text) <= width) return text;
  // The head with its ellipsis; a tail of nothing is a cut at the end.
  const std::string head = tail + 1 >= width ? std::string(kEllipsis) : Shorten(text, width - tail);
  return head + Tail(text, tail);
}

std::vector<std::string> ShortenNames(const std::vector<std::string>& names, size_t width) {
  const size_t kept = width - 1;  // besides the ellipsis
  std::vector<std::string> shortened;
  const auto cut = [&](size_t tail) {
    shortened.clear();
    for (const std::string& name : names) shortened.push_back(ShortenMiddle(name, width, tail));
    return AllDiffer(shortened);
  };
  // In the middle, or as near to it as leaves them different.
  for (size_t moved = 0; moved <= kept; ++moved) {
    if (kept / 2 + moved <= kept && cut(kept / 2 + moved)) return shortened;
    if (moved < kept / 2 && cut(kept / 2 - moved)) return shortened;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (DisplayWidth(names[i]) <= width) {
      shortened[i] = names[i];
      continue;
    }
    const std::string number = absl::StrCat("#", i + 1);
    shortened[i] = Shorten(names[i], width - std::min(number.size(), width - 1)) + number;
  }
  return shortened;
}

std::string PadRight(const std::string& text, size_t width) {
  const size_t used = DisplayWidth(text);
  return used >= width ? text : text + std::string(width - used, ' ');
}

std::string PadLeft(const std::string& text, size_t width) {
  const size_t used = DisplayWidth(text);
  return used >= width ? text : std::string(width - used, ' ') + text;
}

std::vector<std::string> Wrap(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  for (std::string word : words) {
    if (!line.empty() && DisplayWidth(line) + 1 + DisplayWidth(word) > width) {
      lines.push_back(line);
      line.clear();
    }
    // A word that is wider than a line is cut.
    while (DisplayWidth(word) > width) {
      std::string part;
      size_t pos = 0;
      while (pos < word.size()) {
        const CodePoint point = DecodeUtf8(word, pos);
        if (DisplayWidth(part) + WidthOf(point.value) > width) break;
        part.append(word, pos, point.bytes);
        pos += point.bytes;
      }
      lines.push_back(part);
      word.erase(0, pos);
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(line);
  return lines;
}

}  // namespace plimsoll
