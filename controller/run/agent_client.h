// How the controller's core sees an agent. gRPC is one implementation (grpc_agent_client.cc), the tests' fake another.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/run/agent_trust.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

// What comes from one agent. Called on the transport's threads, for one agent one call at a time for each kind; must
// return soon.
class AgentListener {
 public:
  virtual ~AgentListener() = default;
  virtual void OnDescribed(absl::StatusOr<v1::HostDescription> description) = 0;
  // False: enough is waiting. Nothing more is read from the session's stream until AgentClient::ReadOn.
  virtual bool OnMessage(v1::AgentMessage message) = 0;
  // The session's stream ended; nothing of it comes after this.
  virtual void OnSessionClosed(absl::Status status) = 0;
  // The agent answered a Renew.
  virtual void OnRenewed() = 0;
  // The exchanges of one Probe call; fewer than asked where the stream broke.
  virtual void OnProbes(v1::ProbeBatch probes) = 0;
};

// One agent. All calls return at once; answers go to the listener. Thread-safe.
class AgentClient {
 public:
  // Ends every stream; no call to the listener is under way or comes after it.
  virtual ~AgentClient() = default;

  // Asks for the host's facts, waiting for the agent for at most `timeout_ns`. The protocol version is filled in here.
  virtual void Describe(v1::DescribeRequest request, int64_t timeout_ns) = 0;
  // Exchanges `count` probes one after another.
  virtual void Probe(int count) = 0;
  // Opens the session's stream. The agent ends it, after Release or on an error.
  virtual void OpenSession() = 0;
  // Queues a message for the session's stream. Dropped where there is none.
  virtual void Send(v1::ControllerMessage message) = 0;
  // Reads on from the session's stream where the listener had enough.
  virtual void ReadOn() {}
  // Cancels the session's stream: only its end still comes.
  virtual void CloseSession() = 0;
  // Keeps the session's lease over a new connection, which times out after `timeout_ns`. Does nothing while an
  // earlier one is under way.
  virtual void Renew(v1::RenewRequest request, int64_t timeout_ns) = 0;
};

// Makes the client of the agent at `address`, reporting to `listener`, which outlives it.
using AgentClientFactory =
    std::function<std::unique_ptr<AgentClient>(const std::string& address, AgentListener& listener)>;

// `address` is HOST:PORT, [V6]:PORT or unix:PATH. `clock` stamps the probes and outlives the client. A null `trust`
// means no TLS. Where a Describe fails because one side does not trust the other, its status has the reason. The agent
// may hold a session with the key `beside_key` already (Prepare.beside_key); empty: it may hold none.
std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& address, const Clock& clock,
                                                 AgentListener& listener,
                                                 std::shared_ptr<const AgentTrust> trust = nullptr,
                                                 const std::string& beside_key = "");

}  // namespace plimsoll
