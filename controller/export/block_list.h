// The places of one writer's trace blocks in a journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plimsoll {

// One trace block, and what its frame tells of it.
struct TraceBlock {
  // Where it lies in the journal's file.
  uint64_t offset = 0;
  uint32_t bytes = 0;
  // How many writes it holds.
  uint64_t writes = 0;
  // Step, from 0.
  uint32_t step = 0;
  // Before the measured part.
  bool warmup = false;
  // Number of its first write in the step, from 1; 0: not known.
  uint64_t first_seq = 0;
  bool operator==(const TraceBlock&) const = default;
};

// Blocks in the order in which they were added, in some six to ten bytes each: all that an export holds for each block
// of a run. Not thread-safe.
class BlockList {
 public:
  // Offsets must not go back.
  void Append(const TraceBlock& block);
  bool empty() const { return coded_.empty(); }
  // Memory that the list takes.
  size_t bytes() const { return coded_.capacity(); }

  // Goes through a list from its beginning. The list must outlive it and not change meanwhile.
  class Reader {
   public:
    explicit Reader(const BlockList& list) : list_(list) {}
    // The next block; false at the end.
    bool Next(TraceBlock& block);

   private:
    const BlockList& list_;
    size_t at_ = 0;
    TraceBlock last_;
  };

 private:
  // What the block after `last` is expected to be: it follows in the same step, part and sequence.
  static uint64_t ExpectedSeq(const TraceBlock& last, const TraceBlock& block);

  std::string coded_;
  TraceBlock last_;
};

}  // namespace plimsoll
