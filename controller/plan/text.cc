#include "controller/plan/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

constexpr size_t kShownLength = 60;

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

size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string Comparable(const std::string& word) {
  std::string comparable = absl::AsciiStrToLower(word);
  std::replace(comparable.begin(), comparable.end(), '-', '_');
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

bool HasControl(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    // U+0080 to U+009F.
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<uint8_t>(text[i + 1]) < 0xA0) return true;
  }
  return false;
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
  return best;
}

}  // namespace plimsoll
