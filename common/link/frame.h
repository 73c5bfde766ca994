// Frames: what the streams of `plimsoll-agent --stdio` consist of.
//
// A frame is a header of 12 bytes and a payload: three bytes that no text begins with, a byte for the type, the number
// of the connection and the payload's length, both of 32 bits, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace plimsoll {

inline constexpr size_t kFrameHeaderBytes = 12;
// A pipe takes so much (PIPE_BUF) whole or not at all: a sender that is killed leaves no part of a frame.
inline constexpr size_t kMaxFrameBytes = 4096;
inline constexpr size_t kMaxPayloadBytes = kMaxFrameBytes - kFrameHeaderBytes;

enum class FrameType : uint8_t {
  // The agent listens. Its first frame; nothing is sent to it before. Payload: HelloPayload().
  kHello = 'h',
  // The controller's first frame, with HelloPayload(); the agent sends back what arrived.
  kProbe = 'p',
  // A new connection. Numbers count from 1 and are never used again. From the controller alone.
  kOpen = 'o',
  // Bytes of a connection, at least one.
  kData = 'd',
  // The receiver has passed on so many bytes of a connection (32 bits, little-endian): as many more may be sent.
  kCredit = 'c',
  // No more data of the connection comes from the sender, which still takes some.
  kFinish = 'f',
  // The connection is over for the sender: it sends nothing more, and takes nothing more.
  kClose = 'x',
  // The sender's last frame. What follows on the stream is not the link's.
  kEnd = 'e'
};

struct LinkFrame {
  FrameType type = FrameType::kEnd;
  // 0 for frames of no connection.
  uint32_t connection = 0;
  // Part of the text that was parsed.
  std::string_view payload;
};

// The frame as bytes; `payload` has at most kMaxPayloadBytes.
std::string PackFrame(FrameType type, uint32_t connection, std::string_view payload);

// Whether the first byte is that of a frame; no text has it.
bool BeginsFrame(std::string_view bytes);

// Takes one frame from the front of `bytes`; nothing if its rest is still to come. INVALID_ARGUMENT as soon as `bytes`
// cannot begin with a frame.
absl::StatusOr<std::optional<LinkFrame>> TakeFrame(std::string_view& bytes);

// What the first frame of each side holds: every byte there is, and line ends, so that a terminal in between shows.
const std::string& HelloPayload();

// Why bytes that should begin with the other side's first frame do not, and the way out. `received`, which is not
// empty, is what came first.
std::string GarbledInWords(std::string_view received);

}  // namespace plimsoll
