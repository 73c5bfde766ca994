// The agents that --hosts and --hosts-file name.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace plimsoll {

struct AgentList {
  std::string hosts;       // --hosts
  std::string hosts_file;  // --hosts-file
};

// Addresses in the order of both, the list's first; none where neither was given. INVALID_ARGUMENT names the item; what
// the system says of the file.
absl::StatusOr<std::vector<std::string>> ReadAgentList(const AgentList& list);

}  // namespace plimsoll
