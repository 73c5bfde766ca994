#include "common/link/frame.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "common/integers.h"
#include "common/text.h"

namespace plimsoll {
namespace {

// The first byte begins no character of UTF-8.
constexpr std::string_view kMagic = "\xfePL";
constexpr size_t kTypeAt = 3;
constexpr size_t kConnectionAt = 4;
constexpr size_t kLengthAt = 8;
// Bytes of a garbled stream that a message shows.
constexpr size_t kShownBytes = 64;

bool IsFrameType(char type) {
  constexpr std::array kTypes = {FrameType::kHello,  FrameType::kProbe,  FrameType::kOpen,  FrameType::kData,
                                 FrameType::kCredit, FrameType::kFinish, FrameType::kClose, FrameType::kEnd};
  return std::ranges::any_of(kTypes, [type](FrameType known) { return static_cast<char>(known) == type; });
}

absl::Status NoFrame(const char* why) {
  return absl::InvalidArgumentError(absl::StrCat("not a frame of plimsoll-agent --stdio: ", why));
}

}  // namespace

std::string PackFrame(FrameType type, uint32_t connection, std::string_view payload) {
  std::string bytes(kFrameHeaderBytes, '\0');
  std::ranges::copy(kMagic, bytes.begin());
  bytes[kTypeAt] = static_cast<char>(type);
  StoreLittle(connection, bytes.data() + kConnectionAt);
  StoreLittle(static_cast<uint32_t>(payload.size()), bytes.data() + kLengthAt);
  bytes.append(payload);
  return bytes;
}

bool BeginsFrame(std::string_view bytes) {
  return bytes.starts_with(kMagic.front());
}

absl::StatusOr<std::optional<LinkFrame>> TakeFrame(std::string_view& bytes) {
  const size_t compared = std::min(bytes.size(), kMagic.size());
  if (bytes.substr(0, compared) != kMagic.substr(0, compared)) return NoFrame("it begins with other bytes");
  if (bytes.size() > kTypeAt && !IsFrameType(bytes[kTypeAt])) return NoFrame("its type is unknown");
  if (bytes.size() < kFrameHeaderBytes) return std::nullopt;
  const auto length = LoadLittle<uint32_t>(bytes.data() + kLengthAt);
  if (length > kMaxPayloadBytes) return NoFrame("it is too long");
  if (bytes.size() - kFrameHeaderBytes < length) return std::nullopt;
  LinkFrame frame;
  frame.type = static_cast<FrameType>(bytes[kTypeAt]);
  frame.connection = LoadLittle<uint32_t>(bytes.data() + kConnectionAt);
  frame.payload = bytes.substr(kFrameHeaderBytes, length);
  bytes.remove_prefix(kFrameHeaderBytes + length);
  return frame;
}

const std::string& HelloPayload() {
  static const std::string kPayload = [] {
    std::string payload = "plimsoll-agent --stdio 1\r\n";
    for (int byte = 0; byte < 256; ++byte) payload.push_back(static_cast<char>(byte));
    return payload;
  }();
  return kPayload;
}

std::string GarbledInWords(std::string_view received) {
  // A pty changes the bytes of a frame, and begins no earlier than those; whatever prints comes before them.
  const bool changed = received.starts_with(kMagic);
  const std::string first = Quoted(received.substr(0, kShownBytes));
  if (changed) {
    return absl::StrCat(
        "the bytes between controller and agent change on their way: a terminal (pty) is in between; "
        "leave out -t, and -u of srun (it begins with ",
        first, ")");
  }
  return absl::StrCat(
      "something else than the agent prints on its standard output: a banner, .bashrc, or a client with "
      "a terminal (pty): it must print nothing, and without -t, and -u of srun (it begins with ",
      first, ")");
}

}  // namespace plimsoll
