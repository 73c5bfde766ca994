// The session of an agent that writes nothing, and the thread that cuts the frames of all of them.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "plimsoll/v1/agent.grpc.pb.h"
#include "tests/bench/swarm_writer.h"

namespace plimsoll {

// Name of the first agent of the swarm.
inline constexpr char kFirstSwarmName[] = "swarm-1";

// One session: answers what the controller says, and hands out frames when it is ticked. Thread-safe.
//
// The stream is gRPC's and goes when the call is over; the session outlives it and then sends nowhere.
class SwarmSession {
 public:
  class Stream;

  explicit SwarmSession(uint32_t number) : number_(number) {}

  // The stream's own doing.
  void Attach(Stream& stream);
  void Detach();
  void OnWritten();

  // Does what the message asks for. True: a step begins, tick it from now on.
  bool Handle(const v1::ControllerMessage& message);
  // Sends the frames that are due. Returns when to call again; nothing where the step is over.
  std::optional<int64_t> Tick(int64_t now_ns);

 private:
  void Send(v1::AgentMessage message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishStep(const std::string& stopped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddSample(int64_t now_ns, v1::FrameBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t number_;
  Mutex mutex_;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::deque<v1::AgentMessage> outbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  v1::HostPlan plan_ ABSL_GUARDED_BY(mutex_);
  uint32_t step_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<SwarmWriter> writer_ ABSL_GUARDED_BY(mutex_);
  int64_t next_sample_ns_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Ticks sessions, each when it is due.
class SwarmTicker {
 public:
  SwarmTicker() : thread_([this] { Run(); }) {}
  ~SwarmTicker();
  SwarmTicker(const SwarmTicker&) = delete;
  SwarmTicker& operator=(const SwarmTicker&) = delete;

  // Ticks it at once, and then as often as it says.
  void Add(std::shared_ptr<SwarmSession> session);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::multimap<int64_t, std::shared_ptr<SwarmSession>> due_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The call of one session.
class SwarmSession::Stream final : public grpc::ServerBidiReactor<v1::ControllerMessage, v1::AgentMessage> {
 public:
  Stream(std::shared_ptr<SwarmSession> session, SwarmTicker& ticker);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  // Both under the session's lock; `message` stays until OnWriteDone.
  void Write(v1::AgentMessage message);
  void End();

 private:
  const std::shared_ptr<SwarmSession> session_;
  SwarmTicker& ticker_;
  // Finish may be called once; a read that fails and an orderly end may both want to.
  std::atomic<bool> finished_{false};
  v1::ControllerMessage incoming_;
  v1::AgentMessage outgoing_;
};

}  // namespace plimsoll
