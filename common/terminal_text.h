// Text that came from elsewhere, made safe for terminals and logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;
};

// The character at `pos` < text.size(). Bytes that are not UTF-8 come one at a time as U+FFFD.
CodePoint DecodeUtf8(const std::string& text, size_t pos);
void AppendUtf8(uint32_t code_point, std::string& text);

// Whether the character steers instead of showing: C0, DEL, C1, line and paragraph separators, and the marks that turn
// the direction of text.
bool IsControl(uint32_t code_point);

// The text with every control character and every byte that is not UTF-8 as U+FFFD, so that it can neither move a
// terminal's cursor nor break a line. Every line that shows what an agent, a file or a process said goes through it:
// the name of a process is its user's choice.
std::string SanitizeForTerminal(const std::string& text);

}  // namespace plimsoll
