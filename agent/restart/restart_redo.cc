// Redo: reads the log, and applies its records to the queue files while it is read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/restart/restart_phases.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// The loops allocate nothing. Beside the calls, each page of the log costs the check of its stamp, some 0.5 us, and
// each page of a queue file that is changed some 1 us; a coalesced record some 0.1 us more, for its place in the batch.
class RedoPhase final : public TrialPhase {
 public:
  RedoPhase(const TrialParts& parts, const v1::RestartRedo& redo)
      : parts_(parts),
        coalesced_(redo.way() == v1::RESTART_REDO_WAY_COALESCED),
        records_(redo.records()),
        record_bytes_(redo.record_bytes()),
        dealt_(parts.setup.Dealt(redo.record_bytes())),
        round_trips_(coalesced_ ? 1 : redo.round_trips_per_record()),
        log_buffer_(RestartFiles::kPieceBytes),
        batch_(dealt_.MostPages()),
        access_(parts, std::max(dealt_.MostPages(), RedoBatch::kMostPagesOfCall)) {}

  absl::Status Run() override {
    uint64_t left_bytes = PagesOfBytes(records_ * record_bytes_) * kStampedPageBytes;
    uint64_t read_bytes = 0;
    uint64_t applied = 0;
    for (const RestartFile& extent : parts_.files.log()) {
      // A call ends with its extent.
      for (uint64_t offset = 0; offset < extent.size_bytes && left_bytes > 0;) {
        const uint64_t size = std::min({RestartFiles::kPieceBytes, extent.size_bytes - offset, left_bytes});
        PLIMSOLL_RETURN_IF_ERROR(ReadLog(extent, offset, size));
        offset += size;
        read_bytes += size;
        left_bytes -= size;
        // Records of which every byte was read.
        const uint64_t complete = std::min(records_, read_bytes / record_bytes_);
        for (; applied < complete; ++applied) {
          PLIMSOLL_RETURN_IF_ERROR(coalesced_ ? AddToBatch(applied) : ApplyRecord(applied));
        }
      }
    }
    PLIMSOLL_RETURN_IF_ERROR(ApplyBatch());
    return access_.FlushWritten();
  }

 private:
  absl::Status ReadLog(const RestartFile& extent, uint64_t offset_bytes, uint64_t size_bytes) {
    const std::span<std::byte> pages = log_buffer_.First(size_bytes);
    PLIMSOLL_RETURN_IF_ERROR(parts_.caller.Read(extent, offset_bytes, pages, parts_.tally.log_reads));
    return CheckPages(extent, offset_bytes / kStampedPageBytes, pages);
  }

  // Reads and writes the record's pages, and with further calls the first page of the queue file, as a record that
  // changes what is known of the queue as a whole.
  absl::Status ApplyRecord(uint64_t record) {
    const QueueRange own = dealt_.PagesOf(record);
    const QueueRange first{own.queue, 0, 1};
    const uint64_t calls = round_trips_.Of(record);
    for (uint64_t call = 0; call < calls; ++call) {
      const QueueRange& range = call < 2 ? own : first;
      PLIMSOLL_RETURN_IF_ERROR(call % 2 == 0 ? access_.Read(range) : access_.ChangeAndWrite(range));
    }
    return absl::OkStatus();
  }

  absl::Status AddToBatch(uint64_t record) {
    const QueueRange range = dealt_.PagesOf(record);
    if (!batch_.Fits(range)) PLIMSOLL_RETURN_IF_ERROR(ApplyBatch());
    batch_.Add(range);
    return absl::OkStatus();
  }

  absl::Status ApplyBatch() {
    for (const QueueRange& range : batch_.Merge()) {
      PLIMSOLL_RETURN_IF_ERROR(access_.Read(range));
      PLIMSOLL_RETURN_IF_ERROR(access_.ChangeAndWrite(range));
    }
    return absl::OkStatus();
  }

  const TrialParts& parts_;
  const bool coalesced_;
  const uint64_t records_;
  const uint64_t record_bytes_;
  const DealtItems dealt_;
  const RoundTrips round_trips_;
  const PageBuffer log_buffer_;
  RedoBatch batch_;
  QueueAccess access_;
};

}  // namespace

std::unique_ptr<TrialPhase> MakeRedo(const TrialParts& parts, const v1::RestartRedo& redo) {
  return std::make_unique<RedoPhase>(parts, redo);
}

}  // namespace plimsoll
