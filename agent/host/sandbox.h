// Where an agent may write.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/run_directory.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// A file that a host of a run has made in its directory there.
struct RunFile {
  std::string run_id;
  std::array<uint8_t, 16> run_token{};
  std::string host_label;
  std::string relative;  // "qm1/active/S0000000.LOG"
};

// The roots below which an agent may write. Thread-safe after Create. Every call may hang with a hung file system.
//
// The sandbox keeps no descriptor of a root, so that an idle agent does not prevent an unmount.
class Sandbox {
 public:
  // `roots` must be absolute, exist and be directories; symbolic links in them are resolved here, once. `agent_id` (see
  // MakeAgentId) goes into every marker, or where the roots have ids of their own, the root's: as many as roots. What
  // carries `agent_id` is this agent's own then, too: an earlier version marked its directories so.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Create(const std::vector<std::string>& roots, std::string agent_id,
                                                         const std::vector<std::string>& root_ids = {});

  // Resolved roots.
  const std::vector<std::string>& roots() const { return roots_; }

  // Whether the agent could make a run directory in `dir` now. PERMISSION_DENIED outside the roots (naming --root) and
  // where the directory cannot be written (as root on NFS: naming root_squash), NOT_FOUND, FAILED_PRECONDITION where it
  // is not a directory, INVALID_ARGUMENT where it is not absolute.
  absl::Status Check(const std::string& dir) const;

  // Opens `dir` with O_PATH, for looking at it; errors as of Check, but for those of writing. `dir` may begin with a
  // root as it was given or as it was resolved; below the root, symbolic links are refused, mounts are not.
  absl::StatusOr<UniqueFd> OpenDirectory(const std::string& dir) const;

  // The path of `dir` with its root as that was resolved, without looking at it; errors as of Check, as far as the text
  // shows them.
  absl::StatusOr<std::string> PathOf(const std::string& dir) const;

  // A directory below a root, for files that a plan names in it (see agent/host/target_files.h).
  struct FileDirectory {
    UniqueFd fd;       // O_PATH
    std::string path;  // with its root as that was resolved
    std::string agent_id;
  };
  // Opens `dir`; errors as of OpenDirectory.
  absl::StatusOr<FileDirectory> LocateForFiles(const std::string& dir) const;

  // Makes the run's directory. `dir` as in OpenDirectory; `run_id` (lower-case hexadecimal digits) and `host_label` (a
  // plain name) are checked: INVALID_ARGUMENT. ALREADY_EXISTS where that host's directory is there. `shared`: the
  // marker says that several hosts use it.
  absl::StatusOr<std::unique_ptr<RunDirectory>> MakeRunDirectory(const std::string& dir, const std::string& run_id,
                                                                 const std::array<uint8_t, 16>& run_token,
                                                                 const std::string& host_label,
                                                                 bool shared = false) const;

  // Opens the directory that a host of the run made in `dir` and shares; errors as of OpenDirectory and
  // SharedDirectory::Open.
  absl::StatusOr<std::unique_ptr<SharedDirectory>> OpenSharedDirectory(const std::string& dir,
                                                                       SharedDirectory::Owner owner) const;

  // Opens a file that exists in another host's directory of the run, below `dir`, whatever became of that directory's
  // marker; as OpenFileOfRun.
  absl::StatusOr<UniqueFd> OpenRunFile(const std::string& dir, const RunFile& file, int flags) const;

  // What runs left or use in `dir`, see agent/host/leftovers.h; errors as of OpenDirectory.
  absl::StatusOr<std::vector<v1::RunDirectoryDescription>> ListRunDirectories(const std::string& dir) const;

  // Removes run directories in `dir` that are this agent's own and not in use; with a `run_id` only that run's,
  // and of it also what was to be kept and what hosts share. Another agent's never. Before each file `may_continue` is
  // asked: an error ends the removal and is in the last entry. Errors as of OpenDirectory.
  absl::StatusOr<std::vector<v1::CleanedDirectory>> Clean(const std::string& dir, const std::string& run_id,
                                                          const std::function<absl::Status()>& may_continue) const;

  // Removes what a killed agent left below the roots, see agent/host/leftovers.h, and returns the host directories that
  // went. Call it once, before the first run.
  std::vector<std::string> RemoveLeftovers() const;

 private:
  // One root and how people call it.
  struct Root {
    std::string given;
    std::string resolved;
    std::string agent_id;
  };
  // Where a directory lies: below which root, by which way.
  struct Place {
    std::string root;
    std::string remainder;
    // The two together.
    std::string path;
    // The root's.
    std::string agent_id = {};
  };

  Sandbox() = default;
  absl::StatusOr<Place> Locate(const std::string& dir) const;
  static absl::StatusOr<UniqueFd> Open(const Place& place);

  // The id of all roots, where each has its own; empty where `agent_id` is that already.
  std::string FormerId(const std::string& of_root) const { return of_root == agent_id_ ? "" : agent_id_; }

  std::string agent_id_;
  std::vector<Root> known_roots_;
  std::vector<std::string> roots_;
};

// An id that stays the same over restarts of an agent: 16 hexadecimal digits made from the machine's id, the agent's
// name and its roots, in whatever order.
std::string MakeAgentId(const std::string& name, const std::vector<std::string>& roots);

}  // namespace plimsoll
