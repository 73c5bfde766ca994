// The agent's gRPC service: turns calls into descriptions, clock answers and sessions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/session/session.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.grpc.pb.h"

namespace plimsoll {

// Thread-safe. Holds at most one session at a time, or two of one controller, which measures with them in turn.
class AgentService final : public v1::Agent::CallbackService {
 public:
  struct Options {
    // Describes the host and directories; may hang with a file system, so it runs on a thread of its own. It stops
    // early once `cancelled` returns true: the caller has left, or the agent is stopping.
    std::function<v1::HostDescription(const v1::DescribeRequest& request, const std::function<bool()>& cancelled)>
        describe;
    WorkKinds work;
    const Clock* clock = nullptr;
    // What a plan may ask for at most; reported by Describe.
    v1::AgentLimits limits;
    // Printed at every session where the connection is neither local nor protected.
    std::string insecure_warning;
  };

  explicit AgentService(Options options);
  // Ends the session and waits for it, and for Describe calls under way.
  ~AgentService() override;

  // Ends the sessions, and takes no further one. Returns at once.
  void Shutdown(const std::string& reason);
  // The controller is gone for good: as Shutdown, but work that only its lease ends (Work::Abandon) continues until
  // then. Returns at once.
  void Abandon(const std::string& reason);
  // Takes no further session once there has been none for `limit_ns`, in which no controller asked for the counters of
  // a mount either, and returns 0; otherwise returns for how long at least one may still come, in nanoseconds.
  int64_t CloseWhenIdle(int64_t limit_ns);
  // Length of the longest lease of the sessions; 0: there is none.
  int64_t LeaseNs();
  // Waits until no session is left (each ends by itself when its stream or lease ends).
  void WaitForSession();
  // Before the agent ends: waits for the session and for Describe calls under way, as long as they make progress.
  // Returns "" once they have ended; after `patience_ns` without progress, the calls that hang.
  std::string WaitForEnd(int64_t patience_ns);

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::DescribeRequest* request,
                                     v1::HostDescription* response) override;
  grpc::ServerBidiReactor<v1::ClockProbe, v1::ClockReply>* SyncClock(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::ControllerMessage, v1::AgentMessage>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context, const v1::RenewRequest* request,
                                  v1::RenewReply* response) override;

 private:
  class SessionStream;

  // Waits until no other Describe looks for queue managers; false where the call was cancelled meanwhile. EndSearch
  // follows.
  bool BeginSearch(const std::function<bool()>& cancelled);
  void EndSearch();
  void EndOfDescribe();
  void SessionOver();
  // Sessions that are not over.
  std::vector<std::shared_ptr<plimsoll::Session>> Serving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes no further session; returns those that there were.
  std::vector<std::shared_ptr<plimsoll::Session>> StopServing();

  const Options options_;
  Mutex mutex_;
  CondVar changed_;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  int describing_ ABSL_GUARDED_BY(mutex_) = 0;
  bool searching_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::shared_ptr<plimsoll::Session>> sessions_ ABSL_GUARDED_BY(mutex_);
  // Since when there is no session, where there is none; or when counters of a mount were last asked for.
  MonotonicNs idle_since_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
