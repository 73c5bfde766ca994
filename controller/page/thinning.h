// Fewer rows of a series that is longer than a page can hold, without losing what stands out.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

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
