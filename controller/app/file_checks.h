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

// The error of LocalDirectory for the first directory of a named file that is not one of this machine. Paths that no
// plan may have are left to its check.
absl::Status CheckLocalDirectoriesOf(const v1::LogWorkload& workload);

// Roots of an agent that is started for a host's part of such a plan: the directories of its files, each once, but not
// those of devices; /tmp where all files are devices.
std::vector<AgentRoot> RootsOfFiles(const v1::LogWorkload& workload);

// Options of an agent that is started on this machine for such a plan, which its user has both written and let run:
// files that `create` left, and the named files that exist where they are only read or may be overwritten.
std::vector<std::string> PermissionsOfFiles(const v1::TestPlan& plan);

// Why the files cannot be used as the plan has it, naming host, path and reason: kWrong. `files` is by host. `started`:
// the agent was started on this machine with PermissionsOfFiles.
std::optional<Failure> CheckFiles(const v1::TestPlan& plan, const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<HostFiles>& files, bool started);

// A table of the files by host, with what becomes of each: lines without line ends.
std::vector<std::string> DescribeFiles(const v1::TestPlan& plan, const std::vector<std::unique_ptr<Host>>& hosts,
                                       const std::vector<HostFiles>& files);

}  // namespace plimsoll
