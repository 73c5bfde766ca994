// Addresses of agents as people list them.
//
//   list    = item { "," item }
//   item    = name [":" port] | "[" IPv6 "]" [":" port] | "unix:" absolute path
//   name    = letters, digits, ".", "-", "_" and ranges: node[1-4], node[01-12].x, rack[1-2]-node[1,3,5-8]
//
// A range with leading zeros keeps its width: node[08-10] is node08, node09, node10.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/protocol.h"

namespace plimsoll {

inline constexpr size_t kMaxHosts = kMaxRunHosts;
// The largest file of hosts: 256 bytes for each host of the largest run.
inline constexpr size_t kMaxHostsFileBytes = 1 << 20;

// Addresses in the order of the list, each with its port (by default 7461): "node1:7461", "[::1]:7463",
// "unix:/run/agent". INVALID_ARGUMENT names the item and what is wrong with it. Equal addresses stay.
absl::StatusOr<std::vector<std::string>> ParseHostList(const std::string& text);

// One address with its port; what names no single host stays as it is.
std::string WithPort(const std::string& address);

// Reads items as above from the lines of a file, separated by blanks or commas; "#" begins a comment. INVALID_ARGUMENT
// "FILE:LINE: ..."; a file without hosts is one too.
absl::StatusOr<std::vector<std::string>> ReadHostsFile(const std::string& text, const std::string& file_name);

}  // namespace plimsoll
