// What a killed agent left behind.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/host/leftover_removal.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Removes, below `root_fd`, the host directories of runs whose marker carries `agent_id`, is not marked as kept and can
// be locked, so that no agent lives that uses it. Another agent's are never touched.
//
// They are searched for rather than remembered, since a register would be a file that stays in the user's directories:
// directories named plimsoll-<run id> at most three levels below the root, breadth first, on any mount, but not behind
// symbolic links nor in directories whose names start with a dot, and at most 10,000 entries. What lies deeper stays
// until somebody removes it by hand.
//
// Of a host directory only what a run makes goes, see RemoveHostDirectory. Anything else is left and logged. Returns
// the paths of the host directories that are gone. `root` is the path, for paths and messages.
std::vector<std::string> RemoveLeftoversBelow(int root_fd, const std::string& root, const std::string& agent_id);

// Removes what `right` allows of the run directories that stand in `parent` itself: those of `run_id`, or all where
// that is empty. One entry for each directory that is the remover's to take, with the reason where it stays; what is
// kept, shared or in use is told of where its run was named.
absl::StatusOr<std::vector<v1::CleanedDirectory>> CleanRunDirectories(const RunParent& parent,
                                                                      const std::string& run_id,
                                                                      const RemovalRight& right);

}  // namespace plimsoll
