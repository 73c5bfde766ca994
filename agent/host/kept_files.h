// Which files of a directory an agent's own `create` left there: the directory's marker.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// The marker's name. Files that a plan names cannot have it (see TargetFiles).
inline constexpr char kKeptMarkerName[] = ".plimsoll-kept";

// A file that a plan's `create` left. It is recognised by all of this together: whatever takes its name later is
// another file, and so is what gets its inode's number later, where the file system records the time of birth.
struct KeptFile {
  std::string agent_id;
  uint64_t device = 0;
  uint64_t inode = 0;
  // 0 and 0 where the file system reports none.
  int64_t birth_s = 0;
  uint32_t birth_ns = 0;
  std::string name;
  bool operator==(const KeptFile&) const = default;
};

// A first line with the format's name and version, then a line a file: "agent-id device inode birth_s.birth_ns name".
std::string FormatKeptMarker(const std::vector<KeptFile>& files);

// INVALID_ARGUMENT where the text is not a complete marker of this version. An empty text is a marker without files.
absl::StatusOr<std::vector<KeptFile>> ParseKeptMarker(const std::string& text);

// The entry of the file that `fd` is open on. `path` is for the error.
absl::StatusOr<KeptFile> KeptEntryOf(int fd, const std::string& agent_id, const std::string& name,
                                     const std::string& path);

// Whether the directory's marker holds exactly this entry; false without a marker. FAILED_PRECONDITION where the marker
// is none that this process's user alone can have written: a link, a file with several names, another user's, or one
// that others may write to.
absl::StatusOr<bool> IsKept(int directory_fd, const std::string& directory_path, const KeptFile& file);

// Adds the entry to the directory's marker, in place of any of that name. The marker is replaced at once, so that a
// reader, or an agent after a kill, finds either the former one or the new one. Waits some seconds for another agent
// that does it meanwhile. Errors as of IsKept, and those of writing.
absl::Status EnterKept(int directory_fd, const std::string& directory_path, const KeptFile& file);

// Removes the entry from the directory's marker, and the marker with its last entry. Does nothing without the entry.
// Errors as of EnterKept.
absl::Status ForgetKept(int directory_fd, const std::string& directory_path, const KeptFile& file);

}  // namespace plimsoll
