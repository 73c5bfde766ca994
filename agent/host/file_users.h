// Who else uses a file that a plan names: a queue manager, another process, a loop device.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// Whether a file of a queue manager may be in the directory: the directory itself, or one of the three above it, holds
// the control file of a log ("amqhlctl.lfh") or a queue manager's "qm.ini". FAILED_PRECONDITION names what was found;
// it does not matter whether the queue manager runs, since it may run on another host. `path` is the directory's.
absl::Status CheckNoQueueManager(int directory_fd, const std::string& path);

// FAILED_PRECONDITION where a loop device of this host is made of the file or device that `info` describes: what is
// mounted from it would change below its file system.
absl::Status CheckNoLoopDevice(const struct stat& info, const std::string& path);

// FAILED_PRECONDITION where a process of this host, other than agents of this program, has the block device that `info`
// describes open for writing. Processes whose descriptors the agent may not see do not count.
absl::Status CheckNoDeviceWriter(const struct stat& info, const std::string& path);

// Whether agents of this program may have a file open for writing: hosts of a run may share one.
enum class AgentWriters { kAllowed, kRefused };

// FAILED_PRECONDITION where the regular file that `place_fd` (O_PATH) is open on is open for writing elsewhere on this
// host. What the kernel does not report (file systems without leases or with those of a server, files of other users)
// counts as unused.
absl::Status CheckNoWriter(int place_fd, const std::string& path, AgentWriters agents);

}  // namespace plimsoll
