// One host on which a command of the user's starts the agent that is installed there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/launch/client_host.h"

namespace plimsoll {

// A command that connects standard input and output of a program on a host with its own, such as `podman exec -i`.
struct HostCommand {
  // Every "{host}" in it is the name of the host; the agent's command line follows.
  std::vector<std::string> words;
  // What messages call it: "podman".
  std::string client;
  // Where the program cannot be started.
  std::string way_out;
};

class CommandHost final : public ClientHost {
 public:
  // `address` is of a host list, "node1:7461". `command` and `clock` outlive the host.
  CommandHost(const HostCommand& command, const Clock& clock, const std::string& address, std::string local_socket);

  // There is nothing to prepare: ready at once.
  void Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more) override;
  void Go() override;

 private:
  void TakeText(std::string_view text) override;
  HostFailure EndedEarly() const override;
  std::string NoAnswer() const override;
  int64_t StartLimitNs() const override;
  std::string WhyNoStart() const override;

  const HostCommand& command_;
  std::vector<std::string> arguments_;
  std::vector<AgentRoot> roots_;
};

}  // namespace plimsoll
