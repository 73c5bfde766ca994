// The agents of a command, from their start to their end: those of a run, and those that a command asks about a
// directory.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/tls/tls.h"
#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/agent_trust.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/launch/launcher.h"

namespace plimsoll {

struct AgentList {
  std::string hosts;       // --hosts
  std::string hosts_file;  // --hosts-file
};

// The options of every command that takes --hosts: TLS, and how the agents come into being.
struct AccessFlags {
  TlsPaths tls;
  LaunchOptions launch;
  // --wait, as it is given; empty: it is not.
  std::string wait;
};

// The options of AccessFlags, checked and read.
struct AgentAccess {
  std::shared_ptr<const AgentTrust> trust;
  LaunchOptions launch;
  // How long agents that another run holds are waited for.
  int64_t wait_ns = 0;
};

// INVALID_ARGUMENT, or the system's error, names the option.
absl::StatusOr<AgentAccess> LoadAccess(const AccessFlags& flags);

// Why a directory of this machine, given as `option`, cannot be used.
absl::Status LocalDirectoryError(const std::string& dir, std::error_code error, const std::string& option = "--dir");

// The absolute path of a directory of this machine, given as `option`, without links: as an agent, which may run
// elsewhere, sees it. An error where there is no such directory.
absl::StatusOr<std::string> LocalDirectory(const std::string& dir, const std::string& option = "--dir");

// How long an agent may take to describe its host, or to answer a probe.
inline constexpr int64_t kAskTimeoutNs = 10 * kNsPerSecond;
// For an agent that is started and only asked: it does not remove what an earlier one left.
inline constexpr char kKeepLeftovers[] = "--keep-leftovers";
// Error of a command that only asks and is interrupted.
inline constexpr char kInterruptedAsking[] = "interrupted while the agents were asked";

// Starts the agents of one command, makes their fleet, and ends them. What is given outlives it. For one thread.
class LaunchedAgents {
 public:
  // `say` shows a line of progress. `make_client`: how agents are reached; empty: over gRPC, with `beside_key` where
  // they hold another session of this command.
  LaunchedAgents(const Clock& clock, EventQueue& events, std::function<void(const std::string&)> say,
                 AgentClientFactory make_client = {}, std::string beside_key = "")
      : clock_(clock),
        events_(events),
        say_(std::move(say)),
        make_client_(std::move(make_client)),
        beside_key_(std::move(beside_key)) {}
  LaunchedAgents(const LaunchedAgents&) = delete;
  LaunchedAgents& operator=(const LaunchedAgents&) = delete;

  // Has an agent at every place; a single place without an address is this machine, with an agent started for it.
  // `arguments` are for agents that are started. Nothing is asked yet. Fails where no agent serves, and with the text
  // `interrupted` after an interrupt.
  std::optional<Failure> Launch(const AgentAccess& access, const std::vector<AgentPlace>& places,
                                const std::vector<std::string>& arguments, double max_slew_ppm,
                                const std::string& interrupted);
  // Hosts whose agent did not start beside others that did: they are not in the fleet.
  const std::vector<HostFailure>& not_started() const { return not_started_; }

  // Asks every host about its directories and files, and gives it its label; fails only after an interrupt. While an
  // agent is busy with another run, shows who holds it and asks again each second, for as long as --wait allows.
  // `files`: empty where hosts have none to ask about.
  std::optional<Failure> Describe(const std::vector<std::vector<std::string>>& directories, int64_t timeout_ns,
                                  const std::string& interrupted,
                                  const std::vector<std::vector<std::string>>& files = {});
  // Asks the agent at `address` over a connection of its own, waiting for at most `timeout_ns`.
  absl::StatusOr<v1::HostDescription> Ask(const std::string& address, int64_t timeout_ns) const;

  // Ends those that were started. The agent of a lost host is not waited for: it may hang for as long as its storage
  // does. Returns what a person should know.
  std::vector<std::string> End();

  // After Launch.
  Fleet& fleet() const { return *fleet_; }

 protected:
  const Clock& clock_;
  EventQueue& events_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Fleet> fleet_;
  std::vector<HostFailure> not_started_;

 private:
  std::optional<Failure> Interrupted(const std::string& text) const;
  // Shows the runs that hold agents, each once. False if no agent is busy.
  bool ShowBusy(int64_t left_ns, std::set<std::string>& shown) const;

  const std::function<void(const std::string&)> say_;
  AgentClientFactory make_client_;
  const std::string beside_key_;
  double max_slew_ppm_ = 0;
  int64_t wait_ns_ = 0;
};

// The agents that a command asks about a directory: those that are named, or one started for it on this machine. Ends
// them with the object.
class AskedAgents : public LaunchedAgents {
 public:
  // Progress and warnings go to `err`; only warnings where `quiet`. `option` is what the command line calls the
  // directory.
  AskedAgents(const Clock& clock, EventQueue& events, std::ostream& err, bool quiet = false,
              std::string option = "--dir");
  ~AskedAgents();

  // Agents that are named are reached as `flags` require; the directory of each is in `directories`, in the order of
  // the list, or the one there is for all. Without agents in `list`: makes the directory absolute and starts an agent
  // with that root. Otherwise as Launch.
  std::optional<Failure> Connect(const AgentList& list, const AccessFlags& flags,
                                 const std::vector<std::string>& directories,
                                 const std::vector<std::string>& arguments = {});
  // After the hosts were asked about the directory: each that could not be reached (exit 4), else each that refuses the
  // directory (exit 2), one line a host.
  std::optional<Failure> CheckAnswers() const;

  // In the order of the hosts; of several, the first.
  const std::string& directory() const { return directory_; }

 private:
  std::ostream& err_;
  const std::string option_;
  std::string directory_;
};

}  // namespace plimsoll
