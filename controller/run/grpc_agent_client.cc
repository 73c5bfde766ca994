#include "controller/run/grpc_agent_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "common/version.h"
#include "controller/run/grpc_call.h"
#include "controller/run/grpc_log.h"
#include "controller/run/handshake_diagnosis.h"
#include "controller/run/session_call.h"
#include "plimsoll/v1/agent.grpc.pb.h"

namespace plimsoll {
namespace {

// Largest message from an agent: a coalesced batch of frames with its traces, and room.
constexpr int kMaxMessageBytes = 64 << 20;
// A description has some hundred directories at most.
constexpr size_t kMaxDescriptionBytes = size_t{8} << 20;
constexpr uint64_t kDescriptionBudgetBytes = uint64_t{64} << 20;

constexpr char kDescribeMethod[] = "/plimsoll.v1.Agent/Describe";

absl::StatusOr<v1::HostDescription> ParseDescription(const grpc::ByteBuffer& received) {
  if (received.Length() > kMaxDescriptionBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("its description has ", received.Length(), " bytes, more than ", kMaxDescriptionBytes));
  }
  v1::HostDescription description;
  PLIMSOLL_RETURN_IF_ERROR(ParseReceived(received, kDescriptionBudgetBytes, description));
  return description;
}

class DescribeCall {
 public:
  // Says of a call that found nobody to answer why that is, where it can be told. It takes a while.
  using Diagnose = std::function<std::string()>;

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
              const std::string why = std::exchange(diagnose, nullptr)();
              listener.OnDescribed(why.empty() ? failure : absl::PermissionDeniedError(why));
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
            listener.OnDescribed(absl::UnimplementedError(
                "no plimsoll-agent listens there, but another gRPC service; check the address and the port"));
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
                  std::shared_ptr<const AgentTrust> trust)
      : address_(address),
        clock_(clock),
        listener_(listener),
        trust_(trust == nullptr ? std::make_shared<const AgentTrust>() : std::move(trust)) {
    SilenceGrpc();
    channel_ = Connect();
    stub_ = v1::Agent::NewStub(channel_);
  }

  ~GrpcAgentClient() override {
    ProbeStream::Cancel(*probe_link_);
    SessionCall::Cancel(*session_link_);
    calls_.WaitForNone();
  }

  void Describe(v1::DescribeRequest request, int64_t timeout_ns) override {
    if (absl::Status status = AgentTrust::CheckSocketOwner(address_); !status.ok()) {
      listener_.OnDescribed(std::move(status));
      return;
    }
    DescribeCall::Start(channel_, std::move(request), timeout_ns, listener_, calls_,
                        [address = address_, trust = trust_] { return DiagnoseHandshake(address, *trust); });
  }
  void Probe(int count) override { ProbeStream::Probe(*stub_, probe_link_, count, clock_, listener_, calls_); }
  void OpenSession() override { SessionCall::Open(channel_, session_link_, listener_, calls_); }
  void Send(v1::ControllerMessage message) override { SessionCall::Send(*session_link_, std::move(message)); }
  void ReadOn() override { SessionCall::ReadOn(*session_link_); }
  void CloseSession() override { SessionCall::Cancel(*session_link_); }
  void Renew(v1::RenewRequest request, int64_t timeout_ns) override {
    // A host that cannot be reached is not asked again before it is known: each would be one more connection.
    if (renewing_.exchange(true)) return;
    RenewCall::Start(Connect(), std::move(request), timeout_ns, listener_, calls_, renewing_);
  }

 private:
  // A channel with connections of its own.
  std::shared_ptr<grpc::Channel> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
    // A proxy has no place between a controller and its agents; one connection an agent, shared with nobody.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(address_, trust_->CredentialsFor(address_), arguments);
  }

  const std::string address_;
  const Clock& clock_;
  AgentListener& listener_;
  const std::shared_ptr<const AgentTrust> trust_;
  CallCount calls_;
  std::atomic<bool> renewing_{false};
  const std::shared_ptr<ProbeStream::Link> probe_link_ = std::make_shared<ProbeStream::Link>();
  const std::shared_ptr<SessionCall::Link> session_link_ = std::make_shared<SessionCall::Link>();
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Agent::Stub> stub_;
};

}  // namespace

std::unique_ptr<AgentClient> MakeGrpcAgentClient(const std::string& address, const Clock& clock,
                                                 AgentListener& listener, std::shared_ptr<const AgentTrust> trust) {
  return std::make_unique<GrpcAgentClient>(address, clock, listener, std::move(trust));
}

}  // namespace plimsoll
