// Sums that stick at their largest value.
#pragma once

#include <cstdint>

namespace plimsoll {

// UINT64_MAX where the sum is larger.
inline uint64_t SaturatingAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

}  // namespace plimsoll
