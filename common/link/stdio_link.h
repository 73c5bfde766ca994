// One end of numbered connections over a pair of byte streams, such as the standard input and output of
// `plimsoll-agent --stdio`.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/link/frame.h"
#include "common/posix.h"

namespace plimsoll {

// Passes bytes on between local sockets and frames. The controller's end opens connections, one for each socket that it
// is given; the agent's end makes a pair of sockets for each of them and gives one away.
//
// A connection may send as many bytes as the receiver has room for: its window. So one whose receiver does not read
// delays no other, and the memory of a link has a limit, whatever the other side sends. Never blocks. One thread.
class StdioLink {
 public:
  // Of one connection, in one direction.
  static constexpr uint32_t kWindowBytes = 512 << 10;
  // At a time; a controller has two or three. One more is closed at once.
  static constexpr size_t kMaxConnections = 32;
  // Local sockets are not read while so much waits for the stream.
  static constexpr size_t kMaxQueuedBytes = 64 << 10;

  enum class State {
    kSilent,   // no frame has come
    kProbing,  // the agent has greeted, and must return every byte unchanged
    kUp,
    kEnded  // the other side's last frame has come, or its stream has ended or is garbled
  };

  // The controller's end.
  StdioLink() = default;
  // The agent's end: its first frame is ready to be sent. `take` gets a socket for each connection.
  explicit StdioLink(std::function<void(UniqueFd socket)> take);
  StdioLink(const StdioLink&) = delete;
  StdioLink& operator=(const StdioLink&) = delete;

  State state() const { return state_; }
  size_t connections() const { return connections_.size(); }

  // A new connection for a local socket; closes the socket where there are too many, or where the link has ended.
  void Open(UniqueFd socket);

  // Takes what has come on the stream, and returns how much of it was the link's: all of it, unless the other side has
  // sent its last frame. INVALID_ARGUMENT: the stream does not begin with the other side's first frame, and is garbled
  // (GarbledInWords). INTERNAL: a frame makes no sense. After an error, and after the last frame, it takes nothing.
  absl::StatusOr<size_t> Receive(std::string_view bytes);

  // After an error of Receive: what could not be taken, from the first byte of that frame on.
  const std::string& refused() const { return refused_; }

  bool wants_to_send() const { return !queue_.empty(); }
  // Whether to read the stream: not while the other side makes this one answer and takes no answers. What the two sides
  // send without being made to is far less.
  bool wants_to_receive() const { return state_ != State::kEnded && queued_bytes_ < 4 * kMaxQueuedBytes; }
  // Sends frames until the stream would block. `output` need not be set to non-blocking, if it is a pipe or a socket.
  // The system's error where the stream cannot be written to.
  absl::Status Send(int output);

  // Queues this side's last frame; none follows it. Frames still come.
  void SendEnd();
  // The stream has ended: ends every connection, and forgets what was not sent.
  void Break();

  // Appends what to wait for, for each connection.
  void AddWaits(std::vector<pollfd>& waits);
  // What poll(2) found of these, in the same order.
  void Serve(std::span<const pollfd> found);

 private:
  struct Connection {
    UniqueFd socket;
    // For the socket, from `offset` on.
    std::string unread;
    size_t offset = 0;
    // Bytes that this side may still send, and the other one.
    uint32_t credit = kWindowBytes;
    uint32_t window = kWindowBytes;
    // Passed on to the socket since the last credit.
    uint32_t passed_on = 0;
    // The socket has no more data to send, and the other side knows.
    bool finished = false;
    // The other side sends no more data; `shut`: the socket knows.
    bool other_finished = false;
    bool shut = false;
    // The other side takes no more data either.
    bool other_closed = false;
  };
  using Connections = std::map<uint32_t, Connection>;

  // The bytes that a connection's socket may be asked for now.
  size_t Readable(const Connection& connection) const;
  absl::Status Take(const LinkFrame& frame);
  absl::Status TakeFirst(const LinkFrame& frame);
  absl::Status TakeOpen(uint32_t id);
  void Queue(FrameType type, uint32_t id, std::string_view payload = {});
  // One frame's worth.
  void ReadSocket(Connections::iterator at);
  void WriteSocket(Connections::iterator at);
  // Ends a connection whose socket takes or sends nothing any more.
  void Close(Connections::iterator at);

  const std::function<void(UniqueFd socket)> take_;
  State state_ = State::kSilent;
  // The last part of the stream: a frame whose rest is still to come.
  std::string rest_;
  std::string refused_;
  std::deque<std::string> queue_;
  size_t queued_bytes_ = 0;
  // Sent of the first frame in the queue.
  size_t sent_ = 0;
  bool sent_end_ = false;
  // The last that was opened.
  uint32_t last_id_ = 0;
  // The connection that sent last: others come first.
  uint32_t served_id_ = 0;
  Connections connections_;
  // Whose waits were appended last.
  std::vector<uint32_t> waiting_;
};

}  // namespace plimsoll
