#include "agent/ha/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/integers.h"
#include "common/posix.h"

namespace plimsoll {
namespace {

constexpr size_t kSequenceInPayload = kStampBytes;

struct alignas(kStampedPageBytes) CheckpointPage {
  std::array<std::byte, kStampedPageBytes> bytes{};
};

}  // namespace

void FormatCheckpoint(const std::array<uint8_t, 16>& run_token, uint32_t qm, const CheckpointRecord& record,
                      std::span<std::byte> page) {
  std::fill(page.begin(), page.end(), std::byte{0});
  StoreLittle(record.sequence, page.data() + kSequenceInPayload);
  const PageStamp stamp{
      run_token, record.host_index, qm, record.epoch, static_cast<uint32_t>(SlotOf(record) + 1), record.generation};
  WriteStamp(stamp, PayloadChecksum(page.subspan(kStampBytes)), page.data());
}

std::optional<CheckpointRecord> ParseCheckpoint(const std::array<uint8_t, 16>& run_token, uint32_t qm, uint64_t slot,
                                                std::span<const std::byte> page) {
  PageStamp stamp;
  if (ReadStamp(page, stamp) != StampState::kWhole) return std::nullopt;
  const CheckpointRecord record{stamp.epoch, stamp.sequence, stamp.host_index,
                                LoadLittle<uint64_t>(page.data() + kSequenceInPayload)};
  const bool own = stamp.run_token == run_token && stamp.qm == qm && stamp.page == slot + 1 && record.epoch > 0 &&
                   SlotOf(record) == slot;
  return own ? std::optional(record) : std::nullopt;
}

CheckpointFile::CheckpointFile(int fd, std::string path, const std::array<uint8_t, 16>& run_token, uint32_t qm)
    : fd_(fd), path_(std::move(path)), run_token_(run_token), qm_(qm) {}

absl::StatusOr<CheckpointRecord> CheckpointFile::Read() {
  CheckpointRecord newest;
  for (uint64_t slot = 0; slot < kCheckpointSlots; ++slot) {
    CheckpointPage page;
    const auto offset = static_cast<off_t>((slot + 1) * kStampedPageBytes);
    const ssize_t size = pread(fd_, page.bytes.data(), page.bytes.size(), offset);
    if (size < 0) return PosixError("pread", path_, errno);
    if (size != static_cast<ssize_t>(page.bytes.size())) {
      return absl::DataLossError(absl::StrCat("pread ", path_, ": the file is shorter than it was made"));
    }
    const auto record = ParseCheckpoint(run_token_, qm_, slot, page.bytes);
    if (record && std::tie(record->epoch, record->generation) > std::tie(newest.epoch, newest.generation)) {
      newest = *record;
    }
  }
  return newest;
}

absl::Status CheckpointFile::Write(const CheckpointRecord& record) {
  CheckpointPage page;
  FormatCheckpoint(run_token_, qm_, record, page.bytes);
  const auto offset = static_cast<off_t>((SlotOf(record) + 1) * kStampedPageBytes);
  const ssize_t size = pwrite(fd_, page.bytes.data(), page.bytes.size(), offset);
  if (size < 0) return PosixError("pwrite", path_, errno);
  if (size != static_cast<ssize_t>(page.bytes.size())) {
    return absl::DataLossError(absl::StrCat("pwrite ", path_, ": only ", size, " of ", page.bytes.size(), " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll
