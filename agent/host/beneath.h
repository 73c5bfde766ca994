// Opens files below a directory, so that nothing planted there leads out of it.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/posix.h"

namespace plimsoll {

// Whether the way down may pass from one mount to another.
enum class MountRule { kMayCross, kMustStay };

// Flags that open a directory only to go on from it: neither its list nor its content is read.
inline constexpr int kOpenDirectory = O_PATH | O_DIRECTORY;

// openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS, and RESOLVE_NO_XDEV with kMustStay) with O_CLOEXEC. Where the kernel
// is older than Linux 5.6, or a container's filter refuses the call, the same with one openat a component; this needs
// /proc. `mode` counts only with O_CREAT, which needs O_EXCL. `path` is the whole path, for the error.
// PERMISSION_DENIED where a symbolic link, ".." or a mount is in the way.
absl::StatusOr<UniqueFd> OpenBeneath(int directory_fd, const std::string& relative, int flags, MountRule mounts,
                                     const std::string& path, mode_t mode = 0);

// Opens an absolute path as OpenBeneath does, from the file system's root; mounts on the way may be crossed. NOT_FOUND
// names the whole path.
absl::StatusOr<UniqueFd> OpenFromRoot(const std::string& path, int flags);

// The id of the mount that an open descriptor lies on, as /proc/self/fdinfo and mountinfo have it; nothing without
// /proc.
std::optional<uint64_t> MountOfDescriptor(int fd);

// Opens a regular file that exists, in the directory itself, with `flags` (no O_CREAT) and O_CLOEXEC; never a link,
// never what lies on another mount. A pipe, a socket or a device in its place is FAILED_PRECONDITION and is not opened
// at all: opening one may wait, or do something. Needs /proc.
absl::StatusOr<UniqueFd> OpenRegular(int directory_fd, const std::string& name, int flags, const std::string& path);

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

}  // namespace plimsoll
