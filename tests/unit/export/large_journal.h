// Large journals, made without holding them.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::tests {

// What the writes of a large journal come to.
struct LargeFigures {
  uint64_t writes = 0;
  uint64_t sum_ns = 0;
  uint64_t min_ns = UINT64_MAX;
  uint64_t max_ns = 0;
};

// Writes a journal of one step in which each of `writers` writers, four a host, makes `writes` writes of about 300 us
// in frames of 250 ms, with traces. The hosts' clocks are seconds apart. A failure of the test where it cannot be
// written.
LargeFigures WriteLargeJournal(const std::string& path, uint32_t writers, uint64_t writes);

}  // namespace plimsoll::tests
