// A histogram as fio tells it.
#pragma once

#include <cstdint>
#include <map>

#include "common/histogram.h"

namespace plimsoll {

// Counts by the name of fio's bucket: 64 buckets for each power of two (1.6 % wide), values below 128 ns have one each.
// Its name is the bucket's middle in ns. Like fio's, the last bucket, 17,112,760,320, holds all that is above it: fio's
// own tools do not end where a file has more. Each of our buckets lies in one of fio's, so that counts are exact.
std::map<uint64_t, uint64_t> FioBins(const Histogram& histogram);

// Standard deviation of the values, each taken at its bucket's middle; 0 below two values.
double StandardDeviationNs(const Histogram& histogram);

}  // namespace plimsoll
