// Many tests at once.
#pragma once

#include <vector>

namespace plimsoll {

// Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979): p-values that can each be held against one
// limit, so that the chance that any of them falls below it without cause is at most that limit, however the tests
// depend on one another. In the order of `p`, at most 1.
std::vector<double> HolmAdjusted(const std::vector<double>& p);

}  // namespace plimsoll
