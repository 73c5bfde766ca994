#include "tests/faultfs/control_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/posix.h"

namespace plimsoll::faultfs {
namespace {

constexpr int kLookMs = 50;

// Whether there is something to read, within a short time.
bool Readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, kLookMs) > 0;
}

std::string InWords(const absl::Status& status) {
  return status.ok() ? "ok" : absl::StrCat("error ", std::string(status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlSocket>> ControlSocket::Listen(const std::string& path,
                                                                     const Subjects& subjects) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is too long for a socket"));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return PosixError("socket", path, errno);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return PosixError("bind", path, errno);
  }
  if (listen(fd.get(), 8) != 0) return PosixError("listen", path, errno);
  return std::unique_ptr<ControlSocket>(new ControlSocket(path, std::move(fd), subjects));
}

ControlSocket::ControlSocket(std::string path, UniqueFd listener, const Subjects& subjects)
    : path_(std::move(path)), listener_(std::move(listener)), subjects_(subjects), thread_([this] { Serve(); }) {}

ControlSocket::~ControlSocket() {
  ending_ = true;
  thread_.join();
  unlink(path_.c_str());
}

void ControlSocket::Serve() {
  while (!ending_) {
    if (!Readable(listener_.get())) continue;
    const UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) ServeClient(client.get());
  }
}

void ControlSocket::ServeClient(int fd) {
  std::string text;
  while (!ending_) {
    if (!Readable(fd)) continue;
    std::array<char, 4096> piece{};
    const ssize_t got = read(fd, piece.data(), piece.size());
    if (got <= 0) return;
    text.append(piece.data(), static_cast<size_t>(got));
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const std::string answer = Answer(text.substr(0, end)) + "\n";
      text.erase(0, end + 1);
      if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(answer.size())) return;
    }
  }
}

std::string ControlSocket::Answer(const std::string& line) {
  const size_t space = line.find(' ');
  const std::string command = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (command == "add") {
    const auto number = subjects_.rules.Add(rest);
    return number.ok() ? absl::StrCat("ok ", *number) : InWords(number.status());
  }
  if (command == "clear") {
    subjects_.rules.ReleaseAll();
    return "ok";
  }
  uint64_t number = 0;
  if (!absl::SimpleAtoi(rest, &number)) return absl::StrCat("error '", line, "' is no command");
  if (command == "release") return InWords(subjects_.rules.Release(number));
  if (command == "expire") return absl::StrCat("ok ", subjects_.locks.DropProcess(static_cast<pid_t>(number)));
  if (command == "lost") return absl::StrCat("ok ", absl::StrJoin(subjects_.volatile_writes.LostBy(number), " "));
  if (command == "hits") {
    const auto hits = subjects_.rules.HitsOf(number);
    return hits.ok() ? absl::StrCat("ok ", hits->hits, " ", hits->waiting) : InWords(hits.status());
  }
  return absl::StrCat("error '", line, "' is no command");
}

}  // namespace plimsoll::faultfs
