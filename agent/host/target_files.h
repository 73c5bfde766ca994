// Files and block devices that a plan names by absolute paths: which of them an agent opens, and how.
//
// An agent that was started with neither --allow-kept nor --allow-target opens none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/kept_files.h"
#include "agent/host/sandbox.h"
#include "agent/host/space.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// What an agent lets plans do with files that the run itself does not make.
struct FilePermissions {
  // --allow-kept: make files below the roots and keep them; use those again.
  bool kept = false;
  // --allow-target: absolute paths of files, block devices, and directories with all that is below them.
  std::vector<std::string> targets;
};

// What a plan wants to do with a file that exists. Writing includes reading.
enum class FileUse { kRead, kWrite };

// A regular file or block device that was checked. It is held: every Open is of that very file, whatever has its name
// now. A device that is held for writing cannot be mounted meanwhile. A kept file that is held, also for reading, is
// not emptied by another session on this host, if the file system has locks.
class TargetFile {
 public:
  // The plan's path, without doubled slashes.
  const std::string& path() const { return path_; }
  // When it was checked or made.
  uint64_t size_bytes() const { return size_bytes_; }
  bool block_device() const { return block_device_; }
  // A plan's `create` made it, by this agent.
  bool kept() const { return kept_; }
  // Make made it, and did not empty one that existed.
  bool is_new() const { return new_.has_value(); }

  // Opens it once more, with an offset and flags of its own: O_RDONLY, or if it was checked for writing O_RDWR, with
  // O_DSYNC, O_SYNC, O_DIRECT, O_NOATIME; O_CLOEXEC is added. Never creates, never truncates. INVALID_ARGUMENT where
  // the file system refuses the flags.
  absl::StatusOr<UniqueFd> Open(int flags) const;

  // Removes the file and its entry in the marker if it is new and no other session uses it; returns whether it did. If
  // the name belongs to another file by now, only the entry goes. What Open opened must be closed. Open fails
  // afterwards.
  absl::StatusOr<bool> RemoveNew();

 private:
  friend class TargetFiles;
  TargetFile() = default;

  // Where a new file is, and its entry in the marker there.
  struct Making {
    Sandbox::FileDirectory directory;
    KeptFile entry;
  };

  std::string path_;
  uint64_t size_bytes_ = 0;
  bool block_device_ = false;
  bool kept_ = false;
  bool writable_ = false;
  std::optional<Making> new_;
  // Open with O_PATH, or if the file is kept, for the lock on it.
  UniqueFd place_;
  // The exclusive opening of a device that is written (see ClaimDevice).
  UniqueFd claim_;
};

// Decides by the agent's options, and by what a file is. Thread-safe. Every call may hang with a hung file system.
//
// Refused whatever the options: a symbolic link anywhere in the path (but for names below /dev that root made for block
// devices), anything but regular files and block devices, Plimsoll's own markers, files of the kernel (/proc, /sys),
// and files in a queue manager's directory. Refused for writing: files with several names, files that another process
// has open for writing or that a loop device is made of, files in a run's directory, log extents of MQ by their name,
// devices that are in use or not empty.
class TargetFiles {
 public:
  // INVALID_ARGUMENT where a target is not an absolute path. `sandbox` outlives the result.
  static absl::StatusOr<std::unique_ptr<TargetFiles>> Create(const Sandbox& sandbox, FilePermissions permissions);

  // Checks a file that exists; it is neither read (but for what is on a device) nor changed. PERMISSION_DENIED names
  // the option that would allow it: --allow-kept, --allow-target or --overwrite. NOT_FOUND; FAILED_PRECONDITION (what
  // it is instead of a plain file; in use; holds a file system); INVALID_ARGUMENT (not an absolute path).
  absl::StatusOr<TargetFile> Open(const std::string& path, FileUse use, bool overwrite) const;

  // What a file that may be made takes of its file system.
  struct Room {
    Sandbox::FileDirectory directory;
    // Number of the file system.
    dev_t device = 0;
    Space space;
    // A kept file has the name: it is emptied and used again.
    bool exists = false;
    // What emptying that file frees.
    uint64_t reusable_bytes = 0;
  };
  // Checks whether Make may make the file, apart from its space. Opens and changes nothing. PERMISSION_DENIED without
  // --allow-kept and outside the sandbox's roots, NOT_FOUND without the directory, ALREADY_EXISTS if the name belongs
  // to a file that is not one of this agent's own kept files; errors of Open for a kept file that may not be written.
  absl::StatusOr<Room> CheckMake(const std::string& path) const;

  // Makes the file, of `size_bytes` without content, and enters it in the directory's marker of kept files. One of this
  // agent's own kept files is emptied and used again. Errors as of CheckMake; FAILED_PRECONDITION if another session or
  // process uses the kept file, RESOURCE_EXHAUSTED if less than `size_bytes` and what stays free (see MinFreeBytes) is
  // free.
  absl::StatusOr<TargetFile> Make(const std::string& path, uint64_t size_bytes,
                                  std::optional<uint64_t> min_free_asked) const;

  // Describes a file without opening it for reading or writing. What only opening it would show, such as what is on a
  // device and which process has the file open, is not in it. Never fails: the reason is in the answer.
  v1::FileDescription Describe(const std::string& path) const;

  // Whether a directory may be described although it is outside the roots: a target is in it, or the directory is a
  // target or in one.
  bool MayDescribe(const std::string& dir) const;

 private:
  // A path in its parts, normalized.
  struct Named {
    std::string path;
    std::string directory;
    std::string name;
  };
  // A file that exists, and that the options cover.
  struct Found {
    Named named;
    // --allow-target covers it.
    bool target = false;
    // An entry of this agent in the marker of kept files is this very file.
    bool kept = false;
    Sandbox::FileDirectory directory;
    UniqueFd fd;  // open with O_PATH
    uint64_t size_bytes = 0;
    bool block_device = false;
  };

  TargetFiles(const Sandbox& sandbox, FilePermissions permissions)
      : sandbox_(sandbox), permissions_(std::move(permissions)) {}

  static absl::StatusOr<Named> Parse(const std::string& path);
  bool Covers(const std::string& path) const;
  // Whether --allow-kept and the roots let it be one of this agent's kept files.
  bool MayBeKept(const Named& named) const;
  absl::StatusOr<Found> Find(const std::string& path) const;
  // Finds the place of a file that may be made. `fd` is the kept file that has the name; without one it is not valid.
  absl::StatusOr<Found> FindToMake(const std::string& path) const;
  // All but the directory.
  static absl::StatusOr<Room> RoomOf(const Found& found);
  // Checks what shows without opening the file.
  static absl::Status CheckUse(const Found& found, FileUse use);
  static TargetFile Hold(Found found, FileUse use);
  static absl::StatusOr<TargetFile> MakeNew(Found found, uint64_t size_bytes);
  static absl::StatusOr<TargetFile> MakeAgain(Found found, uint64_t size_bytes);

  const Sandbox& sandbox_;
  const FilePermissions permissions_;
};

}  // namespace plimsoll
