#include "controller/page/packing.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/escaping.h"

namespace plimsoll {
namespace {

// The rows of [from, to) with the column's smallest and largest value.
void AddExtremes(const ThinColumn& column, int from, int to, std::set<int>& kept) {
  int smallest = -1;
  int largest = -1;
  const auto at = [&column](int row) { return column.values[static_cast<size_t>(row)]; };
  for (int row = from; row < to; ++row) {
    if (column.zero_is_nothing && at(row) == 0) continue;
    if (smallest < 0 || at(row) < at(smallest)) smallest = row;
    if (largest < 0 || at(row) > at(largest)) largest = row;
  }
  if (smallest < 0) return;
  kept.insert({smallest, largest});
}

}  // namespace

std::string PackColumn(const std::vector<int64_t>& values) {
  std::string bytes;
  int64_t last = 0;
  for (const int64_t value : values) {
    const int64_t packed = std::clamp(value, -kMaxPacked, kMaxPacked);
    const int64_t change = packed - last;
    last = packed;
    uint64_t folded = change < 0 ? 2 * static_cast<uint64_t>(-(change + 1)) + 1 : 2 * static_cast<uint64_t>(change);
    for (; folded >= 0x80; folded >>= 7)
      bytes += static_cast<char>(static_cast<unsigned char>(0x80U | (folded & 0x7FU)));
    bytes += static_cast<char>(folded);
  }
  return absl::Base64Escape(bytes);
}

std::vector<int> ThinRows(const std::vector<ThinColumn>& columns, int rows, int limit, const std::vector<int>& always) {
  if (rows <= limit) {
    std::vector<int> all(static_cast<size_t>(std::max(rows, 0)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::set<int> kept(always.begin(), always.end());
  kept.insert({0, rows - 1});
  const int64_t intervals =
      std::max<int64_t>(1, limit / (2 * std::max<int64_t>(1, static_cast<int64_t>(columns.size()))));
  for (int64_t interval = 0; interval < intervals; ++interval) {
    const auto from = static_cast<int>(interval * rows / intervals);
    const auto to = static_cast<int>((interval + 1) * rows / intervals);
    for (const ThinColumn& column : columns) AddExtremes(column, from, to, kept);
  }
  return {kept.begin(), kept.end()};
}

}  // namespace plimsoll
