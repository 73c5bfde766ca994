#include "controller/mq/mq_text.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr size_t kMostProblems = 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr uint32_t kReplacement = 0xfffd;

// What stands for a character in plain text; null: itself.
const char* PlainCharacter(uint32_t code_point) {
  const auto between = [code_point](uint32_t first, uint32_t last) {
    return code_point >= first && code_point <= last;
  };
  switch (code_point) {
    case '\t':
    case 0xa0:
    case 0x1680:
    case 0x202f:
    case 0x205f:
    case 0x3000:
      return " ";
    case 0xad:
    case 0xfeff:
      return "";
    case 0x2212:
    case 0xfe58:
    case 0xfe63:
    case 0xff0d:
      return "-";
    case 0xb5:
    case 0x3bc:
      return "u";
    case 0xff1a:
      return ":";
    case 0xff1d:
      return "=";
    default:
      break;
  }
  if (between(0x2000, 0x200a)) return " ";
  if (between(0x200b, 0x200f) || between(0x202a, 0x202e) || between(0x2060, 0x2069)) return "";
  if (between(0x2010, 0x2015)) return "-";
  if (between(0x2018, 0x201b)) return "'";
  if (between(0x201c, 0x201f)) return "\"";
  return nullptr;
}

// The character of a byte that is not UTF-8, as Windows' code page 1252 has it.
uint32_t OfCodePage(unsigned char byte) {
  switch (byte) {
    case 0x91:
    case 0x92:
      return 0x2019;
    case 0x93:
    case 0x94:
      return 0x201d;
    case 0x96:
    case 0x97:
      return 0x2013;
    case 0xa0:
    case 0xad:
    case 0xb5:
      return byte;
    default:
      return kReplacement;
  }
}

bool IsAscii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return absl::ascii_isascii(static_cast<unsigned char>(c)); });
}

}  // namespace

void FileProblems::Add(size_t line, std::string_view text) {
  if (problems_.size() == kMostProblems) {
    ++left_out_;
    return;
  }
  problems_.push_back(absl::StrCat(file_, line == 0 ? "" : absl::StrCat(":", line), ": ", std::string(text)));
}

absl::Status FileProblems::ToStatus() const {
  if (problems_.empty()) return absl::OkStatus();
  std::vector<std::string> lines = problems_;
  if (left_out_ > 0) lines.push_back(absl::StrCat(file_, ": ", FormatCount(left_out_), " more of these"));
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

void FirstLines::Add(size_t number, std::string_view line) {
  if (lines_.size() < kMost) lines_.push_back(absl::StrCat(Quoted(line), " (line ", number, ")"));
}

std::string FirstLines::Text() const {
  return lines_.empty() ? "" : absl::StrCat("; it begins with ", absl::StrJoin(lines_, ", "));
}

std::string FromUtf16(std::string_view bytes, bool big_endian) {
  const auto unit = [&](size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<uint32_t>(big_endian ? first << 8U | second : second << 8U | first);
  };
  std::string text;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    uint32_t code_point = unit(at);
    const bool high = code_point >= 0xd800 && code_point < 0xdc00;
    if (high && at + 3 < bytes.size() && unit(at + 2) >= 0xdc00 && unit(at + 2) < 0xe000) {
      code_point = 0x10000 + ((code_point - 0xd800) << 10U) + (unit(at + 2) - 0xdc00);
      at += 2;
    } else if (code_point >= 0xd800 && code_point < 0xe000) {
      code_point = kReplacement;
    }
    AppendUtf8(code_point, text);
  }
  return text;
}

std::string DecodeText(std::string text) {
  const std::string_view mark = std::string_view(text).substr(0, 2);
  if (mark == "\xff\xfe" || mark == "\xfe\xff") text = FromUtf16(std::string_view(text).substr(2), mark == "\xfe\xff");
  if (text.find('\r') != std::string::npos)
    text = absl::StrReplaceAll(text, {{"\r\r\n", "\n"}, {"\r\n", "\n"}, {"\r", "\n"}});
  return text;
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string PlainLine(std::string_view line) {
  std::string text(line);
  if (text.find('&') != std::string::npos) {
    text = absl::StrReplaceAll(text, {{"&nbsp;", " "},
                                      {"&#160;", " "},
                                      {"&ndash;", "-"},
                                      {"&#8211;", "-"},
                                      {"&mdash;", "-"},
                                      {"&#8212;", "-"},
                                      {"&lt;", "<"},
                                      {"&gt;", ">"},
                                      {"&quot;", "\""},
                                      {"&amp;", "&"}});
  }
  if (!IsAscii(text)) {
    // A dash or a blank in UTF-8 that was read as code page 1252 and stored once more.
    text = absl::StrReplaceAll(text, {{"\u00e2\u20ac\u201c", "-"}, {"\u00e2\u20ac\u201d", "-"}, {"\u00c2\u00a0", " "}});
  }
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = DecodeUtf8(text, at);
    const bool invalid = point.value == kReplacement && point.bytes == 1;
    const char* const instead =
        PlainCharacter(invalid ? OfCodePage(static_cast<unsigned char>(text[at])) : point.value);
    if (instead != nullptr) {
      plain += instead;
    } else {
      plain.append(text, at, point.bytes);
    }
    at += point.bytes;
  }
  std::string_view rest = Trimmed(plain);
  while (!rest.empty() && (rest.front() == '>' || rest.front() == '|')) rest = Trimmed(rest.substr(1));
  return std::string(rest);
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

std::optional<int64_t> TakeGroupedNumber(std::string_view& text) {
  const auto digits = [&text](size_t from) {
    size_t end = from;
    while (end < text.size() && IsDigit(text[end])) ++end;
    return end - from;
  };
  size_t end = digits(0);
  const char separator = end < text.size() ? text[end] : '\0';
  if (end == 0 || end > 3 || std::string_view(",.'_").find(separator) == std::string_view::npos || digits(end + 1) != 3)
    return TakeNumber(text);
  std::string plain(text.substr(0, end));
  while (end < text.size() && text[end] == separator && digits(end + 1) == 3) {
    plain += text.substr(end + 1, 3);
    end += 4;
  }
  std::string_view rest = plain;
  const std::optional<int64_t> number = TakeNumber(rest);
  text.remove_prefix(end);
  return number;
}

bool TakeText(std::string_view& text, std::string_view wanted) {
  if (text.substr(0, wanted.size()) != wanted) return false;
  text.remove_prefix(wanted.size());
  return true;
}

std::string OneBlankEach(std::string_view line) {
  std::string text;
  for (const char c : line) {
    const bool blank = std::string_view(" |`*\\").find(c) != std::string_view::npos;
    if (!blank) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

size_t WordsIn(std::string_view text) {
  size_t words = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' && (i == 0 || text[i - 1] == ' ')) ++words;
  }
  return words;
}

std::string_view WithoutWords(std::string_view text, size_t words) {
  for (; words > 0 && !text.empty(); --words) {
    const size_t end = text.find(' ');
    text = Trimmed(text.substr(std::min(end, text.size())));
  }
  return text;
}

bool HasWord(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); });
}

}  // namespace plimsoll
