// Small helpers for text that people typed and that goes into one-line messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Offset of the first byte that is not part of valid UTF-8; npos where all is.
size_t FindInvalidUtf8(std::string_view text);

// Whether the text holds a control character (line ends and tabs among them).
bool HasControl(std::string_view text);

// For messages: in quotes, on one line, long text cut short.
std::string Quoted(std::string_view text);

// The candidate that `word` most likely meant, dashes and case apart; empty where none is near.
std::string ClosestWord(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace plimsoll
