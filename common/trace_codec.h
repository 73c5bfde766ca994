// Start and latency of every write, packed.
//
// A block holds the writes of one writer and one frame, in the order in which they completed (one is in flight at a
// time, so starts grow). It stands alone: decoding needs nothing but the block. Format, in trace_codec.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

struct TracedWrite {
  int64_t start_ns = 0;     // of the clock that measured it
  uint64_t latency_ns = 0;  // of the system call
  bool operator==(const TracedWrite&) const = default;
};

// Collects the writes of one block. Not thread-safe. After Reserve, Add allocates nothing up to that many writes.
class TraceEncoder {
 public:
  void Reserve(size_t writes) { writes_.reserve(writes); }
  // Starts must not go back (the decoder refuses a block in which they do); a start before the end of the write before
  // it is allowed (coalesced clocks).
  void Add(int64_t start_ns, uint64_t latency_ns) { writes_.push_back({start_ns, latency_ns}); }
  size_t size() const { return writes_.size(); }
  // The packed block of all writes since the last call; empty where there were none.
  std::string Finish();

 private:
  std::vector<TracedWrite> writes_;
};

// Appends the writes of `block` to `writes`. INVALID_ARGUMENT, and `writes` holds what it held, where the block is not
// one that TraceEncoder can have made: cut off, too long, counts beyond the block's size, values beyond 64 bits, starts
// that go back. Never reads outside the block. A block of n bytes holds at most n writes of 16 bytes.
absl::Status DecodeTrace(const std::string& block, std::vector<TracedWrite>& writes);

}  // namespace plimsoll
