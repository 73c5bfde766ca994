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

// Who holds an agent, from where: "run 7f3a21 of 127.0.0.1:4711".
std::string HolderInWords(const v1::SessionHolder& holder);

// What one host is about to write.
struct HostBytes {
  std::string directory;
  uint32_t writers = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
};
HostBytes BytesOf(const v1::LogWorkload& workload);

// Hosts that fill one storage, as far as is known.
struct SharedStorage {
  std::vector<size_t> hosts;  // indices, in order
  // Why they count as sharing it, for people; empty where there is one host.
  std::string evidence;
};

// Every host is in one group. Hosts share a storage where one of them sees the other's run directory (once they are
// made), or their directories have one of these in common: device and kernel; server and export; server and file
// system; world wide name of a disk; size and free space. No kind of file system is taken for shared, or for local:
// what is not known to be shared and is would be filled by more than it can hold, so that a doubt counts as sharing.
std::vector<SharedStorage> FindSharedStorage(const std::vector<std::unique_ptr<Host>>& hosts);

// Where the hosts of a storage together would fill it up to less than --min-free: a line for each such storage, kWrong.
// Takes the free space from Host::placed where there is one, else from the description. Before anything is filled.
std::optional<Failure> CheckSpace(const std::vector<std::unique_ptr<Host>>& hosts,
                                  const std::vector<v1::LogWorkload>& workloads);

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
