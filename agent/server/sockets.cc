#include "agent/server/sockets.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/files.h"
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
    // A socket without an inode no longer has an owner, and is listed as root's.
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
  const auto read = [](const char* path) { return ReadFile(path, 4096).value_or(""); };
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
