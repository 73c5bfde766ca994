// Removes one host's directory of a run that nobody lives to remove.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/owner_marker.h"

namespace plimsoll {

// What the remover may take.
struct RemovalRight {
  // Whose directories: those whose marker carries this id.
  std::string agent_id;
  // Somebody asked for this very run by its id: what was to be kept, and what hosts share, goes too.
  bool run_was_named = false;
  // Asked before each file: an error ends the removal. Empty: nobody is asked.
  std::function<absl::Status()> may_continue;
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
// it is still there: whose it is, that its owner lives, or what it holds that no run makes.
//
// What goes: extents, that is regular files `qm<N>/active/<prefix><seven digits>.LOG` that are empty or whose first
// page carries the run's token; the marker; directories that are empty. No link is followed, no mount is entered. While
// an extent is left the marker stays, so that one may try again.
absl::StatusOr<RemovedFiles> RemoveHostDirectory(const RunParent& parent, const std::string& run_id,
                                                 const std::string& host_label, const RemovalRight& right);

// Removes what an agent left that was killed while it made, or removed, its directory: `name` is a staging name of
// `right.agent_id`. Also the run's directory, when that is empty.
absl::Status RemoveStaged(const RunParent& parent, const std::string& name, const RemovalRight& right);

// Reads a marker without taking its lock; `in_use` tells whether another holds it. NOT_FOUND where there is none,
// FAILED_PRECONDITION where it is no regular file, INVALID_ARGUMENT where it is not whole.
struct MarkerView {
  OwnerMarker marker;
  bool in_use = false;
  int64_t written_s = 0;  // wall clock, as the file system tells it
};
absl::StatusOr<MarkerView> LookAtMarker(int host_fd, const std::string& host_path);

// "qm" and digits.
bool IsWriterDirectory(const std::string& name);

}  // namespace plimsoll
