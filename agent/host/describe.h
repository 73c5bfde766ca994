// The facts that an agent reports about its host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/host/sandbox.h"
#include "agent/host/target_files.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Control files `amqhlctl.lfh` on the file system of `directory` (searched from its mount point down, at most four
// levels deep and 10,000 entries), and processes of this host that hold a log extent or control file there; each as a
// phrase: "/mnt/mq/QM1/amqhlctl.lfh", "process 4711 (amqzmuc0) holds /mnt/mq/QM1/active/S0000001.LOG". At most ten.
// Files of plimsoll's own runs do not count. Reads directories and /proc only; what may not be read is passed over.
// Stops with what it has found once `cancelled` says so.
std::vector<std::string> FindQueueManagers(const std::string& directory, const std::string& mount_point,
                                           const std::function<bool()>& cancelled);

// Whether a path's last part is a control file or an extent as MQ names them: "amqhlctl.lfh", "S0000001.LOG".
bool IsQueueManagerLog(const std::string& path);

// The host's facts, and those of each directory and file in the request. Fields that the kernel does not report stay
// empty; `holder` is the caller's to fill. A directory with a target of `files` is described although no run may make
// anything in it. A request for the counters of a mount gets these alone. Takes some microseconds, but hangs with a
// hung file system: call it on a thread that may hang. Stops early, with less in the answer, once `cancelled` reports
// that the caller no longer waits.
v1::HostDescription DescribeHost(const std::string& name, const std::string& instance_id, const Sandbox& sandbox,
                                 const TargetFiles& files, const v1::DescribeRequest& request,
                                 const std::function<bool()>& cancelled);

}  // namespace plimsoll
