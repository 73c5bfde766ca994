// What an agent shares with one of its instances: memory, which outlives the instance, however that ends; and messages
// over a stream socket: length (4 bytes, little-endian), then the message. Over it the instance reports events, how it
// ends, and the ledger of the writes that have completed.
#pragma once

#include <google/protobuf/message_lite.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/work/work.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.pb.h"

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
  // Start of the write that is in the system call; 0 if there is none.
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
  // Stops waiting where another thread is sending, or the peer does not read, for `timeout_ns` each: for a process that
  // is about to end.
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

// Thread-safe. Every message goes up as it is; the agent passes it on. A socket that cannot be written ends the
// process: the agent is gone.
class InstanceReporter final : public WorkSink {
 public:
  // `sender` must outlive the object.
  InstanceReporter(MessageSender& sender, uint32_t instance, uint32_t qm)
      : sender_(sender), instance_(instance), qm_(qm) {}

  // `event` without its instance; at_ns 0: now.
  void Send(v1::HaEvent event);
  void Send(v1::HaLedgerEntry entry);

  void OnFrames(v1::FrameBatch frames) override;
  void OnMessage(v1::AgentMessage message) override;
  // A step ends with the instance, whose last event has its totals.
  void OnStepDone(v1::StepDone /*done*/) override {}
  // Why a write failed, for Exit.
  void OnFault(v1::Fault fault) override;
  std::string fault() const;

  // Reports why and ends the process at once, whatever its other threads are in. The first call wins. The exit code is
  // 0 with REASON_ORDERED, else kExitByItself.
  static constexpr int kExitByItself = 3;
  // `before`: an event with more detail, sent in one message with the end.
  [[noreturn]] void Exit(v1::HaEnded ended, const v1::HaEvent* before = nullptr);
  [[noreturn]] void Exit(v1::HaEnded::Reason reason, const std::string& message = "");

 private:
  // Marks the event as this instance's, and with the current time if it has no moment.
  void Stamp(v1::HaEvent& event) const;

  MessageSender& sender_;
  const uint32_t instance_;
  const uint32_t qm_;
  std::atomic_flag ending_ = ATOMIC_FLAG_INIT;
  mutable Mutex mutex_;
  std::string fault_ ABSL_GUARDED_BY(mutex_);
};

// Reads what the writer shows, every kTickNs: an entry leaves at most 2 ms after the completion that it reports, where
// the thread that calls Flush gets a CPU. Not thread-safe.
class Ledger {
 public:
  static constexpr int64_t kTickNs = 1'000'000;

  // `board` and `reporter` must outlive the object. `last_sequence` is the last block of the log when the epoch began.
  Ledger(const InstanceBoard& board, InstanceReporter& reporter, uint64_t last_sequence)
      : board_(board), reporter_(reporter), sent_(last_sequence) {}

  // Sends what has completed since the call before. `now` is MonotonicNowNs.
  void Flush(const std::function<int64_t()>& now);

 private:
  const InstanceBoard& board_;
  InstanceReporter& reporter_;
  uint64_t sent_;
};

// The entry for the writes after `sent` up to `last`.
v1::HaLedgerEntry MakeLedgerEntry(uint32_t epoch, uint64_t sent, const CompletedWrite& last, int64_t now_ns);

}  // namespace plimsoll
