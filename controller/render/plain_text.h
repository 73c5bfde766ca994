// Text that came from elsewhere, made fit for a terminal: its width, its escapes, its length.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/text.h"

namespace plimsoll {

// Columns that neutral text takes on a terminal.
size_t DisplayWidth(const std::string& text);

// Shortens neutral text to `width` columns, with an ellipsis at the end where something is missing.
std::string Shorten(const std::string& text, size_t width);

// Shortens neutral text to `width` columns, of which the last `tail` (less than `width`) are the text's end; an
// ellipsis stands for what is missing between.
std::string ShortenMiddle(const std::string& text, size_t width, size_t tail);

// Shortens each of several different names to `width` columns (at least 6) so that they still differ: in the middle, or
// as near to it as they differ; by their number where no cut leaves them different.
std::vector<std::string> ShortenNames(const std::vector<std::string>& names, size_t width);

// Puts blanks behind, or in front of, neutral text up to `width` columns.
std::string PadRight(const std::string& text, size_t width);
std::string PadLeft(const std::string& text, size_t width);

// Breaks neutral text into lines of at most `width` columns (at least 10), between words where that is possible. A path
// that is wider stays whole, on a line of its own.
std::vector<std::string> Wrap(const std::string& text, size_t width);

// Breaks a command line between its arguments, with a backslash at the end of each line but the last, so that a shell
// reads it back as it was. An argument in quotes stays whole.
std::vector<std::string> WrapCommand(const std::string& command, size_t width);

}  // namespace plimsoll
