// Why an agent could not be started by a command such as `podman exec -i node1`, and the way out, as one line for a
// person.
#pragma once

#include <string>
#include <vector>

#include "controller/launch/ssh_words.h"

namespace plimsoll {

// What is known of a host when its command had ended, and no agent served.
struct CommandEvidence {
  // The host as the user named it.
  std::string name;
  // What runs the command, "podman".
  std::string client;
  // The last part of the command's standard error.
  std::string errors;
  // What came on its standard output where the agent's first frame was expected; empty: nothing.
  std::string garbled;
  // "exit code 126"
  std::string ended;
};

// Why a word cannot follow a command, behind which a shell on another machine may read it (`ssh gateway podman exec`);
// `what` is what it is. Empty: it can, because no shell gives any of its characters a meaning.
std::string ProblemOfWord(const std::string& what, const std::string& word);

// `roots` are those that the agent was given.
HostFailure CommandFailure(const CommandEvidence& evidence, const std::vector<AgentRoot>& roots);

}  // namespace plimsoll
