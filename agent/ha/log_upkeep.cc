#include "agent/ha/log_upkeep.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
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
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr size_t kSequenceInPayload = kStampBytes;

struct alignas(kStampedPageBytes) CheckpointPage {
  std::array<std::byte, kStampedPageBytes> bytes{};
};

// How often the thread looks for blocks to read.
constexpr int64_t kReadTickNs = 2 * kNsPerMs;

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
    return absl::DeadlineExceededError("the lease has expired");
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

LogReader::LogReader(const QmFiles& files, const LogShape& shape)
    : files_(files),
      shape_(shape),
      blocks_at_once_(std::max<uint64_t>(kReadBytes / shape.block_bytes, 1)),
      blocks_per_extent_(shape.file_size_bytes / shape.block_bytes) {
  buffer_.reset(static_cast<std::byte*>(std::aligned_alloc(kStampedPageBytes, blocks_at_once_ * shape.block_bytes)));
  if (buffer_ == nullptr) throw std::bad_alloc();
  Forget();
}

void LogReader::Forget() {
  blocks_read_ = 0;
  if (files_.direct) return;
  for (const QmFiles::File& extent : files_.extents) posix_fadvise(extent.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

absl::StatusOr<std::span<const std::byte>> LogReader::Read(uint64_t place) {
  if (place < first_place_ || place >= first_place_ + blocks_read_) {
    const BlockPlace at = shape_.layout().PlaceOf(place);
    const uint64_t blocks = std::min(blocks_at_once_, blocks_per_extent_ - place % blocks_per_extent_);
    const QmFiles::File& file = files_.extents[at.extent];
    blocks_read_ = 0;
    size_t done = 0;
    while (done < blocks * shape_.block_bytes) {
      const ssize_t size = pread(file.fd.get(), buffer_.get() + done, blocks * shape_.block_bytes - done,
                                 static_cast<off_t>(at.offset_bytes + done));
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return PosixError("pread", file.path, errno);
      if (size == 0)
        return absl::DataLossError(absl::StrCat("pread ", file.path, ": the extent is shorter than it was made"));
      done += static_cast<size_t>(size);
    }
    first_place_ = place;
    blocks_read_ = blocks;
  }
  return std::span<const std::byte>(buffer_.get() + (place - first_place_) * shape_.block_bytes, shape_.block_bytes);
}

ReadBack::ReadBack(const QmFiles& files, const LogShape& shape, const InstanceBoard& board, InstanceReporter& reporter,
                   uint64_t last_sequence)
    : shape_(shape),
      board_(board),
      reporter_(reporter),
      last_sequence_(last_sequence),
      reader_(files, shape),
      sequence_(Gone(last_sequence, shape.blocks_per_lap())) {}

uint64_t ReadBack::Target(uint64_t completed, uint64_t blocks_per_lap) {
  const uint64_t room = std::max<uint64_t>(blocks_per_lap / kRoomPart, 1);
  return completed + room > blocks_per_lap ? completed + room - blocks_per_lap : 0;
}

uint64_t ReadBack::Piece(const LogShape& shape) {
  const uint64_t half_room = std::max<uint64_t>(shape.blocks_per_lap() / kRoomPart / 2, 1);
  return std::clamp<uint64_t>(LogReader::kReadBytes / shape.block_bytes, 1, half_room);
}

uint64_t ReadBack::Gone(uint64_t last_sequence, uint64_t blocks_per_lap) {
  return last_sequence + 1 > blocks_per_lap ? last_sequence + 1 - blocks_per_lap : 0;
}

void ReadBack::Start() {
  thread_ = StartThread("read back", [this] { Run(); });
}

void ReadBack::Finish() {
  stop_.store(true, std::memory_order_relaxed);
  if (thread_.joinable()) thread_.join();
}

void ReadBack::Run() {
  const uint64_t piece = Piece(shape_);
  while (!stop_.load(std::memory_order_relaxed)) {
    const std::optional<CompletedWrite> last = LastCompleted(board_);
    const uint64_t target = Target(last.has_value() ? last->sequence : last_sequence_, shape_.blocks_per_lap());
    const uint64_t read = sequence_.load(std::memory_order_relaxed);
    if (target >= read + piece) {
      Read(read + piece);
    } else {
      SleepUntilNs(MonotonicNowNs() + kReadTickNs);
    }
  }
}

void ReadBack::Read(uint64_t last) {
  v1::HaEvent event;
  const int64_t began_ns = MonotonicNowNs();
  reader_.Forget();
  LogReadBack blocks(shape_, sequence_.load(std::memory_order_relaxed) + 1);
  while (blocks.next() <= last) {
    const auto block = reader_.Read(shape_.PlaceOf(blocks.next()));
    if (!block.ok()) reporter_.Exit(v1::HaEnded::REASON_FAILED, std::string(block.status().message()));
    blocks.Take(*block);
  }
  *event.mutable_read_back() = blocks.Finish();
  event.mutable_read_back()->set_began_ns(began_ns);
  reporter_.Send(std::move(event));
  // Release: the report is on its way.
  sequence_.store(last, std::memory_order_release);
}

}  // namespace plimsoll
