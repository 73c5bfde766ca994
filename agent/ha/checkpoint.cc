#include "agent/ha/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/integers.h"
#include "common/posix.h"
#include "common/status_macros.h"

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
  // One call: a takeover waits for it, and on a network file system each is a round trip.
  std::array<CheckpointPage, kCheckpointSlots> pages;
  static_assert(sizeof(pages) == kCheckpointSlots * kStampedPageBytes);
  const ssize_t size = pread(fd_, pages.data(), sizeof(pages), kStampedPageBytes);
  if (size < 0) return PosixError("pread", path_, errno);
  if (size != static_cast<ssize_t>(sizeof(pages))) {
    return absl::DataLossError(absl::StrCat("pread ", path_, ": the file is shorter than it was made"));
  }
  CheckpointRecord newest;
  for (uint64_t slot = 0; slot < kCheckpointSlots; ++slot) {
    const auto record = ParseCheckpoint(run_token_, qm_, slot, pages[slot].bytes);
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

Checkpointer::~Checkpointer() {
  Finish(false);
}

absl::Status Checkpointer::Write(const CheckpointRecord& record) {
  if (MonotonicNowNs() >= board_.lease_deadline_ns.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("the lease is over");
  }
  return file_.Write(record);
}

absl::StatusOr<CheckpointRecord> Checkpointer::RaiseEpoch(uint32_t host_index) {
  PLIMSOLL_ASSIGN_OR_RETURN(const CheckpointRecord newest, file_.Read());
  record_ = {newest.epoch + 1, newest.generation + 1, host_index, newest.sequence};
  PLIMSOLL_RETURN_IF_ERROR(Write(record_));
  sequence_.store(record_.sequence, std::memory_order_relaxed);
  return record_;
}

void Checkpointer::Start(uint64_t replayed_sequence) {
  replayed_sequence_ = replayed_sequence;
  thread_ = StartThread("checkpoint", [this] { Run(); });
}

void Checkpointer::Finish(bool last) {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  if (last) Take();
}

void Checkpointer::Run() {
  TakeUpTo(replayed_sequence_);
  while (true) {
    {
      const auto due = std::chrono::steady_clock::now() + std::chrono::nanoseconds(interval_ns_);
      const MutexLock lock(mutex_);
      while (!stop_ && changed_.WaitUntil(mutex_, due)) {
      }
      if (stop_) return;
    }
    Take();
  }
}

void Checkpointer::Take() {
  const std::optional<CompletedWrite> last = LastCompleted(board_);
  if (last.has_value()) TakeUpTo(last->sequence);
}

void Checkpointer::TakeUpTo(uint64_t sequence) {
  if (sequence <= record_.sequence) return;
  CheckpointRecord record = record_;
  ++record.generation;
  record.sequence = sequence;
  const absl::Status status = Write(record);
  // The lease ends the instance elsewhere.
  if (absl::IsDeadlineExceeded(status)) return;
  if (!status.ok()) reporter_.Exit(v1::HaEnded::REASON_WRITE_FAILED, std::string(status.message()));
  record_ = record;
  // Release: the record is durable.
  sequence_.store(record.sequence, std::memory_order_release);
}

}  // namespace plimsoll
