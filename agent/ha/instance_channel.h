// What an agent shares with one of its instances: memory, which outlives the instance, however that ends; and messages
// over a stream socket: length (4 bytes, little-endian), then the message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

// A memfd that both map. One writer for each cell.
struct InstanceBoard {
  struct Moments {
    std::atomic<int64_t> start_ns{0};
    std::atomic<int64_t> end_ns{0};
  };
  // A reader has the time of so many writes, less one, to take a pair.
  static constexpr size_t kMoments = 16;

  // The agent's: no write starts at or after it; and whose instance it is.
  std::atomic<int64_t> lease_deadline_ns{0};
  std::atomic<int32_t> agent_pid{0};

  // The instance's: its epoch, once it has one.
  std::atomic<uint32_t> epoch{0};
  // Start of the write that is in the system call; 0: none is.
  std::atomic<int64_t> in_flight_since_ns{0};
  // Last block that was written, 0: none; and when, at [sequence % kMoments].
  std::atomic<uint64_t> completed{0};
  std::array<Moments, kMoments> moments;
  // The first write of this instance.
  std::atomic<int64_t> first_start_ns{0};
  std::atomic<int64_t> first_end_ns{0};
  // Times that the writer waited for a checkpoint, for how long, and for which block it waited last.
  std::atomic<uint64_t> full_waits{0};
  std::atomic<uint64_t> full_wait_ns{0};
  std::atomic<uint64_t> full_sequence{0};
};
static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<uint64_t>::is_always_lock_free);

struct CompletedWrite {
  uint64_t sequence = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};
// The last write that completed; none where there was none, or where the writer is too fast to look at.
std::optional<CompletedWrite> LastCompleted(const InstanceBoard& board);

// Owner of the mapping.
class BoardMapping {
 public:
  // A new one; `fd` is the memfd, close-on-exec.
  static absl::StatusOr<BoardMapping> Create(UniqueFd& fd);
  // The one of an inherited memfd.
  static absl::StatusOr<BoardMapping> Open(int fd);

  InstanceBoard& operator*() const { return *board_; }
  InstanceBoard* operator->() const { return board_.get(); }

 private:
  struct Unmap {
    void operator()(InstanceBoard* board) const;
  };
  std::unique_ptr<InstanceBoard, Unmap> board_;
};

// No message is longer; a greater length ends the stream.
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
