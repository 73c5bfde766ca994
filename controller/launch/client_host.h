// One host on which a program on this machine, such as ssh, starts an agent: that client, and the agent at its other
// end, which is reached through the client's standard input and output (common/link).
#pragma once

#include <poll.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/link/stdio_link.h"
#include "common/posix.h"
#include "controller/launch/ssh_words.h"
#include "controller/run/process.h"

namespace plimsoll {

// "node1" of "node1:7461", the name that people see: a port that is not the agents' own stays.
std::string NameOfAddress(const std::string& address);

// What all such hosts have in common; how a client is started, and what it prints before the agent's first frame and
// after its last, is each launcher's own. Its input stays open for as long as the agent is wanted: when it ends, so
// does the agent. While the agent serves, this machine reaches it through a Unix socket here. Does what can be done
// without waiting whenever its descriptors are ready. One thread at a time.
class ClientHost {
 public:
  enum class State {
    kConnecting,  // the client, and what answers it there
    kCopying,     // the agent to the host
    kReady,       // the host waits for Go
    kStarting,    // the agent, until it has returned every byte unchanged
    kUp,          // the agent serves
    kEnding,      // its end was requested
    kEnded        // the client has ended, or never ran
  };

  virtual ~ClientHost() = default;
  ClientHost(const ClientHost&) = delete;
  ClientHost& operator=(const ClientHost&) = delete;

  // Begins; the agent will have these arguments. `roots` that the host does not have are a failure.
  virtual void Start(const std::vector<AgentRoot>& roots, const std::vector<std::string>& more) = 0;
  // Starts the agent. Only in kReady.
  virtual void Go() = 0;

  // Appends what to wait for; returns how many descriptors that are.
  size_t AddWaits(std::vector<pollfd>& waits);
  // Whether Serve has to be called soon although nothing may be found: a time runs out, or AddWaits left something out.
  bool needs_time() const { return client_ != nullptr && (deadline_.has_value() || accept_paused_); }
  // What poll(2) found of these, in the same order; empty: nothing was waited for. Call it now and then: times run out.
  void Serve(std::span<const pollfd> found);

  // Ends the agent, or whatever is under way.
  void End();
  // After the agent's end: removes it from the host where that can be and `remove`, and lets the client end.
  void Finish(bool remove);
  // Ends the client now: SIGTERM, and SIGKILL after a while or with the second call. What still runs on the host ends
  // by itself.
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
  // The client's last line, with how it ended, for a connection that broke.
  std::string LastWords() const;

 protected:
  // `local_socket` is where this machine reaches the agent. `clock` outlives the host.
  ClientHost(const Clock& clock, std::string name, std::string local_socket);

  // Bytes that are not the link's: before the agent's first frame, or after its last.
  virtual void TakeText(std::string_view text) = 0;
  // Why the client, which has ended, started no agent.
  virtual HostFailure EndedEarly() const = 0;
  // Why nothing happens in this state.
  virtual std::string NoAnswer() const = 0;
  // How long the agent may take to start, and what may be why it takes longer.
  virtual int64_t StartLimitNs() const;
  virtual std::string WhyNoStart() const { return "does a file system there hang?"; }
  // What Finish sends; empty: nothing.
  virtual std::string FarewellText(bool /*remove*/) const { return ""; }
  // Whether the agent has ended once its last frame has come.
  virtual bool EndsWithLink() const { return true; }

  void Enter(State state);
  // Starts the client and enters the state. `way_out`: for a client that cannot be started.
  void StartClient(const std::vector<std::string>& command, State state, const std::string& way_out);
  // From now on the client's output is the agent's, until its last frame.
  void BeginLink() { link_.emplace(); }
  // Whether it has been the agent's before.
  bool link_begun() const { return link_.has_value(); }
  // Bytes of the client's output: the link's, or text.
  void Take(std::string_view bytes);
  void SendText(const std::string& text);
  // The client is not needed any more: it is killed if it does not end soon.
  void Fail(HostFailure failure);
  // As Fail; the reason is what EndedEarly finds when the client has printed everything.
  void FailAtEnd();
  void AgentEnded() { agent_ended_ = true; }

  const Clock& clock_;
  const std::string name_;
  State state_ = State::kConnecting;
  std::unique_ptr<PipedProcess> client_;
  // To be sent after the text; null: nothing.
  const std::string* file_ = nullptr;
  // What the client has printed on its standard error: the last part.
  std::string errors_;
  // Where the agent's first frame was expected.
  std::string garbled_;
  std::string how_ended_;
  std::optional<HostFailure> failure_;

 private:
  void ReadOutput();
  void ReadErrors();
  void TakeLinkError(const absl::Status& error);
  void Send();
  void Listen();
  void Accept();
  void CheckEnd();
  void CheckTime();
  // No further input for the client; what was not sent is not sent any more.
  void CloseInput();
  void CloseLink();
  bool LinkRuns() const { return link_.has_value() && link_->state() != StdioLink::State::kEnded; }

  const std::string local_socket_;
  // Deadline of the state; nothing: it has no limit, or the caller has one.
  std::optional<MonotonicNs> deadline_;
  // What Kill sends.
  int next_signal_ = SIGTERM;
  std::string unsent_;
  size_t copied_ = 0;
  std::optional<StdioLink> link_;
  UniqueFd listener_;
  // No descriptor was left for a connection: the listener is left out of one wait.
  bool accept_paused_ = false;
  bool agent_ended_ = false;
  bool fails_at_end_ = false;
  bool close_when_sent_ = false;
};

}  // namespace plimsoll
