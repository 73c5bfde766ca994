#include <google/protobuf/io/coded_stream.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/mutex.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/agent_trust.h"
#include "plimsoll/v1/agent.grpc.pb.h"

namespace plimsoll {
namespace {

// Silences gRPC's own messages, which would mix with the lines of a run; the statuses carry what they mean.
// A user who sets GRPC_VERBOSITY wants them. What gRPC prints when it aborts the program still appears. Any thread,
// as often as wanted.
void SilenceGrpc() {
  static const bool once = [] {
    // Debian's abseil watches the order in which gRPC takes its locks, at each of them.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    if (std::getenv("GRPC_VERBOSITY") != nullptr) return false;
    gpr_set_log_function([](gpr_log_func_args* remark) {
      if (absl::StrContains(remark->message, "assertion failed")) {
        std::fprintf(stderr, "plimsoll: gRPC ended the program: %s:%d: %s\n", remark->file, remark->line,
                     remark->message);
      }
    });
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace

// Memory that a message of a session may take that holds anything but frames. And beyond which a message is large.
constexpr uint64_t kOtherBudgetBytes = uint64_t{32} << 20;
constexpr uint64_t kLargeBytes = uint64_t{1} << 20;

// What an agent sent, before it is parsed. gRPC's own parsing looks at the bytes alone, not at what they become.
class Received {
 public:
  static absl::StatusOr<Received> Read(const grpc::ByteBuffer& buffer) {
    Received received;
    if (buffer.Valid() && buffer.DumpToSingleSlice(&received.slice_).ok()) return received;
    return absl::InternalError("the agent's message cannot be read");
  }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()}; }

  // Whether an AgentMessage holds frames and nothing else.
  bool HoldsFramesAlone() const {
    google::protobuf::io::CodedInputStream input(slice_.begin(), static_cast<int>(slice_.size()));
    uint32_t length = 0;
    return input.ReadTag() >> 3 == v1::AgentMessage::kFramesFieldNumber && input.ReadVarint32(&length) &&
           length == slice_.size() - static_cast<size_t>(input.CurrentPosition());
  }

  absl::Status Parse(google::protobuf::Message& message) const {
    if (message.ParseFromArray(slice_.begin(), static_cast<int>(slice_.size()))) return absl::OkStatus();
    return absl::InternalError("the agent's message is damaged");
  }

 private:
  grpc::Slice slice_;
};

// A status of gRPC as ours; the codes are the same.
inline absl::Status FromGrpc(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()), status.error_message()};
}

// Counts the calls to gRPC that have not ended, so that the client's destructor can wait for them. End() is the last
// that a call does, its context is gone by then: a context holds the channel, and who lets go of the last channel ends
// gRPC's threads that run reactions (1.51: CallbackAlternativeCQ). One of them cannot do that to itself; it continues
// in freed memory.
class CallCount {
 public:
  // A call starts.
  void Begin() {
    MutexLock lock(mutex_);
    ++open_;
  }
  // It has ended, and nothing of it is left.
  void End() {
    MutexLock lock(mutex_);
    --open_;
    changed_.NotifyAll();
  }
  // Until every call has ended.
  void WaitForNone() {
    MutexLock lock(mutex_);
    while (open_ > 0) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
};

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
                   AgentListener& listener, CallCount& calls, const std::string& beside_key);
  // Queues a message.
  static void Send(Link& link, v1::ControllerMessage message);
  // Reads on where the listener had enough.
  static void ReadOn(Link& link);
  // Cancels the call; its end is still reported to the listener.
  static void Cancel(Link& link);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  using Stub = grpc::TemplatedGenericStub<v1::ControllerMessage, grpc::ByteBuffer>;

  SessionCall(std::shared_ptr<Link> link, AgentListener& listener, CallCount& calls);

  // All under link_->mutex.
  void SendNext();
  void LetGo();
  // Gives `incoming_` to the listener and reads on, where the listener has room.
  void TakeIn();
  absl::Status Deliver(const Received& received);

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
  // No read is under way: the listener had enough. And what was read last is not parsed yet.
  bool held_ = false;
  bool unparsed_ = false;
};

namespace {

constexpr char kSessionMethod[] = "/plimsoll.v1.Agent/Session";

}  // namespace

void SessionCall::Open(const std::shared_ptr<grpc::Channel>& channel, const std::shared_ptr<Link>& link,
                       AgentListener& listener, CallCount& calls, const std::string& beside_key) {
  MutexLock lock(link->mutex);
  calls.Begin();
  auto* call = new SessionCall(link, listener, calls);
  link->call = call;
  if (!beside_key.empty()) call->context_.AddMetadata(kBesideKey, beside_key);
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
  if (std::exchange(link.call->unparsed_, false)) {
    link.call->TakeIn();
  } else {
    link.call->StartRead(&link.call->incoming_);
  }
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
  // The lock is held so that a ReadOn that comes at once finds that reading has ended.
  MutexLock lock(link_->mutex);
  if (ok) {
    TakeIn();
  } else {
    LetGo();
  }
}

void SessionCall::TakeIn() {
  // Parses one large message at a time over all sessions, and only where what is waiting leaves room for it.
  static Mutex one_large;
  const auto take = [this]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const Received received, Received::Read(incoming_));
    PLIMSOLL_ASSIGN_OR_RETURN(const uint64_t cost,
                              ParseCost(*v1::AgentMessage::descriptor(), received.bytes(),
                                        received.HoldsFramesAlone() ? kParseBudgetBytes : kOtherBudgetBytes));
    if (cost <= kLargeBytes) return Deliver(received);
    MutexLock lock(one_large);
    unparsed_ = !let_go_ && !listener_.HasRoom();
    held_ = unparsed_;
    return held_ || let_go_ ? absl::OkStatus() : Deliver(received);
  };
  if (absl::Status status = take(); !status.ok()) {
    refused_ = std::move(status);
    context_.TryCancel();
    LetGo();
  } else if (!held_) {
    StartRead(&incoming_);
  }
}

absl::Status SessionCall::Deliver(const Received& received) {
  v1::AgentMessage message;
  PLIMSOLL_RETURN_IF_ERROR(received.Parse(message));
  incoming_.Clear();
  held_ = !listener_.OnMessage(std::move(message)) && !let_go_;
  return absl::OkStatus();
}

void SessionCall::OnWriteDone(bool ok) {
  MutexLock lock(link_->mutex);
  writing_ = false;
  const bool chunk = outgoing_.front().has_pattern_chunk();
  outgoing_.pop_front();
  if (!ok) {
    outgoing_.clear();
    return;
  }
  SendNext();
  if (chunk) listener_.OnChunkSent();
}

void SessionCall::OnDone(const grpc::Status& status) {
  CallCount& calls = calls_;
  {
    MutexLock lock(link_->mutex);
    if (link_->call == this) link_->call = nullptr;
  }
  listener_.OnSessionClosed(refused_.ok() ? ExplainConnectError("", FromGrpc(status)) : refused_);
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

namespace {

// Largest message from an agent: a coalesced batch of frames with its traces, and room.
constexpr int kMaxMessageBytes = 64 << 20;
// A description has some hundred directories at most.
constexpr size_t kMaxDescriptionBytes = size_t{8} << 20;
constexpr uint64_t kDescriptionBudgetBytes = uint64_t{32} << 20;

constexpr char kDescribeMethod[] = "/plimsoll.v1.Agent/Describe";

absl::StatusOr<v1::HostDescription> ParseDescription(const grpc::ByteBuffer& received) {
  if (received.Length() > kMaxDescriptionBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("its description has ", received.Length(), " bytes, more than ", kMaxDescriptionBytes));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const Received bytes, Received::Read(received));
  v1::HostDescription description;
  PLIMSOLL_RETURN_IF_ERROR(CheckParseBudget(*description.descriptor(), bytes.bytes(), kDescriptionBudgetBytes));
  PLIMSOLL_RETURN_IF_ERROR(bytes.Parse(description));
  return description;
}

class DescribeCall {
 public:
  // Reports why a call found no agent to answer it. It takes a while.
  using Diagnose = std::function<absl::Status(const absl::Status& failure)>;

  static void Start(const std::shared_ptr<grpc::Channel>& channel, v1::DescribeRequest request, int64_t timeout_ns,
                    AgentListener& listener, CallCount& calls, Diagnose diagnose) {
    calls.Begin();
    auto* call = new DescribeCall;  // deletes itself when the answer came
    call->request_ = std::move(request);
    call->request_.set_protocol_version(kProtocolVersion);
    call->context_.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(timeout_ns));
    call->stub_ = std::make_unique<Stub>(channel);
    call->stub_->UnaryCall(
        &call->context_, kDescribeMethod, {}, &call->request_, &call->response_,
        [call, timeout_ns, &listener, &calls, diagnose = std::move(diagnose)](const grpc::Status& status) {
          absl::StatusOr<v1::HostDescription> description;
          if (status.ok()) description = ParseDescription(call->response_);
          delete call;
          if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
            // gRPC's threads must not wait. The client's destructor waits for this one.
            std::thread([failure = FromGrpc(status), &listener, &calls, diagnose]() mutable {
              listener.OnDescribed(std::exchange(diagnose, nullptr)(failure));
              calls.End();
            }).detach();
            return;
          }
          if (status.ok()) {
            listener.OnDescribed(std::move(description));
          } else if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
            listener.OnDescribed(
                absl::DeadlineExceededError(absl::StrCat("it did not answer within ", FormatDuration(timeout_ns),
                                                         ": is the host down, or does a file system there hang?")));
          } else if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
            // gRPC's own word for it may be empty.
            listener.OnDescribed(
                absl::UnimplementedError("not a Plimsoll agent, but another gRPC service; check the port"));
          } else {
            listener.OnDescribed(FromGrpc(status));
          }
          calls.End();
        });
  }

 private:
  using Stub = grpc::TemplatedGenericStub<v1::DescribeRequest, grpc::ByteBuffer>;

  std::unique_ptr<Stub> stub_;
  grpc::ClientContext context_;
  v1::DescribeRequest request_;
  grpc::ByteBuffer response_;
};

// One Renew over a connection of its own, which goes with the call. `under_way` is true until then.
class RenewCall {
 public:
  static void Start(const std::shared_ptr<grpc::Channel>& channel, v1::RenewRequest request, int64_t timeout_ns,
                    AgentListener& listener, CallCount& calls, std::atomic<bool>& under_way) {
    calls.Begin();
    auto* call = new RenewCall;  // deletes itself when the answer came
    call->stub_ = v1::Agent::NewStub(channel);
    call->request_ = std::move(request);
    call->context_.set_wait_for_ready(true);
    call->context_.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(timeout_ns));
    call->stub_->async()->Renew(&call->context_, &call->request_, &call->response_,
                                [call, &listener, &calls, &under_way](const grpc::Status& status) {
                                  delete call;
                                  under_way = false;
                                  if (status.ok()) listener.OnRenewed();
                                  calls.End();
                                });
  }

 private:
  std::unique_ptr<v1::Agent::Stub> stub_;
  grpc::ClientContext context_;
  v1::RenewRequest request_;
  v1::RenewReply response_;
};

// The probe stream. Lives until its OnDone; the client only ever touches it under the lock that OnDone takes to detach
// it.
class ProbeStream final : public grpc::ClientBidiReactor<v1::ClockProbe, v1::ClockReply> {
 public:
  struct Link {
    Mutex mutex;
    ProbeStream* stream ABSL_GUARDED_BY(mutex) = nullptr;
  };

  static void Probe(v1::Agent::Stub& stub, const std::shared_ptr<Link>& link, int count, const Clock& clock,
                    AgentListener& listener, CallCount& calls) {
    MutexLock lock(link->mutex);
    if (link->stream == nullptr) {
      calls.Begin();
      link->stream = new ProbeStream(link, clock, listener, calls);
      stub.async()->SyncClock(&link->stream->context_, link->stream);
      link->stream->AddHold();  // until Cancel or the stream's end: probes start outside of reactions
      link->stream->StartCall();
    }
    link->stream->wanted_ += count;
    link->stream->SendNext();
  }

  static void Cancel(Link& link) {
    MutexLock lock(link.mutex);
    if (link.stream == nullptr) return;
    link.stream->context_.TryCancel();
    link.stream->LetGo();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;  // the read fails too, and ends the stream
    MutexLock lock(link_->mutex);
    writing_ = false;
    SendNext();
  }

  void OnReadDone(bool ok) override {
    const MonotonicNs received = clock_.Now();
    MutexLock lock(link_->mutex);
    if (!ok) {
      Report();
      LetGo();
      return;
    }
    if (reply_.id() == probe_.id()) {
      v1::ProbeResult& result = *batch_.add_probes();
      result.set_sent_ns(sent_.value);
      result.set_agent_received_ns(reply_.received_ns());
      result.set_agent_sent_ns(reply_.sent_ns());
      result.set_received_ns(received.value);
      result.set_agent_wall_clock_ns(reply_.wall_clock_ns());
    }
    reading_ = false;
    --wanted_;
    if (wanted_ == 0) Report();
    SendNext();
  }

  void OnDone(const grpc::Status& /*status*/) override {
    CallCount& calls = calls_;
    {
      MutexLock lock(link_->mutex);
      if (link_->stream == this) link_->stream = nullptr;
    }
    delete this;
    calls.End();
  }

 private:
  ProbeStream(std::shared_ptr<Link> link, const Clock& clock, AgentListener& listener, CallCount& calls)
      : link_(std::move(link)), clock_(clock), listener_(listener), calls_(calls) {}

  // The three below: under link_->mutex.
  void SendNext() {
    // The answer may be here before the write is reported done.
    if (reading_ || writing_ || wanted_ == 0 || let_go_) return;
    reading_ = writing_ = true;
    probe_.set_id(probe_.id() + 1);
    StartRead(&reply_);
    sent_ = clock_.Now();
    StartWrite(&probe_);
  }
  void Report() { listener_.OnProbes(std::exchange(batch_, {})); }
  void LetGo()
      ABSL_NO_THREAD_SAFETY_ANALYSIS {  // callers reach the lock by another name, which the analysis cannot equate
    if (let_go_) return;
    let_go_ = true;
    if (link_->stream == this) link_->stream = nullptr;
    RemoveHold();
  }

  const std::shared_ptr<Link> link_;
  const Clock& clock_;
  AgentListener& listener_;
  CallCount& calls_;
  grpc::ClientContext context_;
  v1::ClockProbe probe_;
  v1::ClockReply reply_;
  v1::ProbeBatch batch_;
  MonotonicNs sent_;
  int wanted_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool let_go_ = false;
};

class GrpcAgentClient final : public AgentClient {
 public:
  GrpcAgentClient(const std::string& address, const Clock& clock, AgentListener& listener,
                  std::shared_ptr<const AgentTrust> trust, const std::string& beside_key)
      : address_(address),
        clock_(clock),
        listener_(listener),
        trust_(trust == nullptr ? std::make_shared<const AgentTrust>() : std::move(trust)),
        beside_key_(beside_key) {
    SilenceGrpc();
    channel_ = Connect();
    stub_ = v1::Agent::NewStub(channel_);
  }

  ~GrpcAgentClient() override {
    EndStreams();
    calls_.WaitForNone();
  }
  void BeginEnd() override { EndStreams(); }

  void Describe(v1::DescribeRequest request, int64_t timeout_ns) override {
    if (absl::Status status = AgentTrust::CheckSocketOwner(address_); !status.ok()) {
      listener_.OnDescribed(std::move(status));
      return;
    }
    DescribeCall::Start(channel_, std::move(request), timeout_ns, listener_, calls_,
                        [address = address_, trust = trust_](const absl::Status& failure) -> absl::Status {
                          const std::string why = DiagnoseHandshake(address, *trust);
                          return why.empty() ? ExplainConnectError(address, failure) : absl::PermissionDeniedError(why);
                        });
  }
  void Probe(int count) override { ProbeStream::Probe(*stub_, probe_link_, count, clock_, listener_, calls_); }
  void OpenSession() override { SessionCall::Open(channel_, session_link_, listener_, calls_, beside_key_); }
  void Send(v1::ControllerMessage message) override { SessionCall::Send(*session_link_, std::move(message)); }
  void ReadOn() override { SessionCall::ReadOn(*session_link_); }
  void CloseSession() override { SessionCall::Cancel(*session_link_); }
  void Renew(v1::RenewRequest request, int64_t timeout_ns) override {
    // A host that cannot be reached is not asked again before it is known: each would be one more connection.
    if (renewing_.exchange(true)) return;
    RenewCall::Start(Connect(), std::move(request), timeout_ns, listener_, calls_, renewing_);
  }

 private:
  void EndStreams() {
    ProbeStream::Cancel(*probe_link_);
    SessionCall::Cancel(*session_link_);
  }

  // A channel with connections of its own.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    // A proxy has no place between a controller and its agents; each agent has a connection of its own.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, trust_->CredentialsFor(address_), arguments);
  }

  const std::string address_;
  const Clock& clock_;
  AgentListener& listener_;
  const std::shared_ptr<const AgentTrust> trust_;
  const std::string beside_key_;
  CallCount calls_;
  std::atomic<bool> renewing_{false};
  const std::shared_ptr<ProbeStream::Link> probe_link_ = std::make_shared<ProbeStream::Link>();
  const std::shared_ptr<SessionCall::Link> session_link_ = std::make_shared<SessionCall::Link>();
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

}  // namespace

std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& address, const Clock& clock,
                                                 AgentListener& listener, std::shared_ptr<const AgentTrust> trust,
                                                 const std::string& beside_key) {
  return std::make_unique<GrpcAgentClient>(address, clock, listener, std::move(trust), beside_key);
}

}  // namespace plimsoll
