// Whose a host's directory of a run is: its marker, the hidden names under which it comes and goes, and its files'
// token.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// The marker's name. It starts with a dot, so no file of a run can have it (see IsPlainName).
inline constexpr char kOwnerMarkerName[] = ".plimsoll-owner";

// What a marker says. One directory, one host, one owner.
struct OwnerMarker {
  std::string agent_id;
  std::string run_id;
  std::array<uint8_t, 16> run_token{};
  std::string host_label;
  // The files are to stay although no agent lives that owns them.
  bool kept = false;
  // Several hosts use it: no agent takes it for a leftover of its own, and only who names the run removes it. The
  // marker has this field only where it is set; markers without it are one host's.
  bool shared = false;
  bool operator==(const OwnerMarker&) const = default;
};

// A first line with the format's name and version, then a line a field: its name, a space, its value.
std::string FormatOwnerMarker(const OwnerMarker& marker);

// INVALID_ARGUMENT where the text is not a complete marker of this version.
absl::StatusOr<OwnerMarker> ParseOwnerMarker(const std::string& text);

enum class LockOutcome { kLocked, kHeldByAnother, kNotSupported };

// Takes a write lock on the whole file. It belongs to the open file, not to the process: it goes with the last copy of
// the descriptor, and another opening of the file is refused even in this process. Does not wait.
LockOutcome LockFile(int fd);

// Whether LockFile would say kHeldByAnother, without taking the lock.
bool IsLockedByAnother(int fd);

// Path of the marker in a host's directory.
std::string MarkerPath(const std::string& host_path);

// Reads the marker that `fd` is open on.
absl::StatusOr<OwnerMarker> ReadMarker(int fd, const std::string& path);

// Reads a marker without taking its lock; `in_use` is whether another process holds it. NOT_FOUND where there is none,
// FAILED_PRECONDITION where it is not a regular file, INVALID_ARGUMENT where it is incomplete.
struct MarkerView {
  OwnerMarker marker;
  bool in_use = false;
  int64_t written_s = 0;  // wall clock, as the file system reports it
};
absl::StatusOr<MarkerView> LookAtMarker(int host_fd, const std::string& host_path);

// How a host's directory is created and removed without ever being there unmarked.
//
// Making a directory and marking it are two steps, and an agent may be killed between any two. So the directory is
// made, marked and locked under a hidden name that contains its owner, `.plimsoll-<agent id>-<run id>-<host label>~<n>`
// beside the run's directory, and only then renamed to `plimsoll-<run id>/<host label>`. It goes the same way back.
// Whatever a killed agent leaves thus carries its id, and its successor can remove it.

// Names are tried with the numbers below this one.
inline constexpr int kStagingNames = 100;

std::string FormatStagingName(const OwnerMarker& owner, int number);

struct StagedHost {
  std::string run_id;
  std::string host_label;
};
// The directory that a staging name of `agent_id` belongs to; nothing where the name is none, or another agent's.
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
// there, or is not a directory any more.
absl::Status RemoveRunDirectory(int parent_fd, const std::string& run_id, const std::string& run_path);

// Renames the host's directory, of which `host_fd` is open, to a staging name in `parent_fd`, and returns that in
// `staged`. FAILED_PRECONDITION where something else is in its place.
absl::Status Withdraw(int parent_fd, int run_fd, int host_fd, const OwnerMarker& owner, const std::string& host_path,
                      std::string& staged);

enum class RunContent {
  kThisRun,  // its first page carries the run's token
  kEmpty,    // nothing was written yet
  kForeign,  // anything else, what cannot be read included
};

// Looks at the first page of the regular file `name`, which is not followed and never waited for. Opens nothing but
// regular files: opening a device may do something by itself.
RunContent HoldsRun(int directory_fd, const std::string& name, const std::array<uint8_t, 16>& run_token);

}  // namespace plimsoll
