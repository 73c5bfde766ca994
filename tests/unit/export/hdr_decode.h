// A reader of HdrHistogram's encoding, for tests: written from its description, not from what writes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace plimsoll::tests {

struct DecodedHdr {
  // What is wrong; empty: nothing.
  std::string error;
  uint32_t significant_digits = 0;
  uint64_t lowest = 0;
  uint64_t highest = 0;
  // Counts that are not zero, by index.
  std::map<uint32_t, uint64_t> counts;
};

// `text` is what an interval log's line ends with: base 64 of the compressed encoding.
DecodedHdr DecodeHdrLine(const std::string& text);

}  // namespace plimsoll::tests
