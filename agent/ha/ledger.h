// Tells which writes have completed, soon after they have.
#pragma once

#include <cstdint>

#include "agent/ha/instance_board.h"
#include "agent/ha/instance_reporter.h"

namespace plimsoll {

// Reads what the writer shows, every kTickNs: an entry leaves at most 2 ms after the completion that it tells of, where
// the thread that calls Flush gets a CPU. Not thread-safe.
class Ledger {
 public:
  static constexpr int64_t kTickNs = 1'000'000;

  // Both must outlive the object. `last_sequence` is the last block of the log when the epoch began.
  Ledger(const InstanceBoard& board, InstanceReporter& reporter, uint64_t last_sequence)
      : board_(board), reporter_(reporter), sent_(last_sequence) {}

  // Sends what has completed since the call before. `now_ns`: MonotonicNowNs.
  void Flush(int64_t now_ns);

 private:
  const InstanceBoard& board_;
  InstanceReporter& reporter_;
  uint64_t sent_;
};

// The entry for the writes after `sent` up to `last`.
v1::HaLedgerEntry MakeLedgerEntry(uint32_t epoch, uint64_t sent, const CompletedWrite& last, int64_t now_ns);

}  // namespace plimsoll
