// The files of one queue manager of a drill: made once by its home, opened by every instance.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/ha_setup.h"
#include "agent/host/run_directory.h"
#include "agent/host/sandbox.h"
#include "common/posix.h"

namespace plimsoll {

// Names in a host's directory of the run. In that of the logs: "qm1/active/S0000000.LOG" and "qm1/active/checkpoint";
// in that of the data: "qm1/data/master", "active", "standby" and "poll". Each begins with a page that carries the
// run's token, which identifies the owner to programs that open or remove it (agent/host/leftovers.h knows the
// names).
std::string CheckpointName(uint32_t qm);
std::string LockName(uint32_t qm, v1::HaLock lock);
// The page of the file `active` that holds the heartbeat record.
inline constexpr uint64_t kHeartbeatOffset = kStampedPageBytes;

// What making the files of one queue manager came to.
struct MadeFiles {
  bool direct = false;
  std::string direct_refused;
  std::string open_flags;
};
// Makes them all, the extents filled; `before` and `after` as of LogFiles::Prepare. Closes them.
absl::StatusOr<MadeFiles> MakeQmFiles(const HaSetup& setup, uint32_t qm, RunDirectory& log_directory,
                                      RunDirectory& data_directory, const std::function<absl::Status()>& before,
                                      const std::function<void(uint64_t)>& after);

// The open files of one queue manager.
struct QmFiles {
  struct File {
    UniqueFd fd;
    std::string path;
  };
  std::vector<File> extents;
  File checkpoint;
  File master;
  File active;
  File standby;
  File poll;
  // How the extents were opened.
  bool direct = false;
  std::string open_flags;
  std::string direct_refused;
  // Why one of the other files is open without O_DIRECT; empty if no such file is.
  std::string small_files_direct_refused;
  // The log's directory.
  std::string directory;
};

// Opens them for writing (or, `for_scan`, the log for reading only). Errors as of OpenFileOfRun.
absl::StatusOr<QmFiles> OpenQmFiles(const HaSetup& setup, uint32_t qm, const Sandbox& sandbox, bool for_scan);

}  // namespace plimsoll
