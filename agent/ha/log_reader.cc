#include "agent/ha/log_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/writer/file_env.h"
#include "agent/writer/worker_threads.h"
#include "common/posix.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// How often the thread looks for blocks to read.
constexpr int64_t kReadTickNs = 2 * kNsPerMs;

}  // namespace

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
