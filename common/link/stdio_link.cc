#include "common/link/stdio_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/integers.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

absl::Status Senseless(const LinkFrame& frame, const char* why) {
  return absl::InternalError(absl::StrCat("frame '", std::string(1, static_cast<char>(frame.type)), "' of connection ",
                                          frame.connection, ": ", why));
}

// Writes without waiting, also to a pipe that others have as one that blocks: a pipe which poll(2) calls writable has
// room for a frame. Returns what write(2) would.
ssize_t WriteSome(int output, const char* data, size_t size) {
  const ssize_t sent = send(output, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  pollfd writable{output, POLLOUT, 0};
  const int ready = poll(&writable, 1, 0);
  if (ready == 0) errno = EAGAIN;
  return ready <= 0 ? -1 : write(output, data, size);
}

}  // namespace

StdioLink::StdioLink(std::function<void(UniqueFd socket)> take) : take_(std::move(take)) {
  Queue(FrameType::kHello, 0, HelloPayload());
}

void StdioLink::Open(UniqueFd socket) {
  if (state_ != State::kUp || sent_end_ || connections_.size() >= kMaxConnections) return;
  connections_[++last_id_].socket = std::move(socket);
  Queue(FrameType::kOpen, last_id_);
}

void StdioLink::Queue(FrameType type, uint32_t id, std::string_view payload) {
  if (sent_end_) return;
  queue_.push_back(PackFrame(type, id, payload));
  queued_bytes_ += queue_.back().size();
}

absl::StatusOr<size_t> StdioLink::Receive(std::string_view bytes) {
  if (state_ == State::kEnded) return 0;
  const size_t kept = rest_.size();
  rest_.append(bytes);
  std::string_view left = rest_;
  while (true) {
    const std::string_view before = left;
    const auto frame = TakeFrame(left);
    absl::Status taken = frame.ok() ? absl::OkStatus() : frame.status();
    if (frame.ok() && !frame->has_value()) break;
    if (frame.ok()) taken = state_ == State::kUp ? Take(**frame) : TakeFirst(**frame);
    if (!taken.ok()) {
      const bool began = state_ == State::kUp;
      refused_ = before;
      Break();
      return began ? absl::InternalError(taken.message()) : taken;
    }
    if (state_ != State::kEnded) continue;
    // The last frame is part of these bytes, or Receive would have seen it before.
    const size_t took = rest_.size() - left.size() - kept;
    rest_.clear();
    return took;
  }
  rest_.erase(0, rest_.size() - left.size());
  return bytes.size();
}

// Until the link is up: the agent's first frame, the controller's answer, and that one once more.
absl::Status StdioLink::TakeFirst(const LinkFrame& frame) {
  const bool agent = take_ != nullptr;
  if (frame.type == FrameType::kEnd) {
    state_ = State::kEnded;
    return absl::OkStatus();
  }
  const bool expected =
      agent || state_ == State::kProbing ? frame.type == FrameType::kProbe : frame.type == FrameType::kHello;
  if (!expected || frame.payload != HelloPayload()) {
    return absl::InvalidArgumentError("the first frame is another one, or its bytes have changed on the way");
  }
  if (agent || state_ == State::kSilent) Queue(FrameType::kProbe, 0, frame.payload);
  state_ = agent || state_ == State::kProbing ? State::kUp : State::kProbing;
  return absl::OkStatus();
}

absl::Status StdioLink::TakeOpen(uint32_t id) {
  if (take_ == nullptr || id != last_id_ + 1) {
    return absl::InternalError(absl::StrCat("connection ", id, " cannot be opened"));
  }
  last_id_ = id;
  std::array<int, 2> ends{};
  if (connections_.size() >= kMaxConnections ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    Queue(FrameType::kClose, id);
    return absl::OkStatus();
  }
  connections_[id].socket = UniqueFd(ends[0]);
  take_(UniqueFd(ends[1]));
  return absl::OkStatus();
}

absl::Status StdioLink::Take(const LinkFrame& frame) {
  if (frame.type == FrameType::kEnd) {
    state_ = State::kEnded;
    for (auto at = connections_.begin(); at != connections_.end();) {
      const auto next = std::next(at);
      at->second.other_finished = at->second.other_closed = true;
      WriteSocket(at);
      at = next;
    }
    return absl::OkStatus();
  }
  if (frame.type == FrameType::kOpen) return TakeOpen(frame.connection);
  if (frame.connection == 0 || frame.connection > last_id_) return Senseless(frame, "it was never opened");
  const auto at = connections_.find(frame.connection);
  // It has been closed here, which the other side may not know yet.
  if (at == connections_.end()) return absl::OkStatus();
  Connection& connection = at->second;
  switch (frame.type) {
    case FrameType::kData:
      if (connection.other_finished || frame.payload.size() > connection.window) {
        return Senseless(frame, "more data than its window allows");
      }
      connection.window -= static_cast<uint32_t>(frame.payload.size());
      connection.unread.append(frame.payload);
      WriteSocket(at);
      return absl::OkStatus();
    case FrameType::kCredit: {
      if (frame.payload.size() != sizeof(uint32_t)) return Senseless(frame, "its length is wrong");
      const auto credit = LoadLittle<uint32_t>(frame.payload.data());
      if (credit > kWindowBytes - connection.credit) return Senseless(frame, "more credit than its window");
      connection.credit += credit;
      return absl::OkStatus();
    }
    case FrameType::kFinish:
    case FrameType::kClose:
      connection.other_finished = true;
      connection.other_closed = connection.other_closed || frame.type == FrameType::kClose;
      WriteSocket(at);
      return absl::OkStatus();
    default:
      return Senseless(frame, "it does not belong there");
  }
}

absl::Status StdioLink::Send(int output) {
  while (!queue_.empty()) {
    const std::string& frame = queue_.front();
    const ssize_t wrote = WriteSome(output, frame.data() + sent_, frame.size() - sent_);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0) return PosixError("write", "", errno);
    sent_ += static_cast<size_t>(wrote);
    if (sent_ < frame.size()) continue;
    queued_bytes_ -= frame.size();
    queue_.pop_front();
    sent_ = 0;
  }
  return absl::OkStatus();
}

void StdioLink::SendEnd() {
  Queue(FrameType::kEnd, 0);
  sent_end_ = true;
}

void StdioLink::Break() {
  state_ = State::kEnded;
  sent_end_ = true;
  connections_.clear();
  queue_.clear();
  queued_bytes_ = sent_ = 0;
  rest_.clear();
}

size_t StdioLink::Readable(const Connection& connection) const {
  if (connection.finished || connection.other_closed || sent_end_ || queued_bytes_ >= kMaxQueuedBytes) return 0;
  return std::min<size_t>(connection.credit, kMaxPayloadBytes);
}

void StdioLink::AddWaits(std::vector<pollfd>& waits) {
  waiting_.clear();
  for (const auto& [id, connection] : connections_) {
    const int events = (Readable(connection) > 0 ? POLLIN : 0) | (connection.unread.empty() ? 0 : POLLOUT);
    // Without events poll(2) would still report a socket that the other end has closed, again and again.
    if (events == 0) continue;
    waits.push_back({connection.socket.get(), static_cast<int16_t>(events), 0});
    waiting_.push_back(id);
  }
}

void StdioLink::Serve(std::span<const pollfd> found) {
  std::vector<uint32_t> readable;
  for (size_t i = 0; i < std::min(found.size(), waiting_.size()); ++i) {
    if (found[i].revents == 0) continue;
    if (const auto at = connections_.find(waiting_[i]); at != connections_.end()) WriteSocket(at);
    readable.push_back(waiting_[i]);
  }
  // In turn, beginning behind the one that was the last to send.
  std::ranges::rotate(readable, std::ranges::upper_bound(readable, served_id_));
  for (const uint32_t id : readable) {
    if (const auto at = connections_.find(id); at != connections_.end()) ReadSocket(at);
  }
}

void StdioLink::ReadSocket(Connections::iterator at) {
  auto& [id, connection] = *at;
  const size_t most = Readable(connection);
  if (most == 0) return;
  std::array<char, kMaxPayloadBytes> data{};
  const ssize_t got = recv(connection.socket.get(), data.data(), most, MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got < 0) return Close(at);
  if (got > 0) {
    served_id_ = id;
    connection.credit -= static_cast<uint32_t>(got);
    Queue(FrameType::kData, id, {data.data(), static_cast<size_t>(got)});
    return;
  }
  connection.finished = true;
  Queue(FrameType::kFinish, id);
  if (connection.shut) connections_.erase(at);
}

void StdioLink::WriteSocket(Connections::iterator at) {
  auto& [id, connection] = *at;
  while (connection.offset < connection.unread.size()) {
    const ssize_t sent = send(connection.socket.get(), connection.unread.data() + connection.offset,
                              connection.unread.size() - connection.offset, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return Close(at);
    connection.offset += static_cast<size_t>(sent);
    connection.passed_on += static_cast<uint32_t>(sent);
  }
  connection.unread.erase(0, std::exchange(connection.offset, 0));
  if (connection.passed_on >= kWindowBytes / 4 && !connection.other_finished) {
    std::array<char, sizeof(uint32_t)> credit{};
    StoreLittle(connection.passed_on, credit.data());
    connection.window += std::exchange(connection.passed_on, 0);
    Queue(FrameType::kCredit, id, {credit.data(), credit.size()});
  }
  if (!connection.unread.empty() || !connection.other_finished) return;
  if (connection.other_closed) {
    connections_.erase(at);
    return;
  }
  if (!std::exchange(connection.shut, true)) shutdown(connection.socket.get(), SHUT_WR);
  if (connection.finished) connections_.erase(at);
}

void StdioLink::Close(Connections::iterator at) {
  Queue(FrameType::kClose, at->first);
  connections_.erase(at);
}

}  // namespace plimsoll
