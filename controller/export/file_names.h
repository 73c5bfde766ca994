// Names of hosts as parts of file names and tags.
#pragma once

#include <cstddef>
#include <string>

namespace plimsoll {

// `text` with every byte that is not a letter, a digit, '.', '_' or '-' as '%' and two hexadecimal digits, and a '.' in
// front as well; different texts stay different, but for what is beyond `most` bytes, which is cut. Never empty ("%").
std::string SafeName(const std::string& text, size_t most = 64);

}  // namespace plimsoll
