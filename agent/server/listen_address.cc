#include "agent/server/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

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

}  // namespace plimsoll
