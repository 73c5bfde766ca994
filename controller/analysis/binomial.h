// Chances of counts.
#pragma once

#include <cstdint>

namespace plimsoll {

// Chance that of `n` independent events, each of which happens with chance `share` in (0, 1), at least `count` happen.
// Exact to some ten digits where `count` is above the expected number n x share, and 1 where it is not.
double ChanceOfAtLeast(uint64_t count, uint64_t n, double share);

}  // namespace plimsoll
