// Where the writers of a host write: the run's directory in each of the plan's, or the files that the plan names.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/host/run_directory.h"
#include "agent/host/sandbox.h"
#include "agent/host/target_files.h"
#include "agent/writer/file_ops.h"
#include "agent/writer/space_watch.h"
#include "agent/writer/work_setup.h"

namespace plimsoll {

// The run's directory in one of the plan's, or all files of a plan that gives absolute paths.
struct LogPlace {
  // Absolute path: the run's directory, or that of the first file.
  std::string path;
  // Null with absolute paths.
  std::unique_ptr<RunDirectory> directory;
  std::unique_ptr<FileOps> ops;
  // Directories and block devices whose kernel counters are the place's.
  std::vector<std::string> counted;
  // Of files that exist: the bytes of each that the plan uses, in the plan's order.
  std::vector<uint64_t> file_bytes = {};
  // File systems of which the measured writes take space.
  std::vector<WatchedSpace> growing;
  // Hosts of the run that were seen there. Only the session's thread uses it.
  std::set<std::string> seen = {};
};

// Makes the run's directories, one for each of `setup.dirs`; if one cannot be made, all are removed. For a plan with
// absolute paths it opens the files that exist, or checks that `create` can make them, and writes nothing. Sets the
// regions of `setup` by the sizes of files that exist. `sandbox` and `targets` must outlive the places.
//
// Errors name the directory or the file: PERMISSION_DENIED, NOT_FOUND, ALREADY_EXISTS, RESOURCE_EXHAUSTED where the
// files would not leave the space that must remain free, FAILED_PRECONDITION and INVALID_ARGUMENT where a file is
// shorter than the plan says, too small for its threads, or given by two names.
absl::StatusOr<std::vector<LogPlace>> MakeLogPlaces(const Sandbox& sandbox, const TargetFiles& targets,
                                                    WorkSetup& setup);

}  // namespace plimsoll
