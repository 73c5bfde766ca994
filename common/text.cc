#include "common/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxNameLength = 64;
constexpr size_t kShownLength = 60;
constexpr size_t kLeastAbbreviation = 5;

// Bytes of the UTF-8 sequence at the front of `text`; 0 where there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  uint32_t code = 0;
  uint32_t least = 0;
  if ((first & 0xE0U) == 0xC0) {
    length = 2, code = first & 0x1FU, least = 0x80;
  } else if ((first & 0xF0U) == 0xE0) {
    length = 3, code = first & 0x0FU, least = 0x800;
  } else if ((first & 0xF8U) == 0xF0) {
    length = 4, code = first & 0x07U, least = 0x10000;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < least || code > 0x10FFFF || surrogate ? 0 : length;
}

// Whether the letters of `part` are in `whole`, in their order, the first and the last at its ends.
bool IsSubsequence(const std::string& part, const std::string& whole) {
  if (part.empty() || whole.empty() || part.front() != whole.front() || part.back() != whole.back()) return false;
  size_t found = 0;
  for (const char c : whole) {
    if (found < part.size() && part[found] == c) ++found;
  }
  return found == part.size();
}

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replaced});
      // Two letters swapped.
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string Comparable(const std::string& word) {
  std::string comparable = absl::AsciiStrToLower(word);
  std::ranges::replace(comparable, '-', '_');
  return comparable;
}

}  // namespace

size_t FindInvalidUtf8(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    const size_t length = SequenceLength(text.substr(pos));
    if (length == 0) return pos;
    pos += length;
  }
  return std::string_view::npos;
}

bool IsPlainNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength && name[0] != '.' && std::ranges::all_of(name, IsPlainNameChar);
}

bool IsRunId(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameLength &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string Quoted(std::string_view text) {
  const bool cut = text.size() > kShownLength;
  std::string shown(text.substr(0, kShownLength));
  if (FindInvalidUtf8(shown) != std::string::npos || HasControl(shown)) {
    for (char& c : shown) {
      if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
    }
  }
  return absl::StrCat("'", shown, cut ? "..." : "", "'");
}

std::string ShellQuoted(const std::string& argument) {
  const bool plain = !argument.empty() && std::ranges::all_of(argument, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("%+,-./:=@_").find(c) != std::string_view::npos;
  });
  return plain ? argument : absl::StrCat("'", absl::StrReplaceAll(argument, {{"'", "'\\''"}}), "'");
}

std::string ClosestWord(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > kShownLength) return "";
  const std::string wanted = Comparable(word);
  std::string best;
  size_t best_distance = std::max<size_t>(1, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(wanted, Comparable(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  // An abbreviation, or what was abbreviated: --blocksize for --bsize.
  for (const std::string& candidate : candidates) {
    const std::string known = Comparable(candidate);
    const bool shorter = known.size() < wanted.size();
    const std::string& part = shorter ? known : wanted;
    if (part.size() >= kLeastAbbreviation && IsSubsequence(part, shorter ? wanted : known)) return candidate;
  }
  return "";
}

namespace {

constexpr uint32_t kReplacement = 0xFFFD;

struct CodePointRange {
  uint32_t first;
  uint32_t last;
};

// C0, DEL and C1, the separators of lines and paragraphs, and all that Unicode calls default ignorable: characters
// without width, and those that turn the direction of text.
constexpr std::array<CodePointRange, 18> kControl = {{
    {0x00, 0x1F},
    {0x7F, 0x9F},
    {0xAD, 0xAD},
    {0x34F, 0x34F},
    {0x61C, 0x61C},
    {0x115F, 0x1160},
    {0x17B4, 0x17B5},
    {0x180B, 0x180F},
    {0x200B, 0x200F},
    {0x2028, 0x202E},
    {0x2060, 0x206F},
    {0x3164, 0x3164},
    {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},
    {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A},
}};

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
  // Most characters of a report.
  if (code_point >= 0x20 && code_point < 0x7F) return false;
  if (code_point >= 0xE0000 && code_point <= 0xE0FFF) return true;
  return std::ranges::any_of(kControl, [code_point](const CodePointRange& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

bool HasControl(std::string_view text) {
  const std::string characters(text);
  for (size_t pos = 0; pos < characters.size();) {
    const CodePoint point = DecodeUtf8(characters, pos);
    if (IsControl(point.value)) return true;
    pos += point.bytes;
  }
  return false;
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
