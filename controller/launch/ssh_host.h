// One host of `--launch ssh`: its ssh client, the agent at the other end, and the program that is copied there to be
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/launch/client_host.h"
#include "controller/launch/ssh_words.h"

namespace plimsoll {

struct AgentFile {
  std::string path;
  std::string bytes;
  // SHA-256, in hexadecimal digits.
  std::string sum;
  // What it runs on, as `uname -m` prints it there.
  std::string machine;
  // Whether it needs the C library of the system where it runs.
  bool dynamic = false;
};

// Reads a program. The system's error where it cannot be read; INVALID_ARGUMENT where it is not a program for Linux
// (ELF, 64 bits), or for an unknown machine.
absl::StatusOr<AgentFile> ReadAgentFile(const std::string& path);

// start_agent.sh, as it was when this program was built (CMakeLists.txt).
extern const char kStartAgentText[];

// What the hosts of a launch have in common.
struct SshSetup {
  // The ssh client and the user's options for it.
  std::vector<std::string> command;
  // The agent to copy; null: the host gets no copy, and ways.no_agent has the reason.
  const AgentFile* agent = nullptr;
  SshWays ways;
  // Directory on the hosts; empty: the user's own.
  std::string cache;
};

// Runs `ssh HOST exec sh` with the host's half of a launch (start_agent.sh) on standard input, which becomes the
// agent's once that is started.
class SshHost final : public ClientHost {
 public:
  // `address` is of a host list, "node1:7461"; a port that is not the agents' own is ssh's. `run_directory` does not
  // exist there yet. `setup` and `clock` outlive the host.
  SshHost(const SshSetup& setup, const Clock& clock, const std::string& address, std::string local_socket,
          std::string run_directory);

  void Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more) override;
  void Go() override;

 private:
  void TakeText(std::string_view text) override;
  HostFailure EndedEarly() const override;
  std::string NoAnswer() const override { return "no answer over ssh"; }
  std::string FarewellText(bool remove) const override;
  // The shell there reports the agent's end.
  bool EndsWithLink() const override { return false; }
  void TakeLine(const std::string& line);
  void TakeAgentsEnd(int code);

  const SshSetup& setup_;
  std::string destination_;
  std::string port_;
  const std::string run_directory_;
  std::vector<AgentRoot> roots_;

  // The last line so far, not ended yet.
  std::string line_;
  // The last line that was not the script's.
  std::string printed_;
  // The host's shell has answered.
  bool connected_ = false;
  bool went_ = false;
  // Of an agent that ended before it served.
  std::optional<int> exit_code_;
};

}  // namespace plimsoll
