// A comparison as text and as CSV (JSON is RenderJson).
#pragma once

#include <string>

#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// At most 80 columns wide, UTF-8, without colour or control characters but line breaks, whatever the reports say.
std::string RenderCompareText(const v1::Comparison& comparison);

// RFC 4180 with a heading, one row a block size, side (but the first) and figure. Rates are writes or 10^6 bytes a
// second, all other figures nanoseconds. An empty cell: there is none, or it has no end.
std::string RenderCompareCsv(const v1::Comparison& comparison);

}  // namespace plimsoll
