// The checkpoint beside a log: up to which block it needs no replay, and which epoch writes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/page_stamp.h"

namespace plimsoll {

struct CheckpointRecord {
  uint32_t epoch = 0;
  // Counts the records of the log, over all epochs.
  uint64_t generation = 0;
  uint32_t host_index = 0;
  // Blocks up to this one need no replay.
  uint64_t sequence = 0;
};

// One page for the file's identity, then slots of a page each: two for each epoch in turn, so that neither a torn write
// nor the late one of an instance that was replaced destroys the newest record.
inline constexpr uint64_t kCheckpointSlots = 4;
inline constexpr uint64_t kCheckpointBytes = (1 + kCheckpointSlots) * kStampedPageBytes;

// Slot of a record, from 0.
constexpr uint64_t SlotOf(const CheckpointRecord& record) {
  return record.epoch % 2 * 2 + record.generation % 2;
}

// Fills `page` with the record as it lies in its slot.
void FormatCheckpoint(const std::array<uint8_t, 16>& run_token, uint32_t qm, const CheckpointRecord& record,
                      std::span<std::byte> page);
// What the slot's page holds; none where it is not whole, or of another log.
std::optional<CheckpointRecord> ParseCheckpoint(const std::array<uint8_t, 16>& run_token, uint32_t qm, uint64_t slot,
                                                std::span<const std::byte> page);

// The file, open for reading and writing with O_DSYNC or a sync after each write. Not thread-safe.
class CheckpointFile {
 public:
  // `fd` must outlive the object; `path` is for errors.
  CheckpointFile(int fd, std::string path, const std::array<uint8_t, 16>& run_token, uint32_t qm);

  // The newest record: by epoch, then by generation. One of epoch 0 where there is none yet. DATA_LOSS where the file
  // is shorter than it was made.
  absl::StatusOr<CheckpointRecord> Read();
  // Makes the record durable.
  absl::Status Write(const CheckpointRecord& record);

 private:
  const int fd_;
  const std::string path_;
  const std::array<uint8_t, 16> run_token_;
  const uint32_t qm_;
};

}  // namespace plimsoll
