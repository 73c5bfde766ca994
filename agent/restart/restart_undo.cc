// Undo: backs out the messages of transactions that had not been committed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/restart/restart_phases.h"
#include "common/block_access.h"
#include "common/integers.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// The loop allocates nothing. Beside the calls, a message costs some 1 us, for the check and the change of its page,
// and a write to the log some 0.4 us for each of its pages.
class UndoPhase final : public TrialPhase {
 public:
  UndoPhase(const TrialParts& parts, const v1::RestartUndo& undo, uint64_t key)
      : parts_(parts),
        transactions_(undo.transactions()),
        order_(undo.messages(), key),
        dealt_(parts.setup.Dealt(undo.message_bytes())),
        record_bytes_(RollbackRecordBytes(undo.messages(), undo.transactions())),
        record_(record_bytes_),
        access_(parts, 1) {
    // Bytes that do not compress.
    const std::span<std::byte> content = record_.First(record_bytes_);
    for (uint64_t at = 0; at < content.size(); at += sizeof(uint64_t)) {
      StoreLittle(MixBits(key + at), content.data() + at);
    }
  }

  absl::Status Run() override {
    const uint64_t messages = order_.count();
    uint64_t written = 0;
    for (uint64_t done = 0; done < messages; ++done) {
      const QueueRange page = dealt_.FirstPageOf(order_.At(done));
      PLIMSOLL_RETURN_IF_ERROR(access_.Read(page));
      PLIMSOLL_RETURN_IF_ERROR(access_.ChangeAndWrite(page));
      for (const uint64_t due = PartsDue(done + 1, messages, transactions_); written < due; ++written) {
        PLIMSOLL_RETURN_IF_ERROR(WriteRecord());
      }
    }
    return access_.FlushWritten();
  }

 private:
  // One write to the log, behind the last one; a record that does not fit in the rest of the file goes to its start.
  absl::Status WriteRecord() {
    const RestartFile& file = parts_.files.rollback();
    if (next_bytes_ + record_bytes_ > file.size_bytes) next_bytes_ = 0;
    const std::span<std::byte> pages = record_.First(record_bytes_);
    ChangePages(file, next_bytes_ / kStampedPageBytes, pages);
    PLIMSOLL_RETURN_IF_ERROR(parts_.caller.Write(file, next_bytes_, pages, parts_.tally.log_writes));
    next_bytes_ += record_bytes_;
    return absl::OkStatus();
  }

  const TrialParts& parts_;
  const uint64_t transactions_;
  const RandomOrder order_;
  const DealtItems dealt_;
  const uint64_t record_bytes_;
  const PageBuffer record_;
  QueueAccess access_;
  uint64_t next_bytes_ = 0;
};

}  // namespace

std::unique_ptr<TrialPhase> MakeUndo(const TrialParts& parts, const v1::RestartUndo& undo, uint64_t key) {
  return std::make_unique<UndoPhase>(parts, undo, key);
}

}  // namespace plimsoll
