// How a command reaches its agents, and the agents that it asks about a directory: those that are named, or one started
// for it on this machine.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/command_line/command_line.h"
#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/launch/launcher.h"

namespace plimsoll {

struct AgentList {
  std::string hosts;       // --hosts
  std::string hosts_file;  // --hosts-file
};

// Addresses in the order of both, the list's first; none where neither was given. INVALID_ARGUMENT names the item; the
// system's error for the file.
absl::StatusOr<std::vector<std::string>> ReadAgentList(const AgentList& list);

// The options of every command that takes --hosts: TLS, and how the agents come into being.
struct AccessFlags {
  TlsPaths tls;
  LaunchOptions launch;
};

// Adds --tls-ca and the like, --launch and what belongs to it; `flags` must outlive the parsing.
void AddAccessFlags(CLI::App& app, AccessFlags& flags);

// The same, checked and read.
struct AgentAccess {
  std::shared_ptr<const AgentTrust> trust;
  LaunchOptions launch;
};

// INVALID_ARGUMENT, or the system's error, names the option.
absl::StatusOr<AgentAccess> LoadAccess(const AccessFlags& flags);

// A launcher for hosts that are named (`any`), or for none, where the launcher needs none. `say` shows progress. What
// is given outlives it.
absl::StatusOr<std::unique_ptr<Launcher>> LauncherFor(const AgentAccess& access, bool any, const Clock& clock,
                                                      const EventQueue& events,
                                                      std::function<void(const std::string&)> say);

// How long an agent may take to describe its host, or to answer a probe.
inline constexpr int64_t kAskTimeoutNs = 10 * kNsPerSecond;
// For an agent that is started and only asked: it does not remove what an earlier one left.
inline constexpr char kKeepLeftovers[] = "--keep-leftovers";
// Of a command that only asks.
inline constexpr char kInterruptedAsking[] = "interrupted while the agents were asked";
// Drift allowed for between a host's clock and the controller's, in ppm, where there is no plan to set it.
inline constexpr double kAskedMaxSlewPpm = 500;

// Owns the fleet and what starts its agents. What is given outlives it. For one thread.
class AskedAgents {
 public:
  // Progress and warnings go to `err`; only warnings where `quiet`. `option` is what the command line calls the
  // directory.
  AskedAgents(const Clock& clock, EventQueue& events, std::ostream& err, bool quiet = false,
              std::string option = "--dir")
      : clock_(clock), events_(events), err_(err), quiet_(quiet), option_(std::move(option)) {}
  // Ends the agents that were started.
  ~AskedAgents();
  AskedAgents(const AskedAgents&) = delete;
  AskedAgents& operator=(const AskedAgents&) = delete;

  // Agents that are named are reached as `flags` require; the directory of each is in `directories`, in the order of
  // the list, or the one there is for all. Without agents in `list`: makes the directory absolute and starts an agent
  // with that root. `arguments` are for agents that are started. Nothing is asked yet. Fails where there is nobody to
  // ask; hosts whose agent did not start beside others that did are left out of the fleet.
  std::optional<Failure> Connect(const AgentList& list, const AccessFlags& flags,
                                 const std::vector<std::string>& directories,
                                 const std::vector<std::string>& arguments = {});
  // Those hosts.
  const std::vector<HostFailure>& not_started() const { return not_started_; }

  // After the hosts were asked about the directory: each that could not be reached (exit 4), else each that refuses the
  // directory (exit 2), one line a host.
  std::optional<Failure> CheckAnswers() const;

  // Asks the agent at `address` over a connection of its own, waiting for at most `timeout_ns`.
  absl::StatusOr<v1::HostDescription> Ask(const std::string& address, int64_t timeout_ns) const;

  Fleet& fleet() { return *fleet_; }
  // In the order of the hosts; of several, the first.
  const std::string& directory() const { return directory_; }

 private:
  const Clock& clock_;
  EventQueue& events_;
  std::ostream& err_;
  const bool quiet_;
  const std::string option_;
  std::string directory_;
  std::unique_ptr<Launcher> launcher_;
  std::vector<HostFailure> not_started_;
  AgentClientFactory make_client_;
  std::unique_ptr<Fleet> fleet_;
};

}  // namespace plimsoll
