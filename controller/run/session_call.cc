#include "controller/run/session_call.h"

#include <utility>

#include "common/parse_budget.h"
#include "plimsoll/v1/agent.grpc.pb.h"  // how gRPC writes the messages

namespace plimsoll {
namespace {

constexpr char kSessionMethod[] = "/plimsoll.v1.Agent/Session";

}  // namespace

void SessionCall::Open(const std::shared_ptr<grpc::Channel>& channel, const std::shared_ptr<Link>& link,
                       AgentListener& listener, CallCount& calls) {
  MutexLock lock(link->mutex);
  calls.Begin();
  auto* call = new SessionCall(link, listener, calls);
  link->call = call;
  call->stub_ = std::make_unique<Stub>(channel);
  call->stub_->PrepareBidiStreamingCall(&call->context_, kSessionMethod, {}, call);
  call->AddHold();  // messages are sent outside of reactions
  call->StartRead(&call->incoming_);
  call->StartCall();
}

void SessionCall::Send(Link& link, v1::ControllerMessage message) {
  MutexLock lock(link.mutex);
  if (link.call == nullptr) return;
  link.call->outgoing_.push_back(std::move(message));
  link.call->SendNext();
}

void SessionCall::ReadOn(Link& link) {
  MutexLock lock(link.mutex);
  if (link.call == nullptr || !link.call->held_ || link.call->let_go_) return;
  link.call->held_ = false;
  link.call->StartRead(&link.call->incoming_);
}

void SessionCall::Cancel(Link& link) {
  MutexLock lock(link.mutex);
  if (link.call == nullptr) return;
  link.call->context_.TryCancel();
  // The call ends when its reads have.
  if (std::exchange(link.call->held_, false)) link.call->StartRead(&link.call->incoming_);
  link.call->LetGo();
}

void SessionCall::OnReadDone(bool ok) {
  if (!ok) {
    MutexLock lock(link_->mutex);
    LetGo();
    return;
  }
  v1::AgentMessage message;
  if (absl::Status status = ParseReceived(incoming_, kParseBudgetBytes, message); !status.ok()) {
    refused_ = std::move(status);
    context_.TryCancel();
    MutexLock lock(link_->mutex);
    LetGo();
    return;
  }
  incoming_.Clear();
  {
    // The lock is held so that a ReadOn that comes at once finds that reading has ended.
    MutexLock lock(link_->mutex);
    held_ = !listener_.OnMessage(std::move(message)) && !let_go_;
    if (held_) return;
  }
  StartRead(&incoming_);
}

void SessionCall::OnWriteDone(bool ok) {
  MutexLock lock(link_->mutex);
  writing_ = false;
  outgoing_.pop_front();
  if (!ok) {
    outgoing_.clear();
    return;
  }
  SendNext();
}

void SessionCall::OnDone(const grpc::Status& status) {
  CallCount& calls = calls_;
  {
    MutexLock lock(link_->mutex);
    if (link_->call == this) link_->call = nullptr;
  }
  listener_.OnSessionClosed(refused_.ok() ? FromGrpc(status) : refused_);
  delete this;
  calls.End();
}

SessionCall::SessionCall(std::shared_ptr<Link> link, AgentListener& listener, CallCount& calls)
    : link_(std::move(link)), listener_(listener), calls_(calls) {}

void SessionCall::SendNext() {
  if (writing_ || let_go_ || outgoing_.empty()) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

void SessionCall::LetGo() {
  if (let_go_) return;
  let_go_ = true;
  RemoveHold();
}

}  // namespace plimsoll
