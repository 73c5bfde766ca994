// How a host's directory comes and goes without ever standing there unmarked.
//
// Making a directory and marking it are two steps, and an agent may be killed between any two. So the directory is
// made, marked and locked under a hidden name that tells its owner, `.plimsoll-<agent id>-<run id>-<host label>~<n>`
// beside the run's directory, and only then renamed to `plimsoll-<run id>/<host label>`. It goes the same way back.
// Whatever a killed agent leaves thus carries its id, and its successor can remove it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "agent/host/owner_marker.h"

namespace plimsoll {

// Names are tried with the numbers below this one.
inline constexpr int kStagingNames = 100;

std::string FormatStagingName(const OwnerMarker& owner, int number);

struct StagedHost {
  std::string run_id;
  std::string host_label;
};
// What a staging name of `agent_id` stands for; nothing where the name is none, or another agent's.
std::optional<StagedHost> ParseStagingName(const std::string& name, const std::string& agent_id);

// "plimsoll-<run id>".
std::string RunDirectoryName(const std::string& run_id);
// The run id in such a name; empty where it is none.
std::string RunIdOf(const std::string& name);

// Renames a directory, never onto something that is there: ALREADY_EXISTS. `path` is for the error.
absl::Status RenameToFree(int from_fd, const std::string& from, int to_fd, const std::string& to,
                          const std::string& path);

// Whether the name, not followed, is the very file or directory that `fd` is open on.
bool IsSameFile(int directory_fd, const std::string& name, int fd);

// Removes `plimsoll-<run id>` where it is empty: the last host to go does. Not an error where it is not empty or not
// there, or is no directory any more.
absl::Status RemoveRunDirectory(int parent_fd, const std::string& run_id, const std::string& run_path);

// Renames the host's directory, of which `host_fd` is open, to a staging name in `parent_fd`, and tells that in
// `staged`. FAILED_PRECONDITION where something else stands in its place.
absl::Status Withdraw(int parent_fd, int run_fd, int host_fd, const OwnerMarker& owner, const std::string& host_path,
                      std::string& staged);

}  // namespace plimsoll
