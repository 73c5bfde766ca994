// Where the agent listens: --listen, resolved, and the sockets.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// 127.0.0.0/8, ::1, and the former written as IPv6.
bool IsLoopback(const SocketAddress& address);

// "10.0.0.5" or "::1": without the port; an IPv4 address inside an IPv6 one as IPv4.
std::string HostText(const SocketAddress& address);
// "10.0.0.5:7461" or "[::1]:7461".
std::string AddressText(const SocketAddress& address);
uint16_t PortOf(const SocketAddress& address);

struct ListenAddress {
  std::string text;  // as given
  // Of a Unix socket; otherwise empty, and `addresses` holds at least one.
  std::string unix_path;
  std::string host;
  std::vector<SocketAddress> addresses;

  bool is_unix() const { return !unix_path.empty(); }
  // Only programs on this host reach it: a Unix socket, or loopback addresses and no other.
  bool local() const;
};

// `text` is HOST:PORT, [V6]:PORT or unix:PATH. INVALID_ARGUMENT: it is none of them. UNAVAILABLE: the name has no
// address.
absl::StatusOr<ListenAddress> ResolveListenAddress(const std::string& text);

// Bound and listening, non-blocking. A Unix socket's file is its owner's alone, and goes with this object.
class Listener {
 public:
  // UNAVAILABLE where another program has the address, or it is not this host's. A socket file that nobody listens on
  // is replaced; nothing else is.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const ListenAddress& address);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::vector<UniqueFd>& sockets() const { return sockets_; }
  // As given, with the port that it got in place of port 0.
  const std::string& name() const { return name_; }

 private:
  Listener() = default;
  absl::Status OpenUnix(const ListenAddress& address);
  absl::Status OpenTcp(const ListenAddress& address);

  std::vector<UniqueFd> sockets_;
  std::string name_;
  std::string unix_path_;
  ino_t unix_inode_ = 0;
};

}  // namespace plimsoll
