// How the agents of a command come into being, and end: they run already, one is started as a child process, or they
// are started on their hosts through a client on this machine, such as ssh.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/fleet/exit_code.h"
#include "controller/launch/ssh_words.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

struct LauncherKind;

// An option of a launcher.
struct LaunchOption {
  const char* name;
  // What help calls its value; null: a flag, which has the value "true" where it is given.
  const char* type;
  const char* help;
  const char* preset = "";
  // It may be given several times; Values has them.
  bool repeated = false;
};

// What the command line says about the launch.
struct LaunchOptions {
  // --launch: a name of kLaunchers, or a command.
  std::string how = "none";
  // By the names of options; several values of one end with a line end each but the last.
  std::map<std::string, std::string> values = {};

  std::string Value(const LaunchOption& option) const;
  // Values of an option that may be given several times, in their order.
  std::vector<std::string> Values(const LaunchOption& option) const;
  bool Given(const LaunchOption& option) const { return Value(option) != option.preset; }
  // What a command for the same agents needs beside --hosts: {"--launch", "ssh", "--no-copy"}, or nothing.
  std::vector<std::string> Words() const;
  // These for a shell: " --launch ssh --no-copy".
  std::string OnCommandLine() const;
  // The launcher; for a command that names no hosts kChildLauncher, where --launch neither needs nor supplies any.
  const LauncherKind& kind(bool hosts_named = true) const;
};

// INVALID_ARGUMENT where an option belongs to another launcher, or has no meaning.
absl::Status CheckLaunchOptions(const LaunchOptions& options);

// An agent that a command needs.
struct AgentPlace {
  // Address as in a host list, "node1:7461".
  std::string address;
  // Empty: the agent is only asked.
  std::vector<AgentRoot> roots;
};

// The agents of one command, from Launch to End. One thread.
class Launcher {
 public:
  // What a launch shows, and what it heeds.
  struct Watch {
    // A line of progress.
    std::function<void(const std::string& line)> say;
    // How often the user interrupted: after the first time nothing more is started, after the second it waits for
    // nothing.
    std::function<int()> interrupts;
  };

  // Ends what was started, as End does.
  virtual ~Launcher() = default;

  // Has an agent at every place, started with `arguments` beyond its own; returns when all serve, with a failure for
  // each that does not. Once.
  virtual std::vector<HostFailure> Launch(const std::vector<AgentPlace>& places,
                                          const std::vector<std::string>& arguments) = 0;
  // How people name the agents that serve, in the order of the places: a fleet's addresses.
  virtual std::vector<std::string> Names() const = 0;
  // The nodes of hosts that are pods, by the hosts' names. Hosts whose node is not known are left out.
  virtual std::map<std::string, std::string> Nodes() const { return {}; }
  // What a client dials for such a name: HOST:PORT or unix:PATH.
  virtual std::string Target(const std::string& name) const = 0;
  // Ends what was started and waits until that is gone from the hosts, within limits. Hosts of `lost`, by name, do not
  // answer: a launcher need not wait for what may never end there. Returns what a person should know.
  virtual std::vector<std::string> End(const std::set<std::string>& /*lost*/) { return {}; }
};

// One way to start agents. Commands ask for what holds of it, never for its name.
struct LauncherKind {
  const char* name;
  // In the help of --launch.
  const char* help = "";
  std::span<const LaunchOption> options = {};
  // A command must name hosts.
  bool needs_hosts = false;
  // A command names no hosts: the launcher has them.
  bool supplies_hosts = false;
  // Connections need no TLS.
  bool encrypts = false;
  // Agents run again after their host was reset.
  bool survives_reboot = false;
  // In the journal: unspecified for agents that run already. In lower case and without its prefix, it is the name.
  v1::AgentLaunch recorded = v1::AGENT_LAUNCH_UNSPECIFIED;
  // INVALID_ARGUMENT for its own options; null: it takes any.
  absl::Status (*check)(const LaunchOptions& options) = nullptr;
  // With options that CheckLaunchOptions has passed. INVALID_ARGUMENT names the option. `clock` outlives the launcher.
  absl::StatusOr<std::unique_ptr<Launcher>> (*make)(const LaunchOptions& options, const Clock& clock,
                                                    const Launcher::Watch& watch);
  // The hosts of a command that names none, as addresses of a host list; null: it must name them. INVALID_ARGUMENT for
  // its own options, UNAVAILABLE where nothing answers; the text is for a person.
  absl::StatusOr<std::vector<std::string>> (*find_hosts)(const LaunchOptions& options) = nullptr;

  bool starts_agents() const { return recorded != v1::AGENT_LAUNCH_UNSPECIFIED; }
};

// One agent on this machine, as a child process; the place's address is not looked at, and there is a root at least.
extern const LauncherKind kChildLauncher;

// Agents that run already.
extern const LauncherKind kNoLauncher;
// Agents on hosts that have nothing installed (ssh_launcher.cc).
extern const LauncherKind kSshLauncher;
// Agents in pods that have them (kubernetes_launcher.cc).
extern const LauncherKind kKubernetesLauncher;
// Agents that are installed on the hosts, each started by a command that is itself what --launch has
// (command_launcher.cc).
extern const LauncherKind kCommandLauncher;
// The name of the host in such a command.
inline constexpr char kHostInCommand[] = "{host}";

// The names that --launch takes, in the order of its help.
inline constexpr const LauncherKind* kLaunchers[] = {&kNoLauncher, &kSshLauncher, &kKubernetesLauncher};

// The launcher of what --launch has: a name, or a command with kHostInCommand in it; null: it has neither.
const LauncherKind* FindLauncher(const std::string& how);

// The failures as one: wrong input where nothing else failed. Not for an empty list.
Failure AsFailure(const std::vector<HostFailure>& failures);

}  // namespace plimsoll
