#include "agent/ha/message_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>

#include "common/integers.h"
#include "common/posix.h"
#include "common/units.h"

namespace plimsoll {
namespace {

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
