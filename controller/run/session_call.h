// The stream of one session with an agent, over gRPC.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "controller/run/agent_client.h"
#include "controller/run/grpc_call.h"

namespace plimsoll {

// Lives until its OnDone, which deletes it. The client only ever touches it under the lock of its link, which OnDone
// takes to detach it. The functions that take a link do nothing where the call is gone; any thread.
class SessionCall final : public grpc::ClientBidiReactor<v1::ControllerMessage, grpc::ByteBuffer> {
 public:
  // The client's hold on its call.
  struct Link {
    Mutex mutex;
    SessionCall* call ABSL_GUARDED_BY(mutex) = nullptr;
  };

  // Starts a call and links it. `listener` and `calls` outlive it: it counts in `calls` until it is gone.
  static void Open(const std::shared_ptr<grpc::Channel>& channel, const std::shared_ptr<Link>& link,
                   AgentListener& listener, CallCount& calls);
  // Queues a message.
  static void Send(Link& link, v1::ControllerMessage message);
  // Reads on where the listener had enough.
  static void ReadOn(Link& link);
  // Gives the call up; its end is still told to the listener.
  static void Cancel(Link& link);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  using Stub = grpc::TemplatedGenericStub<v1::ControllerMessage, grpc::ByteBuffer>;

  SessionCall(std::shared_ptr<Link> link, AgentListener& listener, CallCount& calls);

  // Both under link_->mutex.
  void SendNext();
  void LetGo();

  const std::shared_ptr<Link> link_;
  AgentListener& listener_;
  CallCount& calls_;
  std::unique_ptr<Stub> stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer incoming_;
  // Why an agent's message was not taken.
  absl::Status refused_;
  std::deque<v1::ControllerMessage> outgoing_;
  bool writing_ = false;
  bool let_go_ = false;
  // No read is under way: the listener had enough.
  bool held_ = false;
};

}  // namespace plimsoll
