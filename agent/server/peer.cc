#include "agent/server/peer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "common/posix_error.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

absl::StatusOr<SocketAddress> AddressOf(int socket, bool of_peer) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  const int failed = of_peer ? getpeername(socket, address.get(), &address.length)
                             : getsockname(socket, address.get(), &address.length);
  if (failed != 0) return PosixError(of_peer ? "getpeername" : "getsockname", "", errno);
  return address;
}

}  // namespace

absl::StatusOr<uid_t> UnixPeer(int socket, Peer& peer) {
  ucred credentials{};
  socklen_t length = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
    return PosixError("SO_PEERCRED", "", errno);
  }
  peer.who = absl::StrCat("uid ", credentials.uid);
  peer.name = absl::StrCat(peer.who, " (process ", credentials.pid, ")");
  return credentials.uid;
}

std::set<uid_t> TrustedUids(uid_t own, const std::string& uid_map, uid_t overflow_uid) {
  constexpr uint64_t kAllUids = 4294967295;
  std::istringstream fields(uid_map);
  uint64_t inside = 1;
  uint64_t outside = 1;
  uint64_t count = 0;
  fields >> inside >> outside >> count;
  std::set<uid_t> trusted = {0, own};
  if (inside != 0 || outside != 0 || count != kAllUids) trusted.erase(overflow_uid);
  return trusted;
}

std::set<uid_t> TrustedUids() {
  constexpr uid_t kUsualOverflowUid = 65534;
  const auto read = [](const char* path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  };
  uid_t overflow_uid = kUsualOverflowUid;
  std::istringstream(read("/proc/sys/kernel/overflowuid")) >> overflow_uid;
  return TrustedUids(geteuid(), read("/proc/self/uid_map"), overflow_uid);
}

absl::StatusOr<Peer> TcpPeer(int socket) {
  PLIMSOLL_ASSIGN_OR_RETURN(const SocketAddress address, AddressOf(socket, true));
  return Peer{AddressText(address), HostText(address), IsLoopback(address)};
}

absl::StatusOr<uid_t> LoopbackOwner(int socket) {
  PLIMSOLL_ASSIGN_OR_RETURN(const SocketAddress peer, AddressOf(socket, true));
  PLIMSOLL_ASSIGN_OR_RETURN(const SocketAddress own, AddressOf(socket, false));
  if (!IsLoopback(peer) || !IsLoopback(own)) return absl::InvalidArgumentError("not a connection over loopback");
  absl::StatusOr<uid_t> uid = OwnerByDiagnosis(peer, own);
  // NOT_FOUND is an answer; anything else means that this way is closed here.
  if (uid.ok() || uid.status().code() == absl::StatusCode::kNotFound) return uid;
  return OwnerByTable(peer, own);
}

}  // namespace plimsoll
