// Lists and removes what runs left, by way of the agents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/fleet.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// One host's directory of one run, and the agent that reported it.
struct FoundRun {
  size_t host = 0;  // index in the fleet
  v1::RunDirectoryDescription directory;
};

// What the described hosts reported, each directory once: a host's directory has a name of its own in its run, so that
// what several hosts see on one storage is taken from its owner if that is among them, else from the first. In the
// order of hosts and paths.
std::vector<FoundRun> FoundRuns(const std::vector<std::unique_ptr<Host>>& hosts);

// Whether cleaning would take it: with an empty `run_id` an agent's own that is not in use and was not to be kept;
// with one, that run's own or shared ones that are not in use.
bool MayClean(const v1::RunDirectoryDescription& directory, const std::string& run_id);

// What one host answered to CleanWork.
struct CleanAnswer {
  std::vector<v1::CleanedDirectory> cleaned;
  absl::Status status;
};

// Has each host of `asked` (indices) clean `directory`, all at once, in a session each; returns their answers in the
// order of `asked`. A host that sends nothing for `lease_ns` is UNAVAILABLE. An interrupt stops all: CANCELLED.
std::vector<CleanAnswer> CleanHosts(Fleet& fleet, const std::vector<size_t>& asked, const std::string& directory,
                                    const std::string& run_id, const std::string& session_id, int64_t lease_ns,
                                    const Clock& clock, EventQueue& events);

}  // namespace plimsoll
