// Random numbers of the property tests; each test prints its seed.
#pragma once

#include <cstdint>
#include <random>

namespace plimsoll::tests {

using Random = std::mt19937_64;

// Both ends may come.
inline int64_t Between(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

}  // namespace plimsoll::tests
