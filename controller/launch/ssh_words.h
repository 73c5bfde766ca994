// Why an agent could not be started over ssh, and the way out: what ssh and the host reported, as one line for a
// person.
#pragma once

#include <string>
#include <vector>

#include "controller/fleet/exit_code.h"

namespace plimsoll {

// What is known of a host when it failed.
struct SshEvidence {
  // The host as the user named it.
  std::string name;
  // Everything that ssh printed on its standard error, or the last part of it.
  std::string errors;
  // The last line that something other than ssh printed before the host's shell answered.
  std::string printed;
  // How ssh ended: "exit code 255"; empty: it runs.
  std::string ended;
  // The host's shell had answered: the connection was up.
  bool connected = false;
};

// Where agents were to be started, and what with, as far as the way out depends on it.
struct SshWays {
  // `uname -m` of the agent that would be copied.
  std::string machine;
  // Why this machine has no agent that may be copied; empty: it has.
  std::string no_agent;
  // The agent that would be copied needs the C library of its host.
  bool dynamic = false;
};

// A directory below which an agent may write.
struct AgentRoot {
  std::string path;
  // What gave it, for messages; empty: one of several options, or a plan.
  std::string option = "--dir";
};

struct HostFailure {
  // The host as the user named it.
  std::string name;
  // kWrong where the command line asks for what the host does not have, or else kCannotRun.
  Exit code = Exit::kCannotRun;
  // "node1: its host key is unknown: ...": one line.
  std::string line;
};

// ssh's last line that is not empty; empty: it printed nothing.
std::string LastLine(const std::string& text);

// The last line of a client's standard error that an agent has written; empty: none.
std::string AgentsLine(const std::string& errors);

// ssh ended before the agent ran.
HostFailure SshFailure(const SshEvidence& evidence);

// start_agent.sh printed "fail KIND TEXT"; the agent would have had those roots.
HostFailure HostSideFailure(const std::string& name, const std::string& kind, const std::string& text,
                            const SshWays& ways, const std::vector<AgentRoot>& roots);

// The agent ended with that exit code before it listened; `printed` is the last that it printed.
HostFailure AgentFailure(const std::string& name, int exit_code, const std::string& printed);

}  // namespace plimsoll
