// A comparison as text for people.
#pragma once

#include <string>

#include "plimsoll/v1/compare.pb.h"

namespace plimsoll {

// At most 80 columns wide, UTF-8, without colour or control characters but line breaks, whatever the reports say.
std::string RenderCompareText(const v1::Comparison& comparison);

}  // namespace plimsoll
