// What runs left in a directory, for people to see; changes nothing.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// One entry for each host's directory in the run directories that stand in `directory_fd` itself (not deeper), and for
// what `agent_id` left under staging names; sorted by path. At most kMaxListedDirectories. No lock is taken, no link
// followed, no mount entered. `path` is the directory's.
inline constexpr size_t kMaxListedDirectories = 1000;
absl::StatusOr<std::vector<v1::RunDirectoryDescription>> ListRunDirectories(int directory_fd, const std::string& path,
                                                                            const std::string& agent_id);

}  // namespace plimsoll
