// Where the trace blocks lie in a journal's record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

// A byte string inside a payload.
struct PayloadPart {
  uint64_t offset = 0;
  uint32_t bytes = 0;
};

// The places of all trace blocks (Frame.trace) in the serialised JournalRecord `payload`, in the order in which its
// frames and their blocks come when it is parsed. What is not well formed ends the list: the caller has parsed the
// record and knows how many there must be.
std::vector<PayloadPart> FindTraceBlocks(const std::string& payload);

}  // namespace plimsoll
