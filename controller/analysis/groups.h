// Things that belong together, found pair by pair.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace plimsoll {

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
