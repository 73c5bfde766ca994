// Who is at the other end of a connection.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "agent/server/listener.h"

namespace plimsoll {

// A number that the kernel gives to one socket and to no other after it; 0: the descriptor is closed, or is no socket.
// gRPC closes the sockets that it was given, and the next file that is opened gets their descriptors' numbers: this may
// be asked of a file on a mount whose server is gone. It is never looked at, so that this never waits (fstat would).
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
// namespace, users that it does not map all show as the overflow user id, so that this one is nobody's there.
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
