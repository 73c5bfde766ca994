// Text that people typed or that came from elsewhere, for messages of one line, terminals and logs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Offset of the first byte that is not part of valid UTF-8; npos where all is.
size_t FindInvalidUtf8(std::string_view text);

// Letters, digits, '.', '_' and '-', not starting with '.', 1 to 64 of them: a name in one directory and nothing else.
bool IsPlainName(std::string_view name);

// Whether a plain name may hold the character.
bool IsPlainNameChar(char c);

// Whether the text can be the id of a run: 1 to 64 lower-case hexadecimal digits.
bool IsRunId(std::string_view text);

// Whether the text holds a control character (line ends and tabs among them).
bool HasControl(std::string_view text);

// For messages: in quotes, on one line, long text cut short.
std::string Quoted(std::string_view text);

// An argument as a POSIX shell reads it back: as it is, or in single quotes.
std::string ShellQuoted(const std::string& argument);

// The candidate that `word` most likely meant, dashes and case apart; empty where no candidate is near.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& candidates);

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
// terminal's cursor nor break a line. Every line that shows what an agent, a file or a process sent goes through it:
// the name of a process is its user's choice.
std::string SanitizeForTerminal(const std::string& text);

}  // namespace plimsoll
