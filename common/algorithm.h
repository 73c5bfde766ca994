// Algorithms that the standard library lacks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace plimsoll {

// std::stable_sort, without what libstdc++ 12 deprecates inside it and clang 19 warns of: sorts by `less`; values of
// which neither is less keep their order. Takes a copy of the values and n log n comparisons.
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

// Groups of things by their place in a list; the root of a group is its first thing. Not thread-safe.
class Groups {
 public:
  explicit Groups(size_t things) : parents_(things) { std::iota(parents_.begin(), parents_.end(), size_t{0}); }

  size_t Root(size_t thing) {
    while (parents_[thing] != thing) {
      // Shortens the way for the next search.
      parents_[thing] = parents_[parents_[thing]];
      thing = parents_[thing];
    }
    return thing;
  }
  void Join(size_t a, size_t b) {
    a = Root(a);
    b = Root(b);
    parents_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parents_;
};

}  // namespace plimsoll
