// Where an agent may write, and the one directory of a run in which it does.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace plimsoll {

// The directory `<dir>/plimsoll-<run id>/<host label>` of one host in one run, with the marker that says whose it is.
//
// Everything below it is opened relative to its descriptor with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
// RESOLVE_NO_XDEV), so that nothing planted there leads out. The marker `.plimsoll-owner` holds the agent's id and the
// run's token and is locked as long as this object lives. Not thread-safe, but for CreateFile, which may be called by
// several threads at once for different writers.
class RunDirectory {
 public:
  // Removes what is left unless Keep was called; what cannot be removed is logged.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // Absolute path.
  const std::string& path() const { return path_; }

  // Makes `relative` ("qm1/active/S0000000.LOG"), its directories too, and opens it with
  // `flags | O_CREAT | O_EXCL | O_CLOEXEC`: a file that exists is never opened. Errors name the whole path.
  absl::StatusOr<UniqueFd> CreateFile(const std::string& relative, int flags);

  // Labels of the hosts whose directories stand in this run's directory, this host's own included; sorted.
  absl::StatusOr<std::vector<std::string>> VisibleHosts() const;

  // Removes every file that CreateFile made, the marker, and the directories when they are empty (the run's own goes
  // with the last host). Returns how many files went. Goes on past a failure and returns the first one. Idempotent.
  absl::StatusOr<uint64_t> Remove();

  // Leaves the files where they are.
  void Keep() { keep_ = true; }

 private:
  friend class Sandbox;
  RunDirectory() = default;

  std::string path_;
  bool keep_ = false;
};

// The roots below which an agent may write. Thread-safe after Create.
class Sandbox {
 public:
  // `roots` must exist and be directories; symbolic links in them are resolved here, once. `agent_id` (see
  // MakeAgentId) goes into every marker.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Create(const std::vector<std::string>& roots, std::string agent_id);

  // Resolved roots.
  const std::vector<std::string>& roots() const { return roots_; }

  // Whether the agent could make a run directory in `dir` now. PERMISSION_DENIED outside the roots (naming --root) and
  // where the directory cannot be written (as root on NFS: naming root_squash), NOT_FOUND, FAILED_PRECONDITION where it
  // is no directory.
  absl::Status Check(const std::string& dir) const;

  // Makes the run's directory. `dir` is absolute, `run_id` and `host_label` are checked to be plain names.
  // ALREADY_EXISTS where that host's directory is there.
  absl::StatusOr<std::unique_ptr<RunDirectory>> MakeRunDirectory(const std::string& dir, const std::string& run_id,
                                                                 const std::array<uint8_t, 16>& run_token,
                                                                 const std::string& host_label) const;

  // Removes, below each root and one level of directories given to earlier runs (remembered in the root's registry, or
  // found by a bounded search), host directories whose marker carries this agent's id and can be locked: what a killed
  // agent left. Returns the paths that it removed. Never touches another agent's.
  std::vector<std::string> RemoveLeftovers() const;

 private:
  Sandbox() = default;

  std::vector<std::string> roots_;
  std::string agent_id_;
};

// An id that stays the same over restarts of an agent: made from the machine's id, the agent's name and its roots.
std::string MakeAgentId(const std::string& name, const std::vector<std::string>& roots);

}  // namespace plimsoll
