// What can be told to be wrong before anything is touched.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/run/exit_code.h"
#include "controller/run/fleet.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// What one host is about to write.
struct HostBytes {
  std::string directory;
  uint32_t writers = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
};
HostBytes BytesOf(const v1::LogWorkload& workload);

// Hosts whose directories are, as far as their descriptions tell, on one storage: the same device under one kernel, or
// the same server and export. Each list holds host indices, in order; every host is in one. (The run itself checks
// again: hosts that see one another's run directories share one storage.)
std::vector<std::vector<size_t>> GuessSharedStorage(const std::vector<std::unique_ptr<Host>>& hosts);

// The first kind of trouble found, with a line for each host that has it; none where the run may start. `workloads[i]`
// is what host i shall do, `block_sizes` the plan's. Agents that cannot be reached, are busy or of another version:
// kCannotRun; all else: kWrong.
std::optional<Failure> CheckHosts(const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<v1::LogWorkload>& workloads,
                                  const std::vector<uint64_t>& block_sizes);

// Where the plan asks for more than an agent was started to allow, a line for each such host: kWrong. After CheckHosts.
std::optional<Failure> CheckCaps(const std::vector<std::unique_ptr<Host>>& hosts,
                                 const std::vector<v1::LogWorkload>& workloads, const std::vector<v1::LogStep>& steps);

// Things to know that stop nothing: caveats of file systems, a queue manager that the run would disturb.
std::vector<std::string> Warnings(const std::vector<std::unique_ptr<Host>>& hosts);

}  // namespace plimsoll
