// The agent's sockets: where it listens (--listen, resolved), and who is at the other end of a connection.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <set>
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
  // Path of a Unix socket; otherwise empty, and `addresses` holds at least one.
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
  // UNAVAILABLE where another program has the address, or it is not this host's. A socket file without a listener
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

// A number that the kernel gives to one socket and to no other after it; 0: the descriptor is closed, or is not a
// socket. gRPC closes the sockets that it was given, and the next file that is opened gets their descriptors' numbers:
// this may be asked of a file on a mount whose server is gone. It is never looked at, so that this never waits (fstat
// would).
uint64_t SocketIdentity(int descriptor);

struct Peer {
  // For one connection: "10.0.0.5:41234", "uid 1000 (process 77)".
  std::string name;
  // For sums over its connections: "10.0.0.5", "uid 1000".
  std::string who;
  bool loopback = false;
};

// The user that connected to a Unix socket, as the kernel noted it at that moment, and the peer's name.
absl::StatusOr<uid_t> UnixPeer(int socket, Peer& peer);

// The users that an agent of `own` serves where the kernel identifies the peer: root and `own`. Within a user
// namespace, users that it does not map all show as the overflow user id, so that this id identifies no user there.
// `uid_map`: the text of /proc/self/uid_map.
std::set<uid_t> TrustedUids(uid_t own, const std::string& uid_map, uid_t overflow_uid);
// For this process.
std::set<uid_t> TrustedUids();

// The peer of a TCP connection.
absl::StatusOr<Peer> TcpPeer(int socket);

// The user that owns the other end of a TCP connection over loopback: the one that made that socket. The kernel is
// asked for exactly this pair of addresses and ports. An end that has been closed has no owner any more, and is an
// error: the kernel would call it root's.
absl::StatusOr<uid_t> LoopbackOwner(int socket);

// The two ways in which LoopbackOwner asks, the first that this host offers: the kernel's socket diagnosis (exact, at
// any number of sockets), and the table /proc/net/tcp. `peer` and `own` are the connection's addresses. NOT_FOUND:
// there is no such connection, or its end is closed.
absl::StatusOr<uid_t> OwnerByDiagnosis(const SocketAddress& peer, const SocketAddress& own);
absl::StatusOr<uid_t> OwnerByTable(const SocketAddress& peer, const SocketAddress& own);

}  // namespace plimsoll
