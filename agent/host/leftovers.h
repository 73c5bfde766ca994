// Run directories that no live agent uses: found, listed and removed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/run_ownership.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// What the remover may take.
struct RemovalRight {
  // Id of the agent whose directories may be removed: their marker carries it.
  std::string agent_id;
  // The run was named by its id: files that were kept, and those that hosts share, are removed too.
  bool run_was_named = false;
  // Called before each file: an error ends the removal. Empty: every file may be removed.
  std::function<absl::Status()> may_continue;
  // What the same agent's id was in an earlier version, and counts as its own; empty: none.
  std::string former_id = {};
};

// A directory that holds run directories. `fd` is open on it (O_PATH will do).
struct RunParent {
  int fd = -1;
  std::string path;
};

struct RemovedFiles {
  uint64_t files = 0;
  uint64_t bytes = 0;
};

// Whether the marker, as it reads, leaves its directory to the remover; an error says why not. Takes no lock.
absl::Status CheckRight(const OwnerMarker& marker, const RemovalRight& right, const std::string& run_id,
                        const std::string& host_label);

// Removes `<parent>/plimsoll-<run id>/<host label>`, and the run's directory when that is empty then. An error says why
// it is still there: whose it is, that its owner is alive, or what it holds that no run makes.
//
// What goes: extents, that is regular files `qm<N>/active/<prefix><seven digits>.LOG` that are empty or whose first
// page carries the run's token; files that a plan named, `files/<plain name>`, queue files `qm<N>/queues/queue<N>`, and
// the checkpoints and lock files of an HA drill, which are empty or carry it too; the marker;
// directories that are empty. No link is followed, no mount is entered. While an extent is left the marker stays, so
// that one may try again.
absl::StatusOr<RemovedFiles> RemoveHostDirectory(const RunParent& parent, const std::string& run_id,
                                                 const std::string& host_label, const RemovalRight& right);

// Removes what an agent left that was killed while it made, or removed, its directory: `name` is a staging name of
// `right.agent_id`. Also the run's directory, when that is empty.
absl::Status RemoveStaged(const RunParent& parent, const std::string& name, const RemovalRight& right);

// "qm" and digits.
bool IsWriterDirectory(const std::string& name);

// Removes, below `root_fd`, the host directories of runs whose marker carries `agent_id`, is not marked as kept and can
// be locked, so that no agent lives that uses it. Another agent's are never touched.
//
// They are searched for rather than remembered, since a register would be a file that stays in the user's directories:
// directories named plimsoll-<run id> at most three levels below the root, breadth first, on any mount, but not behind
// symbolic links nor in directories whose names start with a dot, and at most 10,000 entries. What lies deeper stays
// until somebody removes it by hand.
//
// Removes only what a run makes from a host directory (RemoveHostDirectory). Anything else is left and logged. Returns
// the paths of the host directories that are gone. `root` is the path, for paths and messages.
// `former_id` as in RemovalRight.
std::vector<std::string> RemoveLeftoversBelow(int root_fd, const std::string& root, const std::string& agent_id,
                                              const std::string& former_id = {});

// Removes what `right` allows of the run directories in `parent` itself: those of `run_id`, or all where that is empty.
// One entry for each directory that is the remover's to take, with the reason where it stays; what is kept, shared or
// in use is reported only where its run was named.
absl::StatusOr<std::vector<v1::CleanedDirectory>> CleanRunDirectories(const RunParent& parent,
                                                                      const std::string& run_id,
                                                                      const RemovalRight& right);

// One entry for each host's directory in the run directories in `directory_fd` itself (not deeper), and for what
// `agent_id` left under staging names; sorted by path. At most kMaxListedDirectories. No lock is taken, no link
// followed, no mount entered. `path` is the directory's; `former_id` as in RemovalRight.
inline constexpr size_t kMaxListedDirectories = 1000;
absl::StatusOr<std::vector<v1::RunDirectoryDescription>> ListRunDirectories(int directory_fd, const std::string& path,
                                                                            const std::string& agent_id,
                                                                            const std::string& former_id = {});

}  // namespace plimsoll
