#include "controller/mq/text_lines.h"

#include <algorithm>
#include <utility>

#include "controller/mq/mq_text.h"

namespace plimsoll {
namespace {

constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
constexpr int kMostReturns = 2;

}  // namespace

void TextLines::Feed(std::string_view bytes) {
  if (encoding_ == Encoding::kUnknown) {
    undecoded_.append(bytes);
    if (undecoded_.size() < kUtf8Mark.size()) return;
    const std::string text = std::exchange(undecoded_, "");
    const std::string_view all = text;
    const std::string_view mark = all.substr(0, 2);
    encoding_ = mark == "\xff\xfe"   ? Encoding::kUtf16Little
                : mark == "\xfe\xff" ? Encoding::kUtf16Big
                                     : Encoding::kBytes;
    if (encoding_ != Encoding::kBytes) return TakeUtf16(all.substr(2), false);
    return Take(all.substr(0, kUtf8Mark.size()) == kUtf8Mark ? all.substr(kUtf8Mark.size()) : all);
  }
  if (encoding_ == Encoding::kBytes) return Take(bytes);
  TakeUtf16(bytes, false);
}

std::string TextLines::End() {
  if (encoding_ == Encoding::kUnknown) {
    // At most two bytes, of which two may be a mark with nothing behind it.
    const std::string rest = std::exchange(undecoded_, "");
    encoding_ = Encoding::kBytes;
    if (rest != "\xff\xfe" && rest != "\xfe\xff") Take(rest);
  } else if (encoding_ != Encoding::kBytes) {
    TakeUtf16("", true);
  }
  for (; returns_ > 0; --returns_) EndLine();
  return std::exchange(line_, "");
}

void TextLines::TakeUtf16(std::string_view bytes, bool last) {
  undecoded_.append(bytes);
  const bool big = encoding_ == Encoding::kUtf16Big;
  size_t whole = undecoded_.size() / 2 * 2;
  // The first half of a character of two units waits for the other one.
  if (!last && whole > 0) {
    const auto high = static_cast<unsigned char>(undecoded_[big ? whole - 2 : whole - 1]);
    if (high >= 0xd8 && high < 0xdc) whole -= 2;
  }
  const std::string text = FromUtf16(std::string_view(undecoded_).substr(0, whole), big);
  undecoded_.erase(0, whole);
  Take(text);
}

void TextLines::Take(std::string_view text) {
  has_nul_ = has_nul_ || text.find('\0') != std::string_view::npos;
  while (!text.empty()) {
    if (text.front() == '\n') {
      // "\r\n" and "\r\r\n" end one line each.
      returns_ = 0;
      EndLine();
      text.remove_prefix(1);
    } else if (text.front() == '\r') {
      if (returns_ == kMostReturns) {
        EndLine();
      } else {
        ++returns_;
      }
      text.remove_prefix(1);
    } else {
      for (; returns_ > 0; --returns_) EndLine();
      const auto* const end = std::find_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; });
      const auto length = static_cast<size_t>(end - text.begin());
      Append(text.substr(0, length));
      text.remove_prefix(length);
    }
  }
}

void TextLines::Append(std::string_view text) {
  const size_t room = kLongestLine - line_.size();
  if (text.size() > room && too_long_ == 0) too_long_ = lines_ + 1;
  line_.append(text.substr(0, room));
}

void TextLines::EndLine() {
  ++lines_;
  on_line_(line_);
  line_.clear();
}

}  // namespace plimsoll
