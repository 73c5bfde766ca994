// How the controller's core sees an agent, and the queue of everything that happens to a run, agents' messages above
// all. gRPC is one implementation of an agent (grpc_agent_client.cc), the tests' fake another.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/journal.pb.h"

namespace plimsoll {

class AgentTrust;  // agent_trust.h

// What comes from one agent. Called on the transport's threads, for one agent one call at a time for each kind; must
// return soon.
class AgentListener {
 public:
  virtual ~AgentListener() = default;
  virtual void OnDescribed(absl::StatusOr<v1::HostDescription> description) = 0;
  // False: enough is waiting. Nothing more is read from the session's stream until AgentClient::ReadOn.
  virtual bool OnMessage(v1::AgentMessage message) = 0;
  // False: enough is waiting. A large message is not parsed before AgentClient::ReadOn.
  virtual bool HasRoom() { return true; }
  // The session's stream ended; nothing of it comes after this.
  virtual void OnSessionClosed(absl::Status status) = 0;
  // The agent answered a Renew.
  virtual void OnRenewed() = 0;
  // The exchanges of one Probe call; fewer than asked where the stream broke.
  virtual void OnProbes(v1::ProbeBatch probes) = 0;
  // A PatternChunk that was given to Send has left this process, in their order. Those that have not are in its memory.
  virtual void OnChunkSent() {}
};

// One agent. All calls return at once; answers go to the listener. Thread-safe.
class AgentClient {
 public:
  // Ends every stream; no call to the listener is under way or comes after it.
  virtual ~AgentClient() = default;

  // Asks for the host's facts, waiting for the agent for at most `timeout_ns`. The protocol version is filled in here.
  virtual void Describe(v1::DescribeRequest request, int64_t timeout_ns) = 0;
  // Exchanges `count` probes in turn.
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
  // Begins to end every stream, so that the destructors of many clients wait at the same time. Nothing is called after
  // it but the destructor.
  virtual void BeginEnd() {}
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

struct SessionClosed {
  absl::Status status;
};

// The agent has answered over another connection than the session's.
struct Renewed {};

// AgentListener::OnChunkSent.
struct ChunkSent {};

struct Event {
  size_t host = 0;
  MonotonicNs time;  // when it came in
  std::variant<absl::StatusOr<v1::HostDescription>, v1::AgentMessage, SessionClosed, v1::ProbeBatch, Renewed, ChunkSent>
      body;
};

// Everything that happens to a run, in one order, for the one thread that runs it. Push returns false when the queue is
// full, and OnRoom reports when there is room again: producers pause meanwhile, so that the queue is bounded.
// Thread-safe; one thread takes.
class EventQueue {
 public:
  static constexpr size_t kMostWaitingBytes = size_t{64} << 20;

  // Waits in the time of `clock`, which outlives the queue.
  explicit EventQueue(const Clock& clock, size_t most_waiting_bytes = kMostWaitingBytes)
      : clock_(clock), most_waiting_bytes_(most_waiting_bytes) {}

  // `bytes`: the memory that the event counts until the Take after the one that returned it. False where as much is
  // waiting as should be: it is taken all the same.
  bool Push(Event event, size_t bytes = 0) {
    MutexLock lock(mutex_);
    events_.push_back(std::move(event));
    waiting_bytes_ += bytes;
    if (events_.size() == 1) changed_.NotifyOne();
    if (waiting_bytes_ < most_waiting_bytes_) return true;
    was_full_ = true;
    return false;
  }
  // Whether less is waiting than should be at most.
  bool HasRoom() {
    MutexLock lock(mutex_);
    was_full_ = was_full_ || waiting_bytes_ >= most_waiting_bytes_;
    return waiting_bytes_ < most_waiting_bytes_;
  }
  // Calls `room` on the thread that takes, once there is room after Push has returned false. Null: nothing is called.
  void OnRoom(std::function<void()> room) {
    MutexLock lock(mutex_);
    room_ = std::move(room);
  }

  // Ctrl-C: the first asks for an orderly end, the second for leaving at once.
  void Interrupt() {
    MutexLock lock(mutex_);
    ++interrupts_;
    changed_.NotifyOne();
  }
  int interrupts() const {
    MutexLock lock(mutex_);
    return interrupts_;
  }

  // All that is there, waiting for the first at most until the moment; empty where nothing came, or where an interrupt
  // came that no earlier call returned for.
  std::vector<Event> TakeUntil(MonotonicNs deadline) {
    std::function<void()> room;
    {
      // What was taken before is gone by now.
      MutexLock lock(mutex_);
      waiting_bytes_ -= std::exchange(taken_bytes_, 0);
      if (waiting_bytes_ < most_waiting_bytes_ && std::exchange(was_full_, false)) room = room_;
    }
    if (room) room();
    MutexLock lock(mutex_);
    while (events_.empty() && interrupts_ == seen_interrupts_ && clock_.WaitUntil(mutex_, changed_, deadline)) {
    }
    seen_interrupts_ = interrupts_;
    taken_bytes_ = waiting_bytes_;
    return std::exchange(events_, {});
  }

  // Takes nothing; waits until the moment, or until an interrupt comes that no earlier call returned for.
  void WaitUntil(MonotonicNs deadline) {
    MutexLock lock(mutex_);
    while (interrupts_ == seen_interrupts_ && clock_.WaitUntil(mutex_, changed_, deadline)) {
    }
    seen_interrupts_ = interrupts_;
  }

 private:
  const Clock& clock_;
  const size_t most_waiting_bytes_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mutex_);
  // Bytes of the events that wait, and of those that the last Take has returned.
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool was_full_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void()> room_ ABSL_GUARDED_BY(mutex_);
  int interrupts_ ABSL_GUARDED_BY(mutex_) = 0;
  int seen_interrupts_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll
