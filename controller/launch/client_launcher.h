// The launchers that start each agent through a client on this machine, such as ssh: all hosts at once, from the first
// connection to the last file.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/posix.h"
#include "controller/launch/client_host.h"
#include "controller/launch/command_host.h"
#include "controller/launch/launcher.h"
#include "controller/run/process.h"

namespace plimsoll {

// An option of every launcher that starts agents through a client.
inline constexpr LaunchOption kAgentOption = {
    "--agent-option", "OPTION",
    "Option with which agents are started, such as --agent-option=--allow-kept; repeat for several", "", true};

// INVALID_ARGUMENT where a value of kAgentOption is not an option.
absl::Status CheckAgentOptions(const LaunchOptions& options);

// No agent starts before all hosts are ready for one. While the agents serve, a thread passes on what goes between
// their clients and the Unix sockets by which this machine reaches them, in a private directory. A process of the
// launcher's own removes that directory, also where this one is killed; the kernel ends the clients then.
class ClientLauncher final : public Launcher {
 public:
  struct Setup {
    // --launch, for messages.
    std::string name;
    // What connects to the hosts, "ssh".
    std::string client;
    std::function<std::unique_ptr<ClientHost>(const std::string& address, std::string local_socket)> make_host;
    // Further arguments of every agent.
    std::vector<std::string> arguments;
    // Of the agent, where it may be copied.
    size_t copy_bytes = 0;
    // Whether the copies are removed in the end.
    bool clean = false;
    // Options by which `plimsoll clean` starts such agents; empty: the host itself removes what a killed agent left.
    std::string clean_options = {};
    // Finds the nodes of hosts that are pods, by the hosts' names; null: the hosts are no pods.
    std::function<std::map<std::string, std::string>(const std::vector<std::string>& names)> find_nodes = nullptr;
  };

  // The system's error where the private directory cannot be made. `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<Launcher>> Create(Setup setup, const Clock& clock, const Watch& watch);
  ~ClientLauncher() override;
  ClientLauncher(const ClientLauncher&) = delete;
  ClientLauncher& operator=(const ClientLauncher&) = delete;

  std::vector<HostFailure> Launch(const std::vector<AgentPlace>& places,
                                  const std::vector<std::string>& arguments) override;
  std::vector<std::string> Names() const override;
  std::map<std::string, std::string> Nodes() const override { return nodes_; }
  std::string Target(const std::string& name) const override;
  std::vector<std::string> End(const std::set<std::string>& lost) override;

 private:
  ClientLauncher(Setup setup, const Clock& clock, Watch watch)
      : setup_(std::move(setup)), clock_(clock), watch_(std::move(watch)) {}

  absl::Status PrepareDirectory();
  // Waits for what the hosts have, once: at most `timeout_ms` (-1: as long as no host needs time), or until `stop` is
  // readable (-1: nothing is).
  void ServeOnce(int timeout_ms, int stop);
  // Serves the hosts until each is in one of the states, or the user has interrupted `interrupts` times.
  bool ServeUntil(const std::set<ClientHost::State>& states, int interrupts);
  void Report(MonotonicNs begin);
  // What removes the files of an agent whose end the host has not reported, to be appended to a note; may be empty.
  std::string RemovalText(const ClientHost& host) const;
  void StartReading();
  void StopReading();

  const Setup setup_;
  const Clock& clock_;
  const Watch watch_;
  std::string directory_;
  std::unique_ptr<PipedProcess> remover_;
  std::vector<std::unique_ptr<ClientHost>> hosts_;
  // Hosts that serve, by name.
  std::map<std::string, const ClientHost*> serving_;
  std::map<std::string, std::string> nodes_;
  // The directories below which their agents may write, by name.
  std::map<std::string, std::vector<AgentRoot>> roots_;
  // Between StartReading and StopReading the hosts are its own.
  std::thread reader_;
  UniqueFd stop_;
  MonotonicNs next_report_;
  // The last line of progress, and when it is shown again if nothing has changed.
  std::string reported_;
  MonotonicNs repeat_report_;
};

// For hosts on which that command starts an agent; `name` is that of the launcher. `clock` outlives the hosts.
ClientLauncher::Setup CommandLaunch(HostCommand command, const std::string& name, const LaunchOptions& options,
                                    const Clock& clock);

}  // namespace plimsoll
