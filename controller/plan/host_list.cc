#include "controller/plan/host_list.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace plimsoll {
namespace {

constexpr char kUnixPrefix[] = "unix:";
// Room for the path in sockaddr_un, without the terminator.
constexpr size_t kMaxUnixPath = 107;
constexpr size_t kMaxNameLength = 253;
// Longest item, ranges included: bounds what the expansion of one item can take.
constexpr size_t kMaxItemLength = 1024;
constexpr size_t kMaxPadding = 9;

absl::Status BadHost(const std::string& item, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(item), " is not a host: ", why));
}

absl::Status TooMany() {
  return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxHosts, " hosts"));
}

bool IsDigits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); });
}

// Splits at commas outside of brackets, so that a range may hold a list.
std::vector<std::string> SplitItems(const std::string& text) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ',' && depth <= 0) {
      items.emplace_back();
    } else {
      items.back().push_back(c);
    }
  }
  for (std::string& item : items) item = std::string(absl::StripAsciiWhitespace(item));
  return items;
}

// What follows the name: nothing, or ":" and a port.
absl::StatusOr<std::string> PortOf(const std::string& item, const std::string& text) {
  if (text.empty()) return absl::StrCat(":", kDefaultPort);
  unsigned port = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 1, end, port);
  if (text[0] != ':' || error != std::errc() || rest != end || port == 0 || port > 65535) {
    return BadHost(item, "expected ':' and a port from 1 to 65535 after the name");
  }
  return absl::StrCat(":", port);
}

absl::StatusOr<std::string> ParseUnix(const std::string& item) {
  const std::string path = item.substr(sizeof(kUnixPrefix) - 1);
  if (path.size() < 2 || path[0] != '/') return BadHost(item, "expected an absolute path, such as unix:/run/agent");
  if (path.size() > kMaxUnixPath) {
    return BadHost(item, absl::StrCat("a socket's path has at most ", kMaxUnixPath, " bytes"));
  }
  return item;
}

absl::StatusOr<std::string> ParseV6(const std::string& item) {
  const size_t close = item.find(']');
  if (close == std::string::npos) return BadHost(item, "expected ']' after the IPv6 address");
  const std::string inside = item.substr(1, close - 1);
  const size_t percent = inside.find('%');
  const std::string zone = percent == std::string::npos ? "" : inside.substr(percent);
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool good_zone =
      percent == std::string::npos || (zone.size() > 1 && std::all_of(zone.begin() + 1, zone.end(), IsPlainNameChar));
  if (!good_zone || inet_pton(AF_INET6, inside.substr(0, percent).c_str(), &address) != 1 ||
      inet_ntop(AF_INET6, &address, text.data(), text.size()) == nullptr) {
    return BadHost(item, "expected an IPv6 address in the brackets, such as [::1]:7461");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string port, PortOf(item, item.substr(close + 1)));
  return absl::StrCat("[", text.data(), zone, "]", port);
}

// Numbers of one "[...]", as text.
absl::StatusOr<std::vector<std::string>> ExpandRange(const std::string& item, const std::string& range) {
  std::vector<std::string> numbers;
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(range, ','))) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    const std::string& low = ends.front();
    const std::string& high = ends.back();
    if (ends.size() > 2 || !IsDigits(low) || !IsDigits(high) || low.size() > kMaxPadding || high.size() > kMaxPadding) {
      return BadHost(item, "expected numbers in the brackets, such as node[1-4] or node[01-12]");
    }
    uint64_t first = 0;
    uint64_t last = 0;
    std::from_chars(low.data(), low.data() + low.size(), first);
    std::from_chars(high.data(), high.data() + high.size(), last);
    if (first > last) return BadHost(item, "the range runs backwards");
    if (last - first >= kMaxHosts - std::min(numbers.size(), kMaxHosts)) return TooMany();
    const size_t width = low.size() > 1 && low[0] == '0' ? low.size() : 0;
    for (uint64_t number = first; number <= last; ++number) {
      const std::string digits = absl::StrCat(number);
      numbers.push_back(std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits);
    }
  }
  return numbers;
}

// A name with every combination of its ranges.
absl::StatusOr<std::vector<std::string>> ExpandName(const std::string& item, const std::string& name) {
  std::vector<std::string> names(1);
  size_t pos = 0;
  while (pos < name.size()) {
    if (name[pos] != '[') {
      if (!IsPlainNameChar(name[pos])) return BadHost(item, "expected letters, digits, '.', '-' and '_'");
      for (std::string& so_far : names) so_far.push_back(name[pos]);
      ++pos;
      continue;
    }
    const size_t close = name.find(']', pos);
    if (close == std::string::npos) return BadHost(item, "expected ']' after the range");
    PLIMSOLL_ASSIGN_OR_RETURN(const auto numbers, ExpandRange(item, name.substr(pos + 1, close - pos - 1)));
    if (names.size() * numbers.size() > kMaxHosts) return TooMany();
    std::vector<std::string> longer;
    for (const std::string& so_far : names) {
      for (const std::string& number : numbers) longer.push_back(so_far + number);
    }
    names = std::move(longer);
    pos = close + 1;
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> ParseNamed(const std::string& item) {
  const size_t bracket = item.rfind(']');
  const size_t colon = item.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos && item.find(':', colon + 1) != std::string::npos) {
    return BadHost(item, "an IPv6 address goes in brackets, such as [::1]:7461");
  }
  const std::string name = item.substr(0, colon);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string port, PortOf(item, colon == std::string::npos ? "" : item.substr(colon)));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> addresses, ExpandName(item, name));
  for (std::string& address : addresses) {
    if (address.empty() || address.size() > kMaxNameLength) {
      return BadHost(item, absl::StrCat("expected a name of 1 to ", kMaxNameLength, " letters"));
    }
    if (address[0] == '-') return BadHost(item, "a host's name may not begin with '-'");
    address += port;
  }
  return addresses;
}

// What people write that belongs to other programs' addresses, and what to write here; empty: none of it.
std::string WhatToDrop(const std::string& item) {
  if (const size_t scheme = item.find("://"); scheme != std::string::npos) {
    std::string rest = item.substr(scheme + 3);
    rest = rest.substr(0, rest.find('/'));
    return absl::StrCat("drop '", item.substr(0, scheme + 3), "'", rest.empty() ? "" : absl::StrCat(": write ", rest));
  }
  if (const size_t at = item.find('@'); at != std::string::npos) {
    return absl::StrCat("drop the user: write ", item.substr(at + 1),
                        " (for --launch ssh, set User in ~/.ssh/config, or pass --ssh-command 'ssh -l ",
                        item.substr(0, at), "')");
  }
  const size_t colon = item.rfind(':');
  if (colon != std::string::npos && colon + 1 < item.size() && item.find(':') == colon) {
    const std::string port = item.substr(colon + 1);
    if (port.find_first_not_of("0123456789-[],") == std::string::npos && !IsDigits(port) &&
        port.find_first_of("0123456789") != std::string::npos) {
      return absl::StrCat("a port cannot be a range: list ", item.substr(0, colon), " once for each port");
    }
  }
  return "";
}

absl::StatusOr<std::vector<std::string>> ParseItem(const std::string& item) {
  if (item.empty()) return BadHost(item, "expected host, host:port, [v6]:port or unix:/path between the commas");
  if (HasControl(item) || FindInvalidUtf8(item) != std::string::npos) return BadHost(item, "it is not plain text");
  if (item.size() > kMaxItemLength) return BadHost(item, absl::StrCat("it is longer than ", kMaxItemLength, " bytes"));
  if (absl::StartsWith(item, kUnixPrefix)) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::string address, ParseUnix(item));
    return std::vector<std::string>{std::move(address)};
  }
  if (item[0] == '[' && item.find(':') < item.find(']')) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::string address, ParseV6(item));
    return std::vector<std::string>{std::move(address)};
  }
  if (const std::string what = WhatToDrop(item); !what.empty()) return BadHost(item, what);
  return ParseNamed(item);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseHostList(const std::string& text) {
  std::vector<std::string> hosts;
  for (const std::string& item : SplitItems(text)) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> addresses, ParseItem(item));
    if (hosts.size() + addresses.size() > kMaxHosts) return TooMany();
    hosts.insert(hosts.end(), addresses.begin(), addresses.end());
  }
  return hosts;
}

absl::StatusOr<std::vector<std::string>> ReadHostsFile(const std::string& text, const std::string& file_name) {
  std::vector<std::string> hosts;
  int line_number = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    ++line_number;
    const std::string content = line.substr(0, line.find('#'));
    for (const std::string& item : SplitItems(absl::StrJoin(absl::StrSplit(content, absl::ByAnyChar(" \t\r")), ","))) {
      if (item.empty()) continue;
      absl::StatusOr<std::vector<std::string>> addresses = ParseItem(item);
      if (addresses.ok() && hosts.size() + addresses->size() > kMaxHosts) addresses = TooMany();
      if (!addresses.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(file_name, ":", line_number, ": ", addresses.status().message()));
      }
      hosts.insert(hosts.end(), addresses->begin(), addresses->end());
    }
  }
  if (hosts.empty()) return absl::InvalidArgumentError(absl::StrCat(file_name, ": no host; expected one a line"));
  return hosts;
}

std::string WithPort(const std::string& address) {
  const auto addresses = ParseHostList(address);
  return addresses.ok() && addresses->size() == 1 ? addresses->front() : address;
}

}  // namespace plimsoll
