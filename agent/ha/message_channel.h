// Messages between an agent and an instance, over a stream socket: length (4 bytes, little-endian), then the message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// No message is longer; one that says so ends the stream.
inline constexpr size_t kMostMessageBytes = size_t{64} << 20U;

// Sends whole messages. Thread-safe.
class MessageSender {
 public:
  // `fd` must outlive the object.
  explicit MessageSender(int fd) : fd_(fd) {}

  // Blocks while the peer does not read.
  absl::Status Send(const google::protobuf::MessageLite& message);
  // Gives up where another thread is sending, or the peer does not read, for `timeout_ns` each: for a process that is
  // about to end.
  absl::Status SendWithin(const google::protobuf::MessageLite& message, int64_t timeout_ns);

 private:
  absl::Status SendAll(const std::string& bytes, std::optional<int64_t> timeout_ns);

  const int fd_;
  std::timed_mutex mutex_;
};

// Collects what was read and cuts it into messages. Not thread-safe.
class MessageReader {
 public:
  void Append(const char* data, size_t size) { buffer_.append(data, size); }
  // Parses the next whole message into `message`; false where there is none yet. INVALID_ARGUMENT where the stream is
  // none.
  absl::StatusOr<bool> Next(google::protobuf::MessageLite& message);

 private:
  std::string buffer_;
  size_t taken_ = 0;
};

}  // namespace plimsoll
