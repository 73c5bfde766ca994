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
#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "agent/writer/file_env.h"
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

// For how long an instance that ends waits for the agent to take its last words.
constexpr int64_t kLastWordsNs = 100 * kNsPerMs;

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

void InstanceReporter::Stamp(v1::HaEvent& event) const {
  event.set_instance(instance_);
  event.set_qm(qm_);
  if (event.at_ns() == 0) event.set_at_ns(MonotonicNowNs());
}

void InstanceReporter::Send(v1::HaEvent event) {
  Stamp(event);
  v1::AgentMessage message;
  *message.mutable_ha()->add_events() = std::move(event);
  OnMessage(std::move(message));
}

void InstanceReporter::Send(v1::HaLedgerEntry entry) {
  entry.set_instance(instance_);
  entry.set_qm(qm_);
  v1::AgentMessage message;
  *message.mutable_ha()->add_ledger() = std::move(entry);
  OnMessage(std::move(message));
}

void InstanceReporter::OnFrames(v1::FrameBatch frames) {
  v1::AgentMessage message;
  *message.mutable_frames() = std::move(frames);
  OnMessage(std::move(message));
}

void InstanceReporter::OnMessage(v1::AgentMessage message) {
  if (!sender_.Send(message).ok()) _exit(kExitByItself);
}

void InstanceReporter::OnFault(v1::Fault fault) {
  const MutexLock lock(mutex_);
  if (fault_.empty()) fault_ = fault.message();
}

std::string InstanceReporter::fault() const {
  const MutexLock lock(mutex_);
  return fault_;
}

void InstanceReporter::Exit(v1::HaEnded ended, const v1::HaEvent* before) {
  // Another thread ends the process.
  while (ending_.test_and_set()) pause();
  const int code = ended.reason() == v1::HaEnded::REASON_ORDERED ? 0 : kExitByItself;
  v1::AgentMessage message;
  if (before != nullptr) {
    *message.mutable_ha()->add_events() = *before;
    Stamp(*message.mutable_ha()->mutable_events(0));
  }
  v1::HaEvent& event = *message.mutable_ha()->add_events();
  *event.mutable_ended() = std::move(ended);
  Stamp(event);
  // Where it cannot be sent the agent reports how the process ended, without the reason.
  sender_.SendWithin(message, kLastWordsNs).IgnoreError();
  _exit(code);
}

void InstanceReporter::Exit(v1::HaEnded::Reason reason, const std::string& message) {
  v1::HaEnded ended;
  ended.set_reason(reason);
  ended.set_message(message);
  Exit(std::move(ended));
}

v1::HaLedgerEntry MakeLedgerEntry(uint32_t epoch, uint64_t sent, const CompletedWrite& last, int64_t now_ns) {
  v1::HaLedgerEntry entry;
  entry.set_epoch(epoch);
  entry.set_first_sequence(sent + 1);
  entry.set_last_sequence(last.sequence);
  entry.set_last_start_ns(last.start_ns);
  entry.set_last_end_ns(last.end_ns);
  entry.set_sent_ns(now_ns);
  return entry;
}

void Ledger::Flush(const std::function<int64_t()>& now) {
  const std::optional<CompletedWrite> last = LastCompleted(board_);
  if (!last.has_value() || last->sequence <= sent_) return;
  // The clock comes last: a write may complete at any moment, and the entry leaves after all that it names.
  reporter_.Send(MakeLedgerEntry(board_.epoch.load(std::memory_order_relaxed), sent_, *last, now()));
  sent_ = last->sequence;
}

}  // namespace plimsoll
