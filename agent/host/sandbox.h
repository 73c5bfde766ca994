// Where an agent may write, and how it opens paths there without being led out.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

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

// Whether the way down may pass from one mount to another.
enum class MountRule { kMayCross, kMustStay };

// Flags that open a directory only to go on from it: neither its list nor its content is read.
inline constexpr int kOpenDirectory = O_PATH | O_DIRECTORY;

// openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, and RESOLVE_NO_XDEV with kMustStay) with O_CLOEXEC. `mode` counts only
// with O_CREAT. `path` is the whole path, for the error. PERMISSION_DENIED where a symbolic link, ".." or a mount is in
// the way.
absl::StatusOr<UniqueFd> OpenBeneath(int directory_fd, const std::string& relative, int flags, MountRule mounts,
                                     const std::string& path, mode_t mode = 0);

// Opens a regular file that exists, in the directory itself, with `flags` (no O_CREAT) and O_CLOEXEC; never a link,
// never what lies on another mount. A pipe, a socket or a device in its place is FAILED_PRECONDITION and is not opened
// at all: opening one may wait, or do something. Needs /proc.
absl::StatusOr<UniqueFd> OpenRegular(int directory_fd, const std::string& name, int flags, const std::string& path);

// 1 to 64 lower-case hexadecimal digits.
bool IsRunId(const std::string& text);

enum class EntryKind { kFile, kDirectory, kOther };

struct DirectoryEntry {
  std::string name;
  EntryKind kind = EntryKind::kOther;
};

// What lies in the directory, without "." and "..", sorted by name; at most `limit` entries. A symbolic link is kOther.
// `path` is for the error.
absl::StatusOr<std::vector<DirectoryEntry>> ListDirectory(int directory_fd, const std::string& path,
                                                          size_t limit = SIZE_MAX);

// The error of `operation` on `path`. Where root was denied on NFS it names root_squash, the usual reason.
// `directory_fd` identifies the file system.
absl::Status DirectoryError(const std::string& operation, const std::string& path, int error_number, int directory_fd);

// The pure part of DirectoryError: adds what is known of a denial.
absl::Status ExplainDenial(const absl::Status& status, uid_t user, bool on_nfs);

// A file that a host of a run has made in its directory there.
struct RunFile {
  std::string run_id;
  std::array<uint8_t, 16> run_token{};
  std::string host_label;
  std::string relative;  // "qm1/active/S0000000.LOG"
};

// The roots below which an agent may write. Thread-safe after Create. Every call may hang with a hung file system.
//
// No descriptor of a root is kept, so that an idle agent is in nobody's way who wants to unmount.
class Sandbox {
 public:
  // `roots` must be absolute, exist and be directories; symbolic links in them are resolved here, once. `agent_id` (see
  // MakeAgentId) goes into every marker.
  static absl::StatusOr<std::unique_ptr<Sandbox>> Create(const std::vector<std::string>& roots, std::string agent_id);

  // Resolved roots.
  const std::vector<std::string>& roots() const { return roots_; }

  // Whether the agent could make a run directory in `dir` now. PERMISSION_DENIED outside the roots (naming --root) and
  // where the directory cannot be written (as root on NFS: naming root_squash), NOT_FOUND, FAILED_PRECONDITION where it
  // is no directory, INVALID_ARGUMENT where it is not absolute.
  absl::Status Check(const std::string& dir) const;

  // Opens `dir` with O_PATH, for looking at it; errors as of Check, but for those of writing. `dir` may begin with a
  // root as it was given or as it was resolved; below the root, symbolic links are refused, mounts are not.
  absl::StatusOr<UniqueFd> OpenDirectory(const std::string& dir) const;

  // The path of `dir` with its root as that was resolved, without looking at it; errors as of Check, as far as the
  // text shows them.
  absl::StatusOr<std::string> PathOf(const std::string& dir) const;

  // Makes the run's directory. `dir` as in OpenDirectory; `run_id` (lower-case hexadecimal digits) and `host_label` (a
  // plain name) are checked: INVALID_ARGUMENT. ALREADY_EXISTS where that host's directory is there. `shared`: the
  // marker records that several hosts use it.
  absl::StatusOr<std::unique_ptr<RunDirectory>> MakeRunDirectory(const std::string& dir, const std::string& run_id,
                                                                 const std::array<uint8_t, 16>& run_token,
                                                                 const std::string& host_label,
                                                                 bool shared = false) const;

  // Opens the directory that a host of the run made in `dir` and shares; errors as of OpenDirectory and
  // SharedDirectory::Open.
  absl::StatusOr<std::unique_ptr<SharedDirectory>> OpenSharedDirectory(const std::string& dir,
                                                                       SharedDirectory::Owner owner) const;

  // Opens a file that exists in another host's directory of the run, below `dir`, with `flags` (O_RDWR or O_RDONLY,
  // with O_DIRECT and O_DSYNC; never O_CREAT, never O_TRUNC). It must be a regular file with one name, reached without
  // a link and without a mount, and carry the run's token in its first page: PERMISSION_DENIED or FAILED_PRECONDITION
  // else. NOT_FOUND where the name is not there, ABORTED where the file was replaced meanwhile: try again.
  absl::StatusOr<UniqueFd> OpenRunFile(const std::string& dir, const RunFile& file, int flags) const;

  // What runs left or use in `dir`, see agent/host/leftovers.h; errors as of OpenDirectory.
  absl::StatusOr<std::vector<v1::RunDirectoryDescription>> ListRunDirectories(const std::string& dir) const;

  // Removes run directories in `dir` that are this agent's own and that nobody uses; with a `run_id` only that run's,
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
  };
  // Where a directory lies: below which root, by which way.
  struct Place {
    std::string root;
    std::string remainder;
    // The two together.
    std::string path;
  };

  Sandbox() = default;
  absl::StatusOr<Place> Locate(const std::string& dir) const;
  static absl::StatusOr<UniqueFd> Open(const Place& place);

  std::vector<Root> known_roots_;
  std::vector<std::string> roots_;
  std::string agent_id_;
};

// An id that stays the same over restarts of an agent: 16 hexadecimal digits made from the machine's id, the agent's
// name and its roots, in whatever order.
std::string MakeAgentId(const std::string& name, const std::vector<std::string>& roots);

}  // namespace plimsoll
