// The agents that a command asks about a directory: those that are named, or one started for it on this machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/command_line.h"
#include "common/units.h"
#include "controller/run/agent_client.h"
#include "controller/run/event_queue.h"
#include "controller/run/exit_code.h"
#include "controller/run/fleet.h"
#include "controller/run/process.h"

namespace plimsoll {

struct AgentList {
  std::string hosts;       // --hosts
  std::string hosts_file;  // --hosts-file
};

// Addresses in the order of both, the list's first; none where neither was given. INVALID_ARGUMENT names the item; the
// system's error for the file.
absl::StatusOr<std::vector<std::string>> ReadAgentList(const AgentList& list);

// How long an agent may take to describe its host, or to answer a probe.
inline constexpr int64_t kAskTimeoutNs = 10 * kNsPerSecond;
// Drift allowed for between a host's clock and the controller's, in ppm, where there is no plan to set it.
inline constexpr double kAskedMaxSlewPpm = 500;

// Owns the fleet and the child. `clock` and `events` outlive it. For one thread.
class AskedAgents {
 public:
  AskedAgents(const Clock& clock, EventQueue& events) : clock_(clock), events_(events) {}

  // Agents that are named are contacted as `tls` requires. Without agents in `list`: makes `directory` absolute and
  // starts an agent with that root and `child_arguments`. Nothing is asked yet.
  std::optional<Failure> Connect(const AgentList& list, const TlsPaths& tls, const std::string& directory,
                                 const std::vector<std::string>& child_arguments = {});

  // After the hosts were asked about the directory: each that could not be reached (exit 4), else each that refuses the
  // directory (exit 2), one line a host.
  std::optional<Failure> CheckAnswers() const;

  // Asks the agent at `address` over a connection of its own, waiting for at most `timeout_ns`.
  absl::StatusOr<v1::HostDescription> Ask(const std::string& address, int64_t timeout_ns) const;

  Fleet& fleet() { return *fleet_; }
  // As the hosts are asked for it.
  const std::string& directory() const { return directory_; }

 private:
  const Clock& clock_;
  EventQueue& events_;
  std::string directory_;
  std::unique_ptr<ChildAgent> child_;
  AgentClientFactory make_client_;
  std::unique_ptr<Fleet> fleet_;
};

}  // namespace plimsoll
