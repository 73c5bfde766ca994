#include "agent/service/agent_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/protocol.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// More at once would mean that the file system hangs, or that somebody floods the agent.
constexpr int kMaxDescribing = 8;
// How often a Describe that waits for another's search looks whether its caller is still there.
constexpr std::chrono::milliseconds kLookAtCaller{50};
// How often an agent that is stopping checks whether its session makes progress.
constexpr std::chrono::milliseconds kLookAtProgress{100};

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

// A call that is refused before it begins.
template <typename Request, typename Response>
class Refusal final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  explicit Refusal(grpc::Status status) { this->Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

// Answers probes in turn, each stamped as soon as it has been read.
class ClockReactor final : public grpc::ServerBidiReactor<v1::ClockProbe, v1::ClockReply> {
 public:
  explicit ClockReactor(const Clock& clock) : clock_(clock) { StartRead(&probe_); }

  void OnReadDone(bool ok) override {
    const MonotonicNs received = clock_.Now();
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    reply_.set_id(probe_.id());
    reply_.set_received_ns(received.value);
    reply_.set_wall_clock_ns(clock_.WallNow().value);
    reply_.set_sent_ns(clock_.Now().value);
    StartWrite(&reply_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      StartRead(&probe_);
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  const Clock& clock_;
  v1::ClockProbe probe_;
  v1::ClockReply reply_;
};

// gRPC's "ipv4:127.0.0.1:4711" and "ipv6:%5B::1%5D:4711" as "127.0.0.1:4711" and "[::1]:4711".
std::string PeerText(const std::string& peer) {
  for (const char* family : {"ipv4:", "ipv6:"}) {
    if (!absl::StartsWith(peer, family)) continue;
    return absl::StrReplaceAll(peer.substr(std::strlen(family)), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  }
  return peer == "unix:" ? "a local socket" : peer;
}

}  // namespace

// The stream of one session. The reactor goes when gRPC is done with it; the link, which the session's callbacks hold,
// stays and then leads nowhere.
class AgentService::SessionStream final : public grpc::ServerBidiReactor<v1::ControllerMessage, v1::AgentMessage> {
 public:
  struct Link {
    Mutex mutex;
    SessionStream* stream ABSL_GUARDED_BY(mutex) = nullptr;
  };

  SessionStream(std::shared_ptr<Link> link, std::shared_ptr<plimsoll::Session> session)
      : link_(std::move(link)), session_(std::move(session)) {}

  // Begins to read and to write; messages may already wait.
  void Start() {
    {
      MutexLock lock(link_->mutex);
      link_->stream = this;
      SendNext();
    }
    StartRead(&incoming_);
  }

  static void Wake(Link& link) {
    MutexLock lock(link.mutex);
    if (link.stream != nullptr) link.stream->SendNext();
  }

  // The session is over: what is in the outbox goes out, then the status.
  static void FinishWhenSent(Link& link, const absl::Status& status) {
    MutexLock lock(link.mutex);
    if (link.stream == nullptr) return;
    link.stream->end_ = ToGrpc(status);
    link.stream->SendNext();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      session_->Break("the controller closed its stream");
      return;
    }
    session_->Deliver(std::move(incoming_));
    incoming_.Clear();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) session_->Break("the controller is gone");
    MutexLock lock(link_->mutex);
    writing_ = false;
    if (!ok) session_->outbox().Close();
    SendNext();
  }

  void OnCancel() override {
    session_->Break("the controller is gone");
    session_->outbox().Close();
  }

  void OnDone() override {
    {
      MutexLock lock(link_->mutex);
      link_->stream = nullptr;
    }
    delete this;
  }

 private:
  void SendNext() ABSL_NO_THREAD_SAFETY_ANALYSIS {  // called under link_->mutex, which the analysis cannot name
    if (writing_ || finished_) return;
    if (std::optional<v1::AgentMessage> next = session_->outbox().Pop(); next.has_value()) {
      outgoing_ = *std::move(next);
      writing_ = true;
      StartWrite(&outgoing_);
    } else if (end_.has_value()) {
      finished_ = true;
      Finish(*end_);
    }
  }

  const std::shared_ptr<Link> link_;
  const std::shared_ptr<plimsoll::Session> session_;
  v1::ControllerMessage incoming_;
  v1::AgentMessage outgoing_;
  // Guarded by link_->mutex.
  bool writing_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> end_;
};

AgentService::AgentService(Options options) : options_(std::move(options)), idle_since_(options_.clock->Now()) {}

AgentService::~AgentService() {
  Shutdown("the agent shuts down");
  WaitForSession();
  MutexLock lock(mutex_);
  while (describing_ > 0) changed_.Wait(mutex_);
}

std::vector<std::shared_ptr<plimsoll::Session>> AgentService::Serving() const {
  std::vector<std::shared_ptr<plimsoll::Session>> serving;
  std::copy_if(sessions_.begin(), sessions_.end(), std::back_inserter(serving),
               [](const auto& session) { return !session->over(); });
  return serving;
}

std::vector<std::shared_ptr<plimsoll::Session>> AgentService::StopServing() {
  MutexLock lock(mutex_);
  shut_down_ = true;
  return sessions_;
}

void AgentService::Shutdown(const std::string& reason) {
  for (const auto& session : StopServing()) session->Shutdown(reason);
}

void AgentService::Abandon(const std::string& reason) {
  for (const auto& session : StopServing()) session->Break(reason);
}

int64_t AgentService::CloseWhenIdle(int64_t limit_ns) {
  MutexLock lock(mutex_);
  if (!Serving().empty()) return limit_ns;
  const int64_t left_ns = limit_ns - (options_.clock->Now() - idle_since_);
  if (left_ns > 0) return left_ns;
  shut_down_ = true;
  return 0;
}

int64_t AgentService::LeaseNs() {
  MutexLock lock(mutex_);
  int64_t longest_ns = 0;
  for (const auto& session : Serving()) longest_ns = std::max(longest_ns, session->lease_ns());
  return longest_ns;
}

void AgentService::WaitForSession() {
  MutexLock lock(mutex_);
  while (!Serving().empty()) changed_.Wait(mutex_);
}

std::string AgentService::WaitForEnd(int64_t patience_ns) {
  uint64_t progress = 0;
  MonotonicNs progressed = options_.clock->Now();
  MutexLock lock(mutex_);
  while (true) {
    const auto serving = Serving();
    if (serving.empty() && describing_ == 0) return "";
    auto now_at = static_cast<uint64_t>(describing_);
    for (const auto& session : serving) now_at += session->Progress();
    const MonotonicNs now = options_.clock->Now();
    if (now_at != progress) {
      progress = now_at;
      progressed = now;
    }
    if (now - progressed >= patience_ns) {
      if (serving.empty()) return "listing a directory does not return";
      std::vector<std::string> busy;
      for (const auto& session : serving) {
        const std::string left = session->Directory();
        busy.push_back(
            absl::StrCat("busy with ", session->Describe(), left.empty() ? "" : "; its files stay in ", left));
      }
      return absl::StrJoin(busy, "; ");
    }
    changed_.WaitFor(mutex_, kLookAtProgress);
  }
}

void AgentService::SessionOver() {
  MutexLock lock(mutex_);
  idle_since_ = options_.clock->Now();
  changed_.NotifyAll();
}

bool AgentService::BeginSearch(const std::function<bool()>& cancelled) {
  while (!cancelled()) {
    MutexLock lock(mutex_);
    if (!searching_) return searching_ = true;
    changed_.WaitFor(mutex_, kLookAtCaller);
  }
  return false;
}

void AgentService::EndSearch() {
  MutexLock lock(mutex_);
  searching_ = false;
  changed_.NotifyAll();
}

void AgentService::EndOfDescribe() {
  MutexLock lock(mutex_);
  --describing_;
  changed_.NotifyAll();
}

grpc::ServerUnaryReactor* AgentService::Describe(grpc::CallbackServerContext* context,
                                                 const v1::DescribeRequest* request, v1::HostDescription* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  bool hangs = false;
  if (request->protocol_version() != kProtocolVersion) {
    reactor->Finish({grpc::StatusCode::FAILED_PRECONDITION,
                     absl::StrCat("agent ", kVersion, " speaks protocol ", kProtocolVersion, ", the controller ",
                                  request->protocol_version(), ": install the same version on both")});
    return reactor;
  }
  if (static_cast<size_t>(request->directories_size()) > kMaxDirectories) {
    reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, absl::StrCat("asked for ", request->directories_size(),
                                                                      " directories, more than ", kMaxDirectories)});
    return reactor;
  }
  {
    MutexLock lock(mutex_);
    if (shut_down_ || describing_ >= kMaxDescribing) {
      reactor->Finish({grpc::StatusCode::UNAVAILABLE,
                       shut_down_ ? "the agent shuts down" : "earlier requests hang: is a file system hung?"});
      return reactor;
    }
    ++describing_;
    // A controller that reads counters again and again needs the agent without a session.
    if (!request->counters_of_mount().empty()) idle_since_ = options_.clock->Now();
    for (const auto& session : Serving()) {
      const bool session_hangs = session->Hangs();
      hangs = hangs || session_hangs;
      if (response->has_holder()) continue;
      *response->mutable_holder() = session->holder();
      if (session_hangs) continue;
      absl::StrAppend(response->mutable_holder()->mutable_doing(), "; without its controller the lease ends it within ",
                      FormatDuration(session->lease_ns()));
    }
  }
  // The request lives as long as the call, which ends with Finish.
  std::thread([this, context, reactor, request, response, hangs] {
    const auto cancelled = [this, context] {
      if (context->IsCancelled()) return true;
      MutexLock lock(mutex_);
      return shut_down_;
    };
    v1::DescribeRequest asked;
    // Who holds the agent and why it hangs must be reported, even if the storage cannot be examined.
    if (!hangs) asked = *request;
    // Counters are read without touching the storage.
    asked.set_counters_of_mount(request->counters_of_mount());
    // A search reads thousands of directory entries: one at a time.
    const bool searches = asked.look_for_queue_managers();
    if (searches && !BeginSearch(cancelled)) {
      reactor->Finish({grpc::StatusCode::CANCELLED, "the caller has left, or the agent ends"});
      EndOfDescribe();
      return;
    }
    v1::HostDescription description = options_.describe(asked, cancelled);
    if (searches) EndSearch();
    for (int i = asked.directories_size(); i < request->directories_size(); ++i) {
      v1::DirectoryDescription& directory = *description.add_directories();
      directory.set_path(request->directories(i));
      directory.set_error("not examined: a call to the storage hangs");
      directory.set_error_code(static_cast<int32_t>(absl::StatusCode::kUnavailable));
    }
    if (response->has_holder()) *description.mutable_holder() = response->holder();
    *description.mutable_limits() = options_.limits;
    *response = std::move(description);
    reactor->Finish(grpc::Status::OK);
    EndOfDescribe();
  }).detach();  // the destructor waits for it
  return reactor;
}

grpc::ServerBidiReactor<v1::ClockProbe, v1::ClockReply>* AgentService::SyncClock(
    grpc::CallbackServerContext* /*context*/) {
  return new ClockReactor(*options_.clock);
}

grpc::ServerUnaryReactor* AgentService::Renew(grpc::CallbackServerContext* context, const v1::RenewRequest* request,
                                              v1::RenewReply* /*response*/) {
  std::vector<std::shared_ptr<plimsoll::Session>> sessions;
  {
    MutexLock lock(mutex_);
    sessions = sessions_;
  }
  const bool renewed = std::ranges::any_of(
      sessions, [request](const auto& session) { return session->Renew(request->run_id(), request->run_token()); });
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(renewed ? grpc::Status::OK
                          : grpc::Status(grpc::StatusCode::NOT_FOUND, "this agent has no such run (any more)"));
  return reactor;
}

grpc::ServerBidiReactor<v1::ControllerMessage, v1::AgentMessage>* AgentService::Session(
    grpc::CallbackServerContext* context) {
  using Stream = SessionStream;
  auto link = std::make_shared<Stream::Link>();
  plimsoll::Session::Options options;
  options.work = options_.work;
  options.clock = options_.clock;
  options.peer = PeerText(context->peer());
  options.wake = [link] { Stream::Wake(*link); };
  options.finished = [this, link](const absl::Status& status) {
    Stream::FinishWhenSent(*link, status);
    SessionOver();
  };
  const auto beside = context->client_metadata().find(kBesideKey);
  const std::string beside_key =
      beside == context->client_metadata().end() ? "" : std::string(beside->second.data(), beside->second.size());
  std::vector<std::shared_ptr<plimsoll::Session>> previous;  // go, with their threads, outside the lock
  std::shared_ptr<plimsoll::Session> session;
  {
    MutexLock lock(mutex_);
    if (shut_down_) {
      return new Refusal<v1::ControllerMessage, v1::AgentMessage>(
          {grpc::StatusCode::UNAVAILABLE, "the agent shuts down"});
    }
    const auto serving = Serving();
    if (!serving.empty() && !(serving.size() == 1 && serving.front()->MayBeJoined(beside_key))) {
      return new Refusal<v1::ControllerMessage, v1::AgentMessage>(
          {grpc::StatusCode::RESOURCE_EXHAUSTED, absl::StrCat("busy with ", serving.front()->Describe())});
    }
    options.caps = serving.empty() ? std::make_shared<SessionCaps>(options_.limits) : serving.front()->caps();
    session = std::make_shared<plimsoll::Session>(std::move(options));
    previous = std::exchange(sessions_, serving);
    sessions_.push_back(session);
  }
  if (!options_.insecure_warning.empty()) spdlog::warn("{}: {}", PeerText(context->peer()), options_.insecure_warning);
  auto* stream = new Stream(link, session);
  stream->Start();
  return stream;
}

}  // namespace plimsoll
