#include "controller/cli/agent_list.h"

#include <cerrno>
#include <fstream>
#include <iterator>

#include "common/posix.h"
#include "common/status_macros.h"
#include "controller/plan/host_list.h"

namespace plimsoll {

absl::StatusOr<std::vector<std::string>> ReadAgentList(const AgentList& list) {
  std::vector<std::string> addresses;
  if (!list.hosts.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(addresses, ParseHostList(list.hosts));
  }
  if (!list.hosts_file.empty()) {
    std::ifstream file(list.hosts_file);
    if (!file) return PosixError("--hosts-file", list.hosts_file, errno);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> more, ReadHostsFile(text, list.hosts_file));
    addresses.insert(addresses.end(), more.begin(), more.end());
  }
  return addresses;
}

}  // namespace plimsoll
