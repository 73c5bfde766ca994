#include "agent/server/spoken_refusal.h"

#include <sys/socket.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "common/units.h"

namespace plimsoll {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr unsigned char kHeaders = 1;
constexpr unsigned char kSettings = 4;
constexpr unsigned char kGoAway = 7;
constexpr unsigned char kEndStreamAndHeaders = 5;
// A client's greeting and first call are some hundred bytes.
constexpr size_t kMaxHeardBytes = 64 << 10;
constexpr int64_t kMaxTimeNs = 5 * kNsPerSecond;

std::string BigEndian(uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift & 0xffU));
  return text;
}

std::string Frame(unsigned char type, unsigned char flags, uint32_t stream, const std::string& payload) {
  std::string frame = BigEndian(static_cast<uint32_t>(payload.size()), 3);
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  return frame + BigEndian(stream, 4) + payload;
}

// HPACK: a string as it is, its length with a prefix of 7 bits.
std::string Literal(const std::string& text) {
  constexpr size_t kPrefix = 127;
  std::string coded;
  if (text.size() < kPrefix) {
    coded.push_back(static_cast<char>(text.size()));
  } else {
    coded.push_back(static_cast<char>(kPrefix));
    size_t rest = text.size() - kPrefix;
    for (; rest >= 128; rest /= 128) coded.push_back(static_cast<char>(rest % 128 + 128));
    coded.push_back(static_cast<char>(rest));
  }
  return coded + text;
}

std::string Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + Literal(name) + Literal(value);
}

}  // namespace

SpokenRefusal::SpokenRefusal(UniqueFd socket, std::string sentence, MonotonicNs now)
    : socket_(std::move(socket)), sentence_(std::move(sentence)), since_(now), skip_(kPreface.size()) {
  Send(Frame(kSettings, 0, 0, ""));
}

bool SpokenRefusal::Over(MonotonicNs now) const {
  return now - since_ >= kMaxTimeNs;
}

bool SpokenRefusal::Send(const std::string& bytes) {
  // Far less than a socket's buffer holds.
  return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

bool SpokenRefusal::Take(unsigned char byte) {
  if (skip_ > 0) {
    --skip_;
    return true;
  }
  header_[have_++] = byte;
  if (have_ < header_.size()) return true;
  have_ = 0;
  skip_ = size_t{header_[0]} << 16U | size_t{header_[1]} << 8U | header_[2];
  if (header_[3] != kHeaders || answered_) return true;
  answered_ = true;
  const uint32_t stream =
      (uint32_t{header_[5]} << 24U | uint32_t{header_[6]} << 16U | uint32_t{header_[7]} << 8U | uint32_t{header_[8]}) &
      0x7fffffffU;
  constexpr char kStatus200 = static_cast<char>(0x88);  // of HPACK's static table
  const std::string fields = std::string(1, kStatus200) + Header("content-type", "application/grpc") +
                             Header("grpc-status", "7") + Header("grpc-message", sentence_);
  const bool sent = Send(Frame(kHeaders, kEndStreamAndHeaders, stream, fields) +
                         Frame(kGoAway, 0, 0, BigEndian(stream, 4) + BigEndian(0, 4)));
  shutdown(socket_.get(), SHUT_WR);
  return sent;
}

bool SpokenRefusal::Hear() {
  std::array<unsigned char, 4096> piece{};
  while (true) {
    const ssize_t got = recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    heard_ += static_cast<size_t>(got);
    if (heard_ > kMaxHeardBytes) return false;
    for (ssize_t i = 0; i < got; ++i) {
      if (!Take(piece[static_cast<size_t>(i)])) return false;
    }
  }
}

}  // namespace plimsoll
