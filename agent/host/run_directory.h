// The directories of a run: the one in which this host writes, and those that other hosts share.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/run_ownership.h"
#include "agent/host/space.h"
#include "common/mutex.h"
#include "common/posix.h"

namespace plimsoll {

// Directory of a host's files that the plan names (LogWorkload.files), in the host's directory of the run.
inline constexpr char kFilesDirectory[] = "files";

// Directory of the queue files of a queue manager, in its directory "qm<N>".
inline constexpr char kQueuesDirectory[] = "queues";

// The directory `<dir>/plimsoll-<run id>/<host label>` of one host in one run, with the marker that says whose it is.
// Sandbox::MakeRunDirectory makes it.
//
// Everything below it is opened relative to its descriptor with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
// RESOLVE_NO_XDEV), so that nothing planted there leads out. The marker `.plimsoll-owner` holds the agent's id and the
// run's token and is locked as long as this object lives. The directory never exists without it (see
// agent/host/run_ownership.h). Not thread-safe, but for CreateFile, which may be called by several threads at once for
// different files, and OpenFile.
class RunDirectory {
 public:
  // Removes what is left unless Keep was called; what cannot be removed is logged.
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  // Absolute path.
  const std::string& path() const { return path_; }

  // Device number of the directory (st_dev).
  dev_t device() const { return device_; }

  // False where the file system has no locks: then the marker only names its owner, and no later agent removes it.
  bool marker_locked() const { return marker_locked_; }

  // Makes `relative` ("qm1/active/S0000000.LOG"), its directories too, and opens it with
  // `flags | O_CREAT | O_EXCL | O_CLOEXEC`: a file that exists is never opened (ALREADY_EXISTS). INVALID_ARGUMENT where
  // a part of it is not a plain name, PERMISSION_DENIED where a link or a mount is in the way, NOT_FOUND where somebody
  // has removed the directory. Errors name the whole path.
  absl::StatusOr<UniqueFd> CreateFile(const std::string& relative, int flags);

  // Opens `relative`, which CreateFile made, once more, by its name and with `flags`, which create nothing. NOT_FOUND
  // where it is gone, FAILED_PRECONDITION where another file has its name; else as CreateFile. Any thread, but not while
  // files are removed.
  absl::StatusOr<UniqueFd> OpenFile(const std::string& relative, int flags) const;

  // A process of the agent may make `relative`, rename it, or put it over a file of CreateFile's: Remove takes it away
  // where it is there and is empty or carries the run's token, and does not miss it where it is not.
  void ExpectFile(const std::string& relative);

  // Labels of the hosts whose directories are in this run's directory, this host's own included; sorted.
  //
  // The list is the server's, not the one that a network file system's client has cached: the directory's attributes
  // are fetched first, so that a change that others made drops what is cached of it. Hosts of `expected` that the list
  // lacks are looked up by name, which no cache can answer wrongly the first time.
  absl::StatusOr<std::vector<std::string>> VisibleHosts(const std::vector<std::string>& expected = {}) const;

  // Space of the file system that the directory is on.
  absl::StatusOr<Space> MeasureSpace() const { return SpaceOf(host_fd_.get(), path_); }

  // Removes every file that CreateFile made, the marker, and the directories when they are empty (the run's own goes
  // with the last host). Returns how many files went, the marker not counted. Files that others put there, be it in
  // place of ours, stay, and are named in the error (FAILED_PRECONDITION). Nothing is removed through a link or a mount
  // that was planted meanwhile (PERMISSION_DENIED). Goes on past a failure and returns the first one. Idempotent; what
  // failed is tried again. The files should be closed before: NFS keeps an open file under another name, which then
  // counts as somebody else's.
  absl::StatusOr<uint64_t> Remove();

  // Files that Remove has removed so far. Any thread.
  uint64_t removed_files() const { return removed_files_.load(std::memory_order_relaxed); }

  // Leaves the files where they are, and says so in the marker, so that no later agent takes them for leftovers.
  void Keep();

 private:
  friend class Sandbox;

  RunDirectory(UniqueFd parent_fd, const std::string& parent_path, OwnerMarker owner);

  // Makes the directory and its marker in `parent_fd`, an O_PATH descriptor.
  static absl::StatusOr<std::unique_ptr<RunDirectory>> Create(UniqueFd parent_fd, const std::string& parent_path,
                                                              OwnerMarker owner);
  // Where the host's directory is.
  enum class Place : uint8_t { kNowhere, kStaged, kPublished };
  // What CreateFile made, whatever has its name now.
  struct FileId {
    dev_t device = 0;
    uint64_t inode = 0;
    int64_t born_s = 0;
    uint32_t born_ns = 0;
    bool operator==(const FileId&) const = default;
  };

  // Makes the directory under a staging name, with its marker.
  absl::Status MakeStaged();
  // UNAVAILABLE where an agent that clears up after this one's predecessor was in the way: try another name.
  absl::Status MakeMarker();
  absl::Status WriteMarker();
  // Gives it its place in the run's directory.
  absl::Status Publish();
  // The file that the name, not followed, is in the directory; of `fd` itself where it is empty. None where it is no
  // regular file.
  static std::optional<FileId> IdOf(int fd, const char* name);
  // Whether the name is still the file that CreateFile made; where the inode differs, the stamp in the file decides.
  bool IsOurs(int directory_fd, const std::string& name, const FileId& id) const;
  // Takes away what remains; the first failure is in `first`.
  uint64_t RemoveFiles(absl::Status& first);
  uint64_t RemoveExpected(absl::Status& first);
  void RemoveDirectories(absl::Status& first);
  void RemoveHostDirectory(absl::Status& first);
  void RemoveMarker(absl::Status& first);
  // Somebody has removed the host's directory, with all that is in it.
  bool IsGone() const;
  absl::Status ForgetAll();

  const UniqueFd parent_fd_;
  const std::string run_name_;  // "plimsoll-<run id>"
  const std::string run_path_;
  const std::string path_;
  OwnerMarker owner_;
  dev_t device_ = 0;
  UniqueFd run_fd_;
  UniqueFd host_fd_;
  UniqueFd marker_fd_;
  bool marker_locked_ = false;
  bool keep_ = false;
  // Place of the host directory that this object made and has not removed yet.
  Place place_ = Place::kNowhere;
  std::string staged_name_;
  bool marker_made_ = false;
  std::atomic<uint64_t> removed_files_{0};
  mutable Mutex mutex_;
  std::map<std::string, FileId> files_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> expected_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> directories_ ABSL_GUARDED_BY(mutex_);
};

// Opens `relative`, a file that some host of the run made below `directory_fd`, which is open on `directory_path`.
// `flags` allow reading and create nothing. It must be a regular file with one name (FAILED_PRECONDITION), reached
// without a link and without a mount, and begin with a page of the run: PERMISSION_DENIED else, DATA_LOSS where that
// page is empty. NOT_FOUND where the name is not there, ABORTED where the file was replaced meanwhile: try again.
// INVALID_ARGUMENT where the file system refuses the flags, or a part of the name is not plain. Errors name the whole
// path.
//
// Opens the file once, and closes no descriptor of a file that it returns: a close would release the process's fcntl
// locks on it.
absl::StatusOr<UniqueFd> OpenFileOfRun(int directory_fd, const std::string& directory_path, const std::string& relative,
                                       const std::array<uint8_t, 16>& run_token, int flags);

// The directory `<dir>/plimsoll-<run id>/<host label>` of any host of a run. Sandbox::OpenSharedDirectory makes it.
//
// Only what exists is opened, and only what this run made: the directory's marker and the first page of each file carry
// the run's token, a file is regular and has one name, and neither a link nor a mount is on the way down. Nothing is
// created and nothing removed. Not thread-safe.
class SharedDirectory {
 public:
  struct Owner {
    std::string run_id;
    std::array<uint8_t, 16> run_token{};
    std::string host_label;
  };

  // `parent_fd` is open (O_PATH) on `parent_path`. NOT_FOUND where the directory is not there (yet),
  // FAILED_PRECONDITION where its marker says that it is another run's, or that hosts do not share it.
  static absl::StatusOr<std::unique_ptr<SharedDirectory>> Open(int parent_fd, const std::string& parent_path,
                                                               Owner owner);

  // Absolute path.
  const std::string& path() const { return path_; }

  // Opens `relative` ("qm1/active/S0000000.LOG"), as OpenFileOfRun.
  absl::StatusOr<UniqueFd> OpenFile(const std::string& relative, int flags) const;

 private:
  SharedDirectory(UniqueFd fd, std::string path, Owner owner);

  const UniqueFd fd_;
  const std::string path_;
  const Owner owner_;
};

}  // namespace plimsoll
