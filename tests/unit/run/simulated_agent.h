// An agent and its controller's way to it, in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/session/session.h"
#include "controller/fleet/agent_client.h"
#include "tests/unit/run/simulated_link.h"
#include "tests/unit/run/simulated_storage.h"
#include "tests/unit/run/simulated_work.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {

// The production code's Session (with its Lease and Outbox) around SimulatedWork. What gRPC does between the two sides
// is imitated: messages in order, probes one after another, a Renew over a connection of its own, the end of a stream
// behind all that was sent before. It serves one session. Belongs to the world's thread, which outlives it.
class SimulatedAgent {
 public:
  struct Options {
    std::string name;
    // How far its clock is ahead of the world's.
    int64_t ahead_ns = 0;
    // One way through the network.
    int64_t delay_ns = 50 * kNsPerUs;
  };

  SimulatedAgent(VirtualClock& world, Options options);
  // The session must be over or dead, see Bury.
  ~SimulatedAgent();
  SimulatedAgent(const SimulatedAgent&) = delete;
  SimulatedAgent& operator=(const SimulatedAgent&) = delete;

  // The controller's side.
  std::unique_ptr<AgentClient> MakeClient(AgentListener& listener);
  // From now on what has arrived for the controller is read by its transport only after `delay_ns`, each message
  // `gap_ns` after the one before.
  void DelayReading(int64_t delay_ns, int64_t gap_ns);

  // kill -9.
  void Kill();
  // SIGSTOP and SIGCONT.
  void Suspend() { process_.Suspend(); }
  void Resume() { process_.Resume(); }
  // Ends what is left, so that the object can go: wakes it, and breaks its session.
  void Bury();

  const std::string& name() const { return options_.name; }
  SimulatedLink& link() { return link_; }
  SimulatedStorage& storage() { return storage_; }
  ThreadClock& clock() { return clock_; }
  // By which its session's own thread waits; the same time.
  ThreadClock& session_clock() { return session_clock_; }
  // As State of its session says; "idle" before and after.
  std::string state() const;
  // Its session has begun and is over.
  bool over() const { return session_ != nullptr && session_->over(); }
  // All that its work made is released.
  bool released() const { return released_; }
  bool killed() const { return killed_; }
  // What its lease counts from, and what the controller's idea of it counts from: the last message that arrived.
  MonotonicNs last_message() const { return last_message_; }
  MonotonicNs last_sent_received() const { return last_sent_received_; }
  // When its work last made progress.
  MonotonicNs last_progress() const { return last_progress_; }
  // When the last step that it was armed for is over, in the world's time; none: it was not armed.
  std::optional<MonotonicNs> step_end() const { return step_end_; }
  // What it sees the controller as.
  const std::string& peer() const { return peer_; }

 private:
  class Client;
  // The controller's side of the connection, as far as it is still there.
  struct Controller {
    AgentListener* listener = nullptr;
    bool session_open = false;
    // Probes that are still to be exchanged, and those that were.
    int probes_wanted = 0;
    v1::ProbeBatch probes;
    // Nothing is read before.
    MonotonicNs readable;
    int64_t gap_ns = 0;
  };

  // What the controller sends; it is lost on an agent that was killed.
  void ToAgent(size_t bytes, std::function<void()> arrive);
  // What the agent sends.
  void ToController(size_t bytes, std::function<void(Controller&)> arrive);
  void Arrive(const std::shared_ptr<Controller>& controller, const std::function<void(Controller&)>& arrive);
  void Open();
  void Deliver(v1::ControllerMessage message);
  void StreamBroke();
  // Sends what waits in the session's outbox, and then how it ended.
  void SendAll();
  void ExchangeProbe();
  void WatchProgress();
  v1::HostDescription Describe(const v1::DescribeRequest& request) const;

  VirtualClock& world_;
  const Options options_;
  const std::string peer_;
  VirtualProcess process_{world_};
  ThreadClock clock_;
  ThreadClock session_clock_;
  SimulatedLink link_;
  SimulatedStorage storage_;
  std::shared_ptr<Controller> controller_;
  std::optional<absl::Status> end_;
  bool end_sent_ = false;
  bool killed_ = false;
  bool released_ = false;
  MonotonicNs last_message_;
  MonotonicNs last_sent_received_;
  MonotonicNs last_progress_;
  uint64_t seen_progress_ = 0;
  v1::HostPlan plan_;
  std::optional<MonotonicNs> step_end_;
  std::unique_ptr<Session> session_;
};

}  // namespace plimsoll::tests
