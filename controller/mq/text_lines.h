// Splits text that arrives in parts into lines, so that a file of any length takes little memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace plimsoll {

// Does in parts what DecodeText and LinesOf (mq_text.h) do with a whole text. Holds one line at a time. Not
// thread-safe.
class TextLines {
 public:
  // A longer line is cut off here: MQ writes none.
  static constexpr size_t kLongestLine = size_t{4} << 20U;

  // `on_line` gets each line without its end.
  explicit TextLines(std::function<void(std::string_view line)> on_line) : on_line_(std::move(on_line)) {}

  void Feed(std::string_view bytes);
  // Ends the text. Returns the last line if nothing ends it, which `on_line` does not get then.
  std::string End();

  // The text holds a NUL, so it is not text.
  bool has_nul() const { return has_nul_; }
  // The first line that was longer than kLongestLine, from 1; 0: none.
  size_t too_long() const { return too_long_; }

 private:
  enum class Encoding { kUnknown, kBytes, kUtf16Little, kUtf16Big };

  // Text in UTF-8, or in whatever its bytes are in.
  void Take(std::string_view text);
  void TakeUtf16(std::string_view bytes, bool last);
  void Append(std::string_view text);
  void EndLine();

  std::function<void(std::string_view line)> on_line_;
  Encoding encoding_ = Encoding::kUnknown;
  // Bytes of which it is not yet known what they are: less than a byte order mark, or a part of a character in UTF-16.
  std::string undecoded_;
  std::string line_;
  size_t lines_ = 0;
  // CRs at the end of what arrived; up to two of them belong to an LF that follows.
  int returns_ = 0;
  bool has_nul_ = false;
  size_t too_long_ = 0;
};

}  // namespace plimsoll
