// Columns of whole numbers as short text, for the data of a page. pack.js reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

// Values beyond plus or minus this are packed as this: scripts count exactly up to 2^53, which twice a difference must
// not pass. In nanoseconds 26 days.
inline constexpr int64_t kMaxPacked = (int64_t{1} << 51) - 1;

// The differences from one value to the next, the first from 0, each as an unsigned number with the sign in its lowest
// bit, seven bits a byte, low ones first; all of it as base64.
std::string PackColumn(const std::vector<int64_t>& values);

}  // namespace plimsoll
