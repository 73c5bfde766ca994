// Columns of whole numbers as short text, for the data of a page (pack.js reads them), and fewer rows of long series.
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

// One column of a series.
struct ThinColumn {
  std::vector<int64_t> values;
  // 0 means that there is nothing: it is not a minimum.
  bool zero_is_nothing = false;
};

// Which of the `rows` rows of columns that are all so long to keep, rising: all of them where they are at most `limit`.
// Otherwise the rows are cut into intervals of equal length, and of each those rows are kept in which a column has its
// smallest or its largest value there; and the first row, the last one, and those in `always`, whatever the limit. The
// kept rows are as they were: nothing is averaged.
std::vector<int> ThinRows(const std::vector<ThinColumn>& columns, int rows, int limit, const std::vector<int>& always);

}  // namespace plimsoll
