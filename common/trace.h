// Traces: start and latency of every write in few bytes, and those of all writers as one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// Start and latency of every write, packed.
//
// A block holds the writes of one writer and one frame, in the order in which they completed (one is in flight at a
// time, so starts grow). It stands alone: decoding needs nothing but the block. The format is in trace.cc.

struct TracedWrite {
  int64_t start_ns = 0;     // of the clock that measured it
  uint64_t latency_ns = 0;  // of the system call
  uint64_t bytes = 0;       // 0: the block's writes are all of one size, which it does not say
  // Duration of the write call, at most latency_ns; the rest is the sync. -1: parts were not measured.
  int64_t write_call_ns = -1;
  bool operator==(const TracedWrite&) const = default;
};

// Collects the writes of one block. Not thread-safe.
class TraceEncoder {
 public:
  TraceEncoder() = default;
  // For writes of these sizes, at most 2,048. If there are fewer than two, the blocks have no sizes. `parts`: each
  // write has the time of its write call.
  explicit TraceEncoder(std::vector<uint64_t> sizes_bytes, bool parts = false)
      : sizes_bytes_(std::move(sizes_bytes)), parts_(parts) {}

  // Starts must not go back (the decoder refuses a block in which they do); a start before the end of the write before
  // it is allowed (coalesced clocks).
  // `size`: place of its size in the list. `write_call_ns`: at most the latency; ignored without parts.
  void Add(int64_t start_ns, uint64_t latency_ns, uint32_t size = 0, uint64_t write_call_ns = 0) {
    writes_.push_back({start_ns, latency_ns, size});
    if (parts_) [[unlikely]]
      write_calls_ns_.push_back(write_call_ns);
  }
  size_t size() const { return writes_.size(); }
  // The packed block of all writes since the last call; empty where there were none.
  std::string Finish();

 private:
  struct Entry {
    int64_t start_ns = 0;
    uint64_t latency_ns = 0;
    uint32_t size = 0;
  };

  std::vector<uint64_t> sizes_bytes_;
  bool parts_ = false;
  std::vector<Entry> writes_;
  // One for each of writes_; empty without parts, so that these cost no memory then.
  std::vector<uint64_t> write_calls_ns_;
};

// Appends the writes of `block` to `writes`. INVALID_ARGUMENT, and `writes` holds what it held, where the block is not
// one that TraceEncoder can have made: cut off, too long, counts beyond the block's size, values beyond 64 bits, starts
// that go back. Never reads outside the block. A block of n bytes holds at most n writes.
absl::Status DecodeTrace(const std::string& block, std::vector<TracedWrite>& writes);

// One writer's writes, piece by piece, on the clock that all writers of a merge share: the reader of frames maps them.
class TraceSource {
 public:
  virtual ~TraceSource() = default;
  // Replaces what `writes` holds with the next piece, such as one block: at least one write, starts that do not go
  // back, neither in the piece nor from the one before. Leaves `writes` empty at the end.
  virtual absl::Status Next(std::vector<TracedWrite>& writes) = 0;
};

struct MergedWrite {
  TracedWrite write;
  uint32_t host = 0;
  uint32_t qm = 0;
  bool operator==(const MergedWrite&) const = default;
};

// Merges any number of writers in the total order of (start, host, qm, place in the writer's trace): the same traces
// give the same sequence, however they were cut into pieces. Holds one piece of each writer at a time. A tournament
// tree: one comparison a level for each write. Not thread-safe.
class TraceMerge {
 public:
  struct Writer {
    uint32_t host = 0;
    uint32_t qm = 0;
    TraceSource* source = nullptr;  // borrowed, never null
  };

  // No two writers have the same host and qm.
  explicit TraceMerge(std::vector<Writer> writers);

  // Appends the next writes to `merged`, at most `most` of them; fewer only at the end. It appends nothing once the end
  // is reached. An error of a source, and INVALID_ARGUMENT where a source goes back in time; after one, the merge is
  // over.
  absl::Status Next(size_t most, std::vector<MergedWrite>& merged);

 private:
  // A writer's foremost write, as the tree compares it. Writers that are through stand behind all others.
  struct Head {
    int64_t start_ns = 0;
    size_t rank = 0;
  };
  struct Lane {
    Writer writer;
    std::vector<TracedWrite> piece;
    size_t at = 0;
    int64_t last_start_ns = INT64_MIN;
  };

  static bool Before(const Head& a, const Head& b) {
    return a.start_ns < b.start_ns || (a.start_ns == b.start_ns && a.rank < b.rank);
  }
  absl::Status Refill(Lane& lane);
  Head HeadOf(size_t lane) const;
  absl::Status Begin();
  Head Play(size_t node);

  std::vector<Lane> lanes_;  // in the order of (host, qm)
  // Losers of the matches; node 1 is the final, node n's players come from nodes 2n and 2n + 1, and those from
  // lanes_.size() on are the lanes.
  std::vector<Head> losers_;
  Head winner_;
  bool begun_ = false;
  absl::Status failed_;
};

}  // namespace plimsoll
