// The step of the tests of the write path, in the host's monotonic time.
#pragma once

#include <cstdint>

#include "agent/writer/writer_tally.h"

namespace plimsoll::tests {

inline constexpr int64_t kMs = 1'000'000;
inline constexpr int64_t kStartNs = 1'000 * kMs;
inline constexpr int64_t kMarginNs = WriterTally::kVisibilityNs;

}  // namespace plimsoll::tests
