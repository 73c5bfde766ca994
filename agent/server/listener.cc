#include "agent/server/listener.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxUnixPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Bad(const std::string& text, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("--listen ", text, ": ", why));
}

const sockaddr_in& V4(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in&>(address.storage);
}
const sockaddr_in6& V6(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in6&>(address.storage);
}

}  // namespace

bool IsLoopback(const SocketAddress& address) {
  if (address.storage.ss_family == AF_INET) return (ntohl(V4(address).sin_addr.s_addr) >> 24U) == 127;
  if (address.storage.ss_family != AF_INET6) return false;
  const in6_addr& v6 = V6(address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

std::string HostText(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &V4(address).sin_addr, text.data(), text.size());
  } else if (address.storage.ss_family == AF_INET6) {
    const in6_addr& v6 = V6(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6)) {
      inet_ntop(AF_INET, &v6.s6_addr[12], text.data(), text.size());
    } else {
      inet_ntop(AF_INET6, &v6, text.data(), text.size());
    }
  }
  return text.data();
}

std::string AddressText(const SocketAddress& address) {
  const std::string host = HostText(address);
  return absl::StrContains(host, ":") ? absl::StrCat("[", host, "]:", PortOf(address))
                                      : absl::StrCat(host, ":", PortOf(address));
}

uint16_t PortOf(const SocketAddress& address) {
  return ntohs(address.storage.ss_family == AF_INET6 ? V6(address).sin6_port : V4(address).sin_port);
}

bool ListenAddress::local() const {
  return is_unix() || std::all_of(addresses.begin(), addresses.end(), IsLoopback);
}

absl::StatusOr<ListenAddress> ResolveListenAddress(const std::string& text) {
  ListenAddress listen;
  listen.text = text;
  if (absl::StartsWith(text, "unix:")) {
    listen.unix_path = text.substr(5);
    if (listen.unix_path.empty()) return Bad(text, "expected a path after unix:");
    if (listen.unix_path.size() > kMaxUnixPath) {
      return Bad(text, absl::StrCat("a socket's path has at most ", kMaxUnixPath, " bytes"));
    }
    return listen;
  }
  const size_t colon = text.rfind(':');
  std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
  listen.host = host;
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ":")) {
    return Bad(text, "an IPv6 address goes in brackets, such as [::1]:7461");
  }
  unsigned port = 0;
  const char* end = text.data() + text.size();
  if (colon == std::string::npos || host.empty()) return Bad(text, "expected HOST:PORT, [V6]:PORT or unix:PATH");
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || rest != end || port > 65535) return Bad(text, "expected a port from 0 to 65535");

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &found);
  if (failed != 0) {
    return absl::UnavailableError(absl::StrCat("--listen ", text, ": ", host, ": ", gai_strerror(failed)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_family != AF_INET && each->ai_family != AF_INET6) continue;
    SocketAddress address;
    address.length = each->ai_addrlen;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    listen.addresses.push_back(address);
  }
  if (listen.addresses.empty()) return absl::UnavailableError(absl::StrCat("--listen ", text, ": no address"));
  return listen;
}

namespace {

// Connections that the kernel holds until they are taken.
constexpr int kBacklog = 128;
// What a connection may have sent that gRPC has not read, doubled by the kernel. gRPC reads it even when the connection
// has been ended; a controller sends far less.
constexpr int kReceiveBytes = 16 << 10;

absl::Status CannotListen(const std::string& text, int error_number) {
  if (error_number == ENOENT) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", text, ": the directory of the socket does not exist (--listen)"));
  }
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", text, " (", std::string(PosixError("bind", "", error_number).message()),
                   "): is another agent using it, or does the address belong to another host? (--listen)"));
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
