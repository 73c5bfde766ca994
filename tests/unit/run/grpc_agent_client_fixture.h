// The controller's client against the agent's service, over real sockets, with fake work behind it.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/service/agent_service.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "tests/unit/session/fake_work.h"

namespace plimsoll::tests {

// Keeps what comes, and lets a test wait for it.
class Inbox final : public AgentListener {
 public:
  void OnDescribed(absl::StatusOr<v1::HostDescription> description) override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { descriptions_.push_back(std::move(description)); });
  }
  bool OnMessage(v1::AgentMessage message) override {
    // Before a test that waits for the message can change it.
    const bool has_enough = has_enough_;
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { messages_.push_back(std::move(message)); });
    return !has_enough;
  }
  bool HasRoom() override {
    const bool has_room = has_room_;
    if (!has_room) With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { refusals_.push_back(true); });
    return has_room;
  }
  void OnSessionClosed(absl::Status status) override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { closed_.push_back(std::move(status)); });
  }
  void OnProbes(v1::ProbeBatch probes) override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { probes_.push_back(std::move(probes)); });
  }

  void OnRenewed() override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { renewals_.push_back(true); });
  }

  void OnChunkSent() override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { sent_chunks_.push_back(true); });
  }

  // Whether the inbox has room for a large message from now on, and its next answer that it has none.
  void HaveRoom(bool has_room) { has_room_ = has_room; }
  void AwaitNoRoom() { Await(refusals_); }
  // From now on the inbox has enough after each message.
  void HaveEnough(bool has_enough) { has_enough_ = has_enough; }
  size_t messages() {
    MutexLock lock(mutex_);
    return messages_.size();
  }
  void AwaitRenewal() { Await(renewals_); }
  void AwaitChunkSent() { Await(sent_chunks_); }
  absl::StatusOr<v1::HostDescription> AwaitDescription() { return Await(descriptions_); }
  absl::Status AwaitClosed() { return Await(closed_); }
  v1::ProbeBatch AwaitProbes() { return Await(probes_); }
  // The next message of that kind; others are dropped.
  v1::AgentMessage AwaitMessage(v1::AgentMessage::MessageCase wanted) {
    while (true) {
      v1::AgentMessage message = Await(messages_);
      if (message.message_case() == wanted) return message;
    }
  }

 private:
  template <typename Change>
  void With(const Change& change) {
    MutexLock lock(mutex_);
    change();
    changed_.NotifyAll();
  }
  template <typename T>
  T Await(std::deque<T>& queue) {
    MutexLock lock(mutex_);
    while (queue.empty()) changed_.Wait(mutex_);
    T front = std::move(queue.front());
    queue.pop_front();
    return front;
  }

  std::atomic<bool> has_enough_{false};
  std::atomic<bool> has_room_{true};
  Mutex mutex_;
  CondVar changed_;
  std::deque<absl::StatusOr<v1::HostDescription>> descriptions_;
  std::deque<v1::AgentMessage> messages_;
  std::deque<absl::Status> closed_;
  std::deque<v1::ProbeBatch> probes_;
  std::deque<bool> renewals_;
  std::deque<bool> sent_chunks_;
  std::deque<bool> refusals_;
};

// An agent that sends one message, and then waits for the end of the session.
class OneMessageAgent final : public v1::Agent::Service {
 public:
  explicit OneMessageAgent(v1::AgentMessage message) : message_(std::move(message)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~OneMessageAgent() override { server_->Shutdown(std::chrono::system_clock::now()); }
  const std::string& address() const { return address_; }

  grpc::Status Session(grpc::ServerContext* /*context*/,
                       grpc::ServerReaderWriter<v1::AgentMessage, v1::ControllerMessage>* stream) override {
    stream->Write(message_);
    v1::ControllerMessage ignored;
    while (stream->Read(&ignored)) {
    }
    return grpc::Status::OK;
  }

 private:
  const v1::AgentMessage message_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

// One agent's service, and the inbox of one client of it.
class GrpcAgentClientTest : public ::testing::Test {
 public:
  ~GrpcAgentClientTest() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

 protected:
  GrpcAgentClientTest() {
    AgentService::Options options;
    options.clock = &clock_;
    options.describe = [this](const v1::DescribeRequest& request, const std::function<bool()>& cancelled) {
      if (request.look_for_queue_managers()) Search(cancelled);
      v1::HostDescription description;
      description.set_name("alpha");
      description.set_protocol_version(kProtocolVersion);
      for (const std::string& path : request.directories()) description.add_directories()->set_path(path);
      for (size_t i = 0; i < empty_directories_; ++i) description.add_directories();
      return description;
    };
    options.work = FakeKinds(
        [this](const v1::HostPlan& plan, WorkSink& sink) { return std::make_unique<FakeWork>(work_, plan, sink); });
    service_ = std::make_unique<AgentService>(std::move(options));
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }

  // A search that goes on until nobody waits for it any more, but for the second one, which ends at once.
  void Search(const std::function<bool()>& cancelled) {
    {
      MutexLock lock(mutex_);
      ++searching_;
      ++searches_;
      EXPECT_EQ(searching_, 1) << "one at a time";
      changed_.NotifyAll();
      while (searches_ == 1 && !cancelled()) changed_.WaitFor(mutex_, std::chrono::milliseconds(1));
      --searching_;
    }
  }
  void AwaitSearches(int count) {
    MutexLock lock(mutex_);
    while (searches_ < count) changed_.Wait(mutex_);
  }

  // Sends what has the session prepared.
  static void Prepare(AgentClient& client, int64_t lease_ns = 10 * kNsPerSecond, const std::string& token = kToken,
                      const std::string& beside_key = "") {
    v1::ControllerMessage message;
    message.mutable_prepare()->set_protocol_version(kProtocolVersion);
    message.mutable_prepare()->mutable_plan()->set_run_id("7f3a21");
    message.mutable_prepare()->mutable_plan()->set_lease_ns(lease_ns);
    message.mutable_prepare()->mutable_plan()->set_run_token(token);
    message.mutable_prepare()->set_beside_key(beside_key);
    message.mutable_prepare()->mutable_plan()->mutable_log();
    client.Send(std::move(message));
    v1::ControllerMessage fill;
    fill.mutable_fill();
    client.Send(std::move(fill));
  }
  // How a session ends that another client opens with that key, for an agent that refuses it.
  absl::Status StatusOfSession(const std::string& beside_key) {
    Inbox inbox;
    const auto client = MakeGrpcAgentClient(address_, clock_, inbox, nullptr, beside_key);
    client->OpenSession();
    return inbox.AwaitClosed();
  }
  static v1::RenewRequest Renewal(const std::string& token) {
    v1::RenewRequest request;
    request.set_run_id("7f3a21");
    request.set_run_token(token);
    return request;
  }
  static v1::ControllerMessage Release() {
    v1::ControllerMessage message;
    message.mutable_release();
    return message;
  }

  Mutex mutex_;
  CondVar changed_;
  int searching_ ABSL_GUARDED_BY(mutex_) = 0;
  int searches_ ABSL_GUARDED_BY(mutex_) = 0;
  // In each description, beside those that were asked for.
  size_t empty_directories_ = 0;
  static constexpr char kToken[] = "0123456789abcdef";
  const SystemClock clock_;
  const std::shared_ptr<FakeWorkState> work_ = std::make_shared<FakeWorkState>();
  std::unique_ptr<AgentService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  Inbox inbox_;
};

}  // namespace plimsoll::tests
