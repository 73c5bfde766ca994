// Files by absolute paths: what the agents report about them, checked before a session opens, and shown by --dry-run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/launch/launcher.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The files of one host that its agent described, in the order of UsedFiles.
using HostFiles = std::vector<v1::FileDescription>;

// Checks that the directory of each named file exists on this machine. Returns the error of LocalDirectory for the
// first one that does not. Skips paths that the check of the plan refuses.
absl::Status CheckLocalDirectoriesOf(const v1::LogWorkload& workload);

// The directories of the files of a workload with absolute paths, each once, without directories of devices.
std::vector<std::string> DirectoriesOfFiles(const v1::LogWorkload& workload);

// The first file of such a workload that is below /dev, where devices are; nothing: there is no such file.
std::optional<std::string> DeviceOf(const v1::LogWorkload& workload);

// Roots of an agent that is started for such a workload: DirectoriesOfFiles. If all files are devices: /tmp.
std::vector<AgentRoot> RootsOfFiles(const v1::LogWorkload& workload);

// Options of an agent that is started on this machine for a plan with absolute paths. They permit files that `create`
// left and, if the plan only reads or has `overwrite`, the named files that exist: one user gives the plan and runs the
// agent.
std::vector<std::string> PermissionsOfFiles(const v1::TestPlan& plan);

// Checks the described files against the plan. Returns kWrong with a line for each file that cannot be used: host, path
// and reason. `files` is by host. `started`: the agent was started on this machine with PermissionsOfFiles.
std::optional<Failure> CheckFiles(const v1::TestPlan& plan, const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<HostFiles>& files, bool started);

// A table of the files by host that shows what the run does to each: lines without line ends.
std::vector<std::string> DescribeFiles(const v1::TestPlan& plan, const std::vector<std::unique_ptr<Host>>& hosts,
                                       const std::vector<HostFiles>& files);

}  // namespace plimsoll
