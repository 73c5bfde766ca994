#include "agent/ha/ledger.h"

#include <optional>

namespace plimsoll {

v1::HaLedgerEntry MakeLedgerEntry(uint32_t epoch, uint64_t sent, const CompletedWrite& last, int64_t now_ns) {
  v1::HaLedgerEntry entry;
  entry.set_epoch(epoch);
  entry.set_first_sequence(sent + 1);
  entry.set_last_sequence(last.sequence);
  entry.set_last_start_ns(last.start_ns);
  entry.set_last_end_ns(last.end_ns);
  entry.set_sent_ns(now_ns);
  return entry;
}

void Ledger::Flush(int64_t now_ns) {
  const std::optional<CompletedWrite> last = LastCompleted(board_);
  if (!last.has_value() || last->sequence <= sent_) return;
  reporter_.Send(MakeLedgerEntry(board_.epoch.load(std::memory_order_relaxed), sent_, *last, now_ns));
  sent_ = last->sequence;
}

}  // namespace plimsoll
