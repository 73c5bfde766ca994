// What makes one run different from all others.
#pragma once

#include <string>

namespace plimsoll {

// A new run id: six lower-case hexadecimal digits.
std::string NewRunId();

// 16 random bytes, for the stamps and markers of a run.
std::string NewRunToken();

}  // namespace plimsoll
