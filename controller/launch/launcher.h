// How the agents of a command come into being, and end: they run already, one is started as a child process, or they
// are started on their hosts over ssh. What a scheduler of jobs starts would be another.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/fleet/exit_code.h"
#include "controller/launch/ssh_words.h"

namespace plimsoll {

// What the command line says about it.
struct LaunchOptions {
  // --launch: "none" or "ssh".
  std::string how = "none";
  // --ssh-command: the client and its options, split at blanks outside of quotes.
  std::string ssh_command = "ssh";
  // --launch-agent: the agent to copy; empty: the one beside this program.
  std::string agent_file;
  // --launch-cache: the directory on the hosts that keeps it; empty: the user's own.
  std::string cache;
  // --no-copy: nothing is copied.
  bool no_copy = false;
  // --launch-clean: the agents are removed from the hosts' caches at the end.
  bool clean = false;

  bool ssh() const { return how == "ssh"; }
};

// INVALID_ARGUMENT where an option needs --launch ssh, or has no meaning.
absl::Status CheckLaunchOptions(const LaunchOptions& options);

// An agent that a command needs.
struct AgentPlace {
  // Of a host list, "node1:7461".
  std::string address;
  // None: it is only asked.
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
  // What a client dials for such a name: HOST:PORT or unix:PATH.
  virtual std::string Target(const std::string& name) const = 0;
  // What a command for the same agents needs beside --hosts: " --launch ssh", or nothing.
  virtual std::string Options() const { return ""; }
  // Ends what was started and waits until that is gone from the hosts, within limits. Hosts of `lost`, by name, do not
  // answer: a launcher need not wait for what may never end there. Returns what a person should know.
  virtual std::vector<std::string> End(const std::set<std::string>& /*lost*/) { return {}; }
};

// Agents that run already: `clock` and `watch` are not needed.
std::unique_ptr<Launcher> NoLauncher();

// One agent on this machine, as a child process; the place's address is not looked at, and there is a root at least.
std::unique_ptr<Launcher> ChildLauncher();

// As the options say, which CheckLaunchOptions has passed. INVALID_ARGUMENT names the option. `clock` outlives it.
absl::StatusOr<std::unique_ptr<Launcher>> MakeLauncher(const LaunchOptions& options, const Clock& clock,
                                                       Launcher::Watch watch);

// The failures as one: wrong input where nothing else failed. Not for an empty list.
Failure AsFailure(const std::vector<HostFailure>& failures);

}  // namespace plimsoll
