// std::stable_sort, without what libstdc++ 12 deprecates inside it and clang 19 warns of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace plimsoll {

// Sorts by `less`; values of which neither is less keep their order. Takes a copy of the values and n log n
// comparisons.
template <typename T, typename Less>
void StableSort(std::vector<T>& values, Less less) {
  std::vector<std::pair<T, size_t>> numbered;
  numbered.reserve(values.size());
  for (T& value : values) numbered.emplace_back(std::move(value), numbered.size());
  std::sort(numbered.begin(), numbered.end(), [&less](const auto& a, const auto& b) {
    if (less(a.first, b.first)) return true;
    return !less(b.first, a.first) && a.second < b.second;
  });
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::move(numbered[i].first);
}

}  // namespace plimsoll
