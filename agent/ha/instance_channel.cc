#include "agent/ha/instance_channel.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <new>

#include "common/integers.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

absl::StatusOr<void*> MapBoard(int fd) {
  void* const memory = mmap(nullptr, sizeof(InstanceBoard), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return PosixError("mmap", "the memory shared with an instance", errno);
  return memory;
}

constexpr size_t kLengthBytes = 4;
// What was taken is dropped from the buffer in pieces of this size.
constexpr size_t kDropBytes = size_t{1} << 20U;

std::string Framed(const google::protobuf::MessageLite& message) {
  std::string bytes(kLengthBytes, '\0');
  message.AppendToString(&bytes);
  StoreLittle(static_cast<uint32_t>(bytes.size() - kLengthBytes), bytes.data());
  return bytes;
}

}  // namespace

std::optional<CompletedWrite> LastCompleted(const InstanceBoard& board) {
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    CompletedWrite write;
    // Acquire: the moments of that write were stored before.
    write.sequence = board.completed.load(std::memory_order_acquire);
    if (write.sequence == 0) return std::nullopt;
    const InstanceBoard::Moments& moments = board.moments[write.sequence % InstanceBoard::kMoments];
    write.start_ns = moments.start_ns.load(std::memory_order_acquire);
    write.end_ns = moments.end_ns.load(std::memory_order_acquire);
    // The cell is written again for the write kMoments later, whose predecessor is shown by then.
    if (board.completed.load(std::memory_order_relaxed) - write.sequence < InstanceBoard::kMoments - 1) return write;
  }
  return std::nullopt;
}

void BoardMapping::Unmap::operator()(InstanceBoard* board) const {
  munmap(board, sizeof(InstanceBoard));
}

absl::StatusOr<BoardMapping> BoardMapping::Create(UniqueFd& fd) {
  fd = UniqueFd(memfd_create("plimsoll-instance", MFD_CLOEXEC));
  if (!fd.valid()) return PosixError("memfd_create", "", errno);
  if (ftruncate(fd.get(), sizeof(InstanceBoard)) != 0) return PosixError("ftruncate", "a memfd", errno);
  PLIMSOLL_ASSIGN_OR_RETURN(void* const memory, MapBoard(fd.get()));
  BoardMapping mapping;
  mapping.board_.reset(new (memory) InstanceBoard());
  return mapping;
}

absl::StatusOr<BoardMapping> BoardMapping::Open(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return PosixError("fstat", "the memory shared with an agent", errno);
  if (info.st_size != sizeof(InstanceBoard)) return absl::InvalidArgumentError("no memory shared with an agent");
  PLIMSOLL_ASSIGN_OR_RETURN(void* const memory, MapBoard(fd));
  BoardMapping mapping;
  mapping.board_.reset(static_cast<InstanceBoard*>(memory));
  return mapping;
}

absl::Status MessageSender::Send(const google::protobuf::MessageLite& message) {
  const std::string bytes = Framed(message);
  const std::lock_guard<std::timed_mutex> lock(mutex_);
  return SendAll(bytes, std::nullopt);
}

absl::Status MessageSender::SendWithin(const google::protobuf::MessageLite& message, int64_t timeout_ns) {
  const std::string bytes = Framed(message);
  const std::unique_lock<std::timed_mutex> lock(mutex_, std::chrono::nanoseconds(timeout_ns));
  if (!lock.owns_lock()) return absl::DeadlineExceededError("another message is being sent");
  return SendAll(bytes, timeout_ns);
}

absl::Status MessageSender::SendAll(const std::string& bytes, std::optional<int64_t> timeout_ns) {
  const int flags = MSG_NOSIGNAL | (timeout_ns.has_value() ? MSG_DONTWAIT : 0);
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(fd_, bytes.data() + sent, bytes.size() - sent, flags);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !timeout_ns.has_value()) return PosixError("send", "the peer's socket", errno);
    pollfd writable{fd_, POLLOUT, 0};
    if (poll(&writable, 1, static_cast<int>(std::max<int64_t>(*timeout_ns / kNsPerMs, 1))) == 0) {
      return absl::DeadlineExceededError("the peer does not read");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MessageReader::Next(google::protobuf::MessageLite& message) {
  if (buffer_.size() - taken_ < kLengthBytes) return false;
  const auto length = LoadLittle<uint32_t>(buffer_.data() + taken_);
  if (length > kMostMessageBytes) return absl::InvalidArgumentError("a message of more than 64 MiB");
  if (buffer_.size() - taken_ - kLengthBytes < length) return false;
  const char* const body = buffer_.data() + taken_ + kLengthBytes;
  taken_ += kLengthBytes + length;
  const bool parsed = message.ParseFromArray(body, static_cast<int>(length));
  if (taken_ == buffer_.size() || taken_ >= kDropBytes) {
    buffer_.erase(0, taken_);
    taken_ = 0;
  }
  if (!parsed) return absl::InvalidArgumentError("a message that cannot be parsed");
  return true;
}

}  // namespace plimsoll
