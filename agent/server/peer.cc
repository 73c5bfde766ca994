#include "agent/server/peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {

uint64_t SocketIdentity(int descriptor) {
  uint64_t cookie = 0;
  socklen_t length = sizeof(cookie);
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

namespace {

// TCP_ESTABLISHED of the kernel.
constexpr int kEstablished = 1;
constexpr int64_t kAnswerTimeoutMs = 1000;

absl::Status Gone() {
  return absl::NotFoundError("its end of the connection is closed");
}

void PutAddress(const SocketAddress& address, __be32 (&words)[4], __be16& port) {
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    words[0] = v4.sin_addr.s_addr;
    port = v4.sin_port;
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    std::memcpy(&words[0], &v6.sin6_addr, sizeof(v6.sin6_addr));
    port = v6.sin6_port;
  }
}

// The tables list an IPv4 connection as IPv4, whatever the family of its sockets.
SocketAddress Unmapped(const SocketAddress& address) {
  if (address.storage.ss_family != AF_INET6) return address;
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
  if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return address;
  SocketAddress plain;
  auto& v4 = reinterpret_cast<sockaddr_in&>(plain.storage);
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
  plain.length = sizeof(v4);
  return plain;
}

// As /proc/net/tcp writes it: the address in 32-bit words of the host's byte order, then the port.
std::string TableText(const SocketAddress& address, bool as_v6) {
  std::array<uint32_t, 4> words{};
  uint16_t port = 0;
  if (address.storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address.storage);
    words = {0, 0, htonl(0xffff), v4.sin_addr.s_addr};
    port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    std::memcpy(words.data(), &v6.sin6_addr, sizeof(v6.sin6_addr));
    port = ntohs(v6.sin6_port);
  }
  std::string text;
  for (size_t i = as_v6 ? 0 : 3; i < words.size(); ++i) absl::StrAppendFormat(&text, "%08X", words[i]);
  absl::StrAppendFormat(&text, ":%04X", port);
  return text;
}

absl::StatusOr<uid_t> OwnerInFile(const std::string& path, const std::string& local, const std::string& remote) {
  std::ifstream file(path);
  if (!file) return PosixError("open", path, errno);
  std::string line;
  std::getline(file, line);  // the heading
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string slot, its_local, its_remote, state, queues, timer, retransmits;
    uint64_t uid = 0;
    uint64_t timeout = 0;
    uint64_t inode = 0;
    fields >> slot >> its_local >> its_remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    if (!fields || its_local != local || its_remote != remote) continue;
    // A socket without an inode belongs to nobody any more, and is listed as root's.
    if (inode == 0 || state != "01") return Gone();
    return static_cast<uid_t>(uid);
  }
  return Gone();
}

}  // namespace

absl::StatusOr<uid_t> OwnerByDiagnosis(const SocketAddress& peer, const SocketAddress& own) {
  const UniqueFd netlink(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!netlink.valid()) return PosixError("socket", "NETLINK_SOCK_DIAG", errno);
  const timeval timeout{kAnswerTimeoutMs / 1000, (kAnswerTimeoutMs % 1000) * 1000};
  setsockopt(netlink.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  const SocketAddress source = Unmapped(peer);
  const SocketAddress destination = Unmapped(own);
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question{};
  question.header.nlmsg_len = sizeof(question);
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = static_cast<__u8>(source.storage.ss_family);
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = 1U << kEstablished;
  inet_diag_sockid& id = question.request.id;
  PutAddress(source, id.idiag_src, id.idiag_sport);
  PutAddress(destination, id.idiag_dst, id.idiag_dport);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(netlink.get(), &question, sizeof(question), 0) != sizeof(question)) {
    return PosixError("send", "NETLINK_SOCK_DIAG", errno);
  }
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  const ssize_t got = recv(netlink.get(), answer.data(), answer.size(), 0);
  if (got < 0) return PosixError("recv", "NETLINK_SOCK_DIAG", errno);
  nlmsghdr header{};
  if (static_cast<size_t>(got) < sizeof(header)) return absl::InternalError("a short answer from NETLINK_SOCK_DIAG");
  std::memcpy(&header, answer.data(), sizeof(header));
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error{};
    std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof(error));
    // ENOENT without the module tcp_diag, too; the table then gives the same answer, only more slowly.
    return PosixError("look up", "NETLINK_SOCK_DIAG", error.error == -ENOENT ? EOPNOTSUPP : -error.error);
  }
  inet_diag_msg found{};
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || static_cast<size_t>(got) < NLMSG_HDRLEN + sizeof(found)) {
    return absl::InternalError("an unknown answer from NETLINK_SOCK_DIAG");
  }
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof(found));
  // The kernel reads the owner before the inode: an inode means that the owner was still there.
  if (found.idiag_inode == 0 || found.idiag_state != kEstablished) return Gone();
  if (found.id.idiag_sport != id.idiag_sport || found.id.idiag_dport != id.idiag_dport) {
    return absl::InternalError("NETLINK_SOCK_DIAG reported another connection");
  }
  return found.idiag_uid;
}

absl::StatusOr<uid_t> OwnerByTable(const SocketAddress& peer, const SocketAddress& own) {
  const SocketAddress source = Unmapped(peer);
  const SocketAddress destination = Unmapped(own);
  if (source.storage.ss_family == AF_INET) {
    const auto uid = OwnerInFile("/proc/net/tcp", TableText(source, false), TableText(destination, false));
    if (uid.ok() || uid.status().code() != absl::StatusCode::kNotFound) return uid;
  }
  // An IPv6 socket that speaks IPv4 is listed here, with its addresses written as IPv6.
  return OwnerInFile("/proc/net/tcp6", TableText(source, true), TableText(destination, true));
}

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
