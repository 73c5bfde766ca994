// A histogram as HdrHistogram's libraries read it.
#pragma once

#include <string>

#include "common/histogram.h"

namespace plimsoll {

// HdrHistogram's V2 encoding (lowest value 1, highest 1 h, 3 significant digits: the layout of Histogram), big endian:
// cookie, payload length, normalising offset 0, digits, lowest, highest, ratio 1.0, then the counts up to the highest
// bucket, each as zig-zag LEB128, a run of n empty buckets as -n.
std::string EncodeHdr(const Histogram& histogram);

// The same compressed, as an interval log has it: cookie, length, zlib stream; in base 64.
std::string EncodeHdrForLog(const Histogram& histogram);

}  // namespace plimsoll
