// How long the blocks of a block bootstrap must be.
#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll {

// Length of the blocks for a circular block bootstrap of the mean of `values`, at least 1 and at most an eighth of
// their number, so that there are blocks enough to draw from. The longer of two:
// - Politis and White's automatic length from the correlogram (Econometric Reviews 23, 2004), as corrected by Patton,
//   Politis and White (28, 2009);
// - the length that is best for an AR(1) process of the measured autocorrelation (Carlstein, Annals of Statistics 14,
//   1986), since in a short run the correlogram often shows nothing although something is there.
size_t BlockLength(const std::vector<double>& values);

}  // namespace plimsoll
