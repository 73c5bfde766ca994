#include "agent/server/listener.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/posix_error.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// Connections that the kernel holds until they are taken.
constexpr int kBacklog = 128;
// What a connection may have said that gRPC has not read, doubled by the kernel. gRPC reads it even when the connection
// has been ended; a controller says far less.
constexpr int kReceiveBytes = 16 << 10;

absl::Status CannotListen(const std::string& text, int error_number) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", text, " (", std::string(PosixError("bind", "", error_number).message()),
                   "): is another agent there, or is the address not this host's? (--listen)"));
}

// Whether a program takes connections at that path.
bool SomebodyListens(const sockaddr_un& address) {
  const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return true;
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
         errno != ECONNREFUSED;
}

}  // namespace

absl::Status Listener::OpenUnix(const ListenAddress& address) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  std::memcpy(where.sun_path, address.unix_path.data(), address.unix_path.size());
  UniqueFd made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.valid()) return PosixError("socket", address.text, errno);
  struct stat facts{};
  if (lstat(address.unix_path.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode) && !SomebodyListens(where)) {
    unlink(address.unix_path.c_str());
  }
  // A socket file is for its owner alone.
  const mode_t mask = umask(0177);
  const int failed = bind(made.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)) == 0 ? 0 : errno;
  umask(mask);
  if (failed != 0) return CannotListen(address.text, failed);
  if (lstat(address.unix_path.c_str(), &facts) == 0) {
    unix_path_ = address.unix_path;
    unix_inode_ = facts.st_ino;
  }
  if (listen(made.get(), kBacklog) != 0) return CannotListen(address.text, errno);
  sockets_.push_back(std::move(made));
  name_ = address.text;
  return absl::OkStatus();
}

absl::Status Listener::OpenTcp(const ListenAddress& address) {
  in_port_t port = 0;
  for (SocketAddress each : address.addresses) {
    const int family = each.storage.ss_family;
    UniqueFd made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.valid()) return CannotListen(address.text, errno);
    const int on = 1;
    const int off = 0;
    // An agent that is started again need not wait for the connections of the last one to be forgotten.
    setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    // Taken over by the connections that it accepts.
    setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(made.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof(kReceiveBytes));
    // [::] is for both families, unless the list has IPv4 itself.
    if (family == AF_INET6) {
      const int* only = address.addresses.size() > 1 ? &on : &off;
      setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof(*only));
    }
    in_port_t& own_port = family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(each.storage).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(each.storage).sin_port;
    // All addresses of a name get the port that the first got.
    if (own_port == 0) own_port = port;
    if (bind(made.get(), each.get(), each.length) != 0 || listen(made.get(), kBacklog) != 0) {
      return CannotListen(address.text, errno);
    }
    if (getsockname(made.get(), each.get(), &each.length) != 0) return PosixError("getsockname", "", errno);
    port = own_port;
    sockets_.push_back(std::move(made));
  }
  name_ = absl::StrCat(address.host, ":", ntohs(port));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(const ListenAddress& address) {
  auto listener = std::unique_ptr<Listener>(new Listener);
  PLIMSOLL_RETURN_IF_ERROR(address.is_unix() ? listener->OpenUnix(address) : listener->OpenTcp(address));
  return listener;
}

Listener::~Listener() {
  struct stat facts{};
  // Only our own file: another agent may have taken the place meanwhile.
  if (!unix_path_.empty() && lstat(unix_path_.c_str(), &facts) == 0 && facts.st_ino == unix_inode_) {
    unlink(unix_path_.c_str());
  }
}

}  // namespace plimsoll
