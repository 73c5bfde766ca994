// One host of `--launch ssh`: its ssh client, the agent at the other end, and the program that is copied there to be
// it.
#pragma once

#include <poll.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/posix.h"
#include "controller/launch/ssh_words.h"
#include "controller/run/process.h"

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

// Runs `ssh HOST exec sh` with the host's half of a launch (start_agent.sh) on standard input, which stays open for as
// long as the agent is wanted: when it ends, so does the agent. Does what can be done without waiting whenever its
// descriptors are ready. One thread at a time.
class SshHost {
 public:
  enum class State {
    kConnecting,  // ssh, and the shell there
    kCopying,     // the agent to the host
    kReady,       // the host waits for Go
    kStarting,    // the agent, until it listens
    kForwarding,  // a first connection through ssh
    kUp,          // the agent serves
    kEnding,      // its end was requested
    kEnded        // ssh has ended, or never ran
  };
  static constexpr size_t kDescriptors = 4;
  using Descriptors = std::array<pollfd, kDescriptors>;

  // `address` is of a host list, "node1:7461"; a port that is not the agents' own is ssh's. `local_socket` is where
  // this machine reaches the agent; `remote_directory` does not exist there yet. `setup` and `clock` outlive the host.
  SshHost(const SshSetup& setup, const Clock& clock, const std::string& address, std::string local_socket,
          std::string remote_directory);

  // Starts ssh; the agent will have these arguments. `roots` that the host does not have are a failure.
  void Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more);

  // What to wait for; -1 for nothing.
  Descriptors Wanted() const;
  // What poll(2) found, in the same order. Call it now and then without, too: times run out.
  void Serve(const Descriptors& found);

  // Starts the agent. Only in kReady.
  void Go();
  // Ends the agent, or whatever is under way.
  void End();
  // After the agent's end: removes it from the host's cache where `remove`, and lets ssh end.
  void Finish(bool remove);
  // Ends ssh now: SIGTERM, and SIGKILL after a while or with the second call. What still runs on the host ends by
  // itself.
  void Kill();

  State state() const { return state_; }
  // As the user named it: without the agents' port.
  const std::string& name() const { return name_; }
  const std::string& local_socket() const { return local_socket_; }
  // Why it failed; none: it did not, or not yet.
  const std::optional<HostFailure>& failure() const { return failure_; }
  // The agent has ended, as the host reported.
  bool agent_ended() const { return agent_ended_; }
  // Sent of the agent, in bytes.
  size_t copied_bytes() const { return copied_; }
  // ssh's last line, with how it ended, for a connection that broke.
  std::string LastWords() const;

 private:
  void Enter(State state);
  void ReadOutput();
  void ReadErrors();
  void Send();
  void TakeLine(const std::string& line);
  void Connect();
  void ReadFirstByte();
  void CheckEnd();
  void CheckTime();
  // ssh is not needed any more: it is killed if it does not end soon.
  void Fail(HostFailure failure);
  // The end of ssh's input; what was not sent is not sent any more.
  void CloseInput();
  SshEvidence Evidence() const;

  const SshSetup& setup_;
  const Clock& clock_;
  std::string name_;
  std::string destination_;
  std::string port_;
  const std::string local_socket_;
  const std::string remote_directory_;
  std::vector<AgentRoot> roots_;

  State state_ = State::kConnecting;
  // Deadline of the state; nothing: it has no limit, or the caller has one.
  std::optional<MonotonicNs> deadline_;
  // What Kill sends.
  int next_signal_ = SIGTERM;
  std::unique_ptr<PipedProcess> ssh_;
  // To be sent: text, then the agent where the host requested it.
  std::string unsent_;
  size_t copied_ = 0;
  bool copying_ = false;
  // The last line so far, not ended yet.
  std::string line_;
  std::string printed_;
  std::string errors_;
  std::string how_ended_;
  bool connected_ = false;
  bool agent_ended_ = false;
  bool close_when_sent_ = false;
  UniqueFd first_connection_;
  std::optional<HostFailure> failure_;
};

}  // namespace plimsoll
