// The controller's client against the agent's service, over real sockets, with fake work behind it.
#include "controller/run/grpc_agent_client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <deque>

#include "absl/strings/str_cat.h"
#include "agent/session/agent_service.h"
#include "common/unique_fd.h"
#include "common/units.h"
#include "common/version.h"
#include "tests/status_matchers.h"
#include "tests/unit/session/fake_work.h"

namespace plimsoll {
namespace {

using testing::FakeWork;
using testing::FakeWorkState;
using testing::IsOk;
using testing::StatusIs;

// Keeps what comes, and lets a test wait for it.
class Inbox final : public AgentListener {
 public:
  void OnDescribed(absl::StatusOr<v1::HostDescription> description) override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { descriptions_.push_back(std::move(description)); });
  }
  bool OnMessage(v1::AgentMessage message) override {
    With([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { messages_.push_back(std::move(message)); });
    return !has_enough_;
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

  // From now on the inbox has enough after each message.
  void HaveEnough(bool has_enough) { has_enough_ = has_enough; }
  size_t messages() {
    MutexLock lock(mutex_);
    return messages_.size();
  }
  void AwaitRenewal() { Await(renewals_); }
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
  Mutex mutex_;
  CondVar changed_;
  std::deque<absl::StatusOr<v1::HostDescription>> descriptions_;
  std::deque<v1::AgentMessage> messages_;
  std::deque<absl::Status> closed_;
  std::deque<v1::ProbeBatch> probes_;
  std::deque<bool> renewals_;
};

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
      return description;
    };
    options.make_work = [this](const v1::HostPlan&, const std::atomic<int64_t>&, WorkSink& sink) {
      return absl::StatusOr<std::unique_ptr<LogWork>>(std::make_unique<FakeWork>(work_, sink));
    };
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

  static v1::ControllerMessage Prepare(int64_t lease_ns = 10 * kNsPerSecond) {
    v1::ControllerMessage message;
    message.mutable_prepare()->set_protocol_version(kProtocolVersion);
    message.mutable_prepare()->mutable_plan()->set_run_id("7f3a21");
    message.mutable_prepare()->mutable_plan()->set_lease_ns(lease_ns);
    message.mutable_prepare()->mutable_plan()->set_run_token(kToken);
    return message;
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
  static constexpr char kToken[] = "0123456789abcdef";
  const SystemClock clock_;
  const std::shared_ptr<FakeWorkState> work_ = std::make_shared<FakeWorkState>();
  std::unique_ptr<AgentService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  Inbox inbox_;
};

TEST_F(GrpcAgentClientTest, DescribesTheHostAndItsDirectories) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  v1::DescribeRequest request;
  request.add_directories("/mnt/a");
  request.add_directories("/mnt/b");
  client->Describe(request, 5 * kNsPerSecond);
  const auto description = inbox_.AwaitDescription();
  ASSERT_THAT(description, IsOk());
  EXPECT_EQ(description->name(), "alpha");
  ASSERT_EQ(description->directories_size(), 2);
  EXPECT_EQ(description->directories(1).path(), "/mnt/b");
  EXPECT_FALSE(description->has_holder());
}

TEST_F(GrpcAgentClientTest, AsksForNoMoreThanSixteenDirectories) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  v1::DescribeRequest request;
  for (int i = 0; i < 16; ++i) request.add_directories("/mnt");
  client->Describe(request, 60 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(), IsOk());
  request.add_directories("/mnt");
  client->Describe(request, 60 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(), StatusIs(absl::StatusCode::kInvalidArgument, "more than 16"));
}

TEST_F(GrpcAgentClientTest, ASearchEndsWithItsCallerAndTheNextOneWaitsForIt) {
  const auto stub = v1::Agent::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::DescribeRequest request;
  request.set_protocol_version(kProtocolVersion);
  request.set_look_for_queue_managers(true);
  request.add_directories("/mnt");
  grpc::CompletionQueue queue;
  v1::HostDescription ignored;
  grpc::Status status;
  const auto call = stub->AsyncDescribe(&context, request, &queue);
  call->Finish(&ignored, &status, nullptr);
  AwaitSearches(1);
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->Describe(request, 60 * kNsPerSecond);
  context.TryCancel();
  EXPECT_THAT(inbox_.AwaitDescription(), IsOk());
  AwaitSearches(2);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(GrpcAgentClientTest, ASearchEndsWhenTheAgentShutsDown) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  v1::DescribeRequest request;
  request.set_look_for_queue_managers(true);
  request.add_directories("/mnt");
  client->Describe(request, 600 * kNsPerSecond);
  AwaitSearches(1);
  service_->Shutdown("the test ends");
  EXPECT_EQ(service_->WaitForEnd(600 * kNsPerSecond), "");
  EXPECT_THAT(inbox_.AwaitDescription(), IsOk());
}

TEST_F(GrpcAgentClientTest, SaysThatNobodyListens) {
  server_->Shutdown();
  server_ = nullptr;
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->Describe({}, 5 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(), StatusIs(absl::StatusCode::kUnavailable, ""));
}

TEST_F(GrpcAgentClientTest, ProbesBracketTheAgentsClock) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->Probe(20);
  const v1::ProbeBatch batch = inbox_.AwaitProbes();
  ASSERT_EQ(batch.probes_size(), 20);
  int64_t previous = 0;
  for (const v1::ProbeResult& probe : batch.probes()) {
    // One machine, one clock: all four stamps are in order.
    EXPECT_LE(previous, probe.sent_ns());
    EXPECT_LE(probe.sent_ns(), probe.agent_received_ns());
    EXPECT_LE(probe.agent_received_ns(), probe.agent_sent_ns());
    EXPECT_LE(probe.agent_sent_ns(), probe.received_ns());
    previous = probe.received_ns();
  }
  client->Probe(1);
  EXPECT_EQ(inbox_.AwaitProbes().probes_size(), 1) << "the stream stays open for more";
}

TEST_F(GrpcAgentClientTest, RunsASessionFromPrepareToRelease) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kPrepared).prepared().directory(), "/fake");
  v1::ControllerMessage arm;
  arm.mutable_arm()->set_start_ns(42);
  client->Send(arm);
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kArmed).armed().start_ns(), 42);
  client->Send(Release());
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kReleased).released().removed_files(), 3U);
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
}

TEST_F(GrpcAgentClientTest, ASecondSessionIsToldWhoHoldsTheAgent) {
  const auto first = MakeGrpcAgentClient(address_, clock_, inbox_);
  first->OpenSession();
  first->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  Inbox second_inbox;
  const auto second = MakeGrpcAgentClient(address_, clock_, second_inbox);
  second->Describe({}, 5 * kNsPerSecond);
  EXPECT_EQ(second_inbox.AwaitDescription()->holder().run_id(), "7f3a21");
  second->OpenSession();
  EXPECT_THAT(second_inbox.AwaitClosed(), StatusIs(absl::StatusCode::kResourceExhausted, "run 7f3a21"));
  first->Send(Release());
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
  // The agent is free again.
  second->OpenSession();
  second->Send(Prepare());
  second_inbox.AwaitMessage(v1::AgentMessage::kPrepared);
}

TEST_F(GrpcAgentClientTest, AControllerThatGoesAwayLeavesNothingBehind) {
  {
    const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
    client->OpenSession();
    client->Send(Prepare());
    inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  }
  work_->AwaitRelease();
  EXPECT_FALSE(work_->kept());
}

TEST_F(GrpcAgentClientTest, ASilentControllerLosesItsLease) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare(50 * kNsPerMs));
  inbox_.AwaitMessage(v1::AgentMessage::kFault);
  EXPECT_THAT(inbox_.AwaitClosed(), StatusIs(absl::StatusCode::kDeadlineExceeded, "lease"));
  EXPECT_TRUE(work_->released());
}

TEST_F(GrpcAgentClientTest, AnotherProtocolVersionIsRefusedInOneSentence) {
  const auto stub = v1::Agent::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::DescribeRequest request;
  request.set_protocol_version(kProtocolVersion + 1);
  v1::HostDescription response;
  const grpc::Status status = stub->Describe(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("install the same version"), std::string::npos);
}

TEST_F(GrpcAgentClientTest, AnAgentThatShutsDownEndsItsSession) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  service_->Shutdown("the agent was told to end");
  inbox_.AwaitMessage(v1::AgentMessage::kReleased);
  EXPECT_THAT(inbox_.AwaitClosed(), StatusIs(absl::StatusCode::kCancelled, "told to end"));
}

TEST_F(GrpcAgentClientTest, ARenewalKeepsTheLeaseOfASilentController) {
  constexpr int64_t kLeaseNs = 500 * kNsPerMs;
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare(kLeaseNs));
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  // For three times as long as the lease nothing else is said.
  const MonotonicNs begin = clock_.Now();
  while (clock_.Now() - begin < 3 * kLeaseNs) {
    client->Renew(Renewal(kToken), 5 * kNsPerSecond);
    inbox_.AwaitRenewal();
  }
  client->Send(Release());
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
}

TEST_F(GrpcAgentClientTest, AListenerThatHasEnoughIsGivenNothingUntilItReadsOn) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  inbox_.HaveEnough(true);
  const auto send_heartbeat = [&client](uint64_t id) {
    v1::ControllerMessage message;
    message.mutable_heartbeat()->set_id(id);
    client->Send(std::move(message));
  };
  send_heartbeat(1);
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kAlive).alive().id(), 1U);
  constexpr uint64_t kLast = 5;
  for (uint64_t id = 2; id <= kLast; ++id) send_heartbeat(id);
  // The agent is heard over another connection meanwhile, and has sent its other answers.
  for (int i = 0; i < 3; ++i) {
    client->Renew(Renewal(kToken), 5 * kNsPerSecond);
    inbox_.AwaitRenewal();
  }
  EXPECT_EQ(inbox_.messages(), 0U);
  client->ReadOn();
  // The agent may have answered several at once.
  uint64_t answered = inbox_.AwaitMessage(v1::AgentMessage::kAlive).alive().id();
  EXPECT_GE(answered, 2U);
  inbox_.HaveEnough(false);
  client->ReadOn();
  while (answered < kLast) answered = inbox_.AwaitMessage(v1::AgentMessage::kAlive).alive().id();
  client->Send(Release());
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
}

TEST_F(GrpcAgentClientTest, AClientEndsWhileItsListenerHasEnough) {
  auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  inbox_.HaveEnough(true);
  v1::ControllerMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_id(1);
  client->Send(std::move(heartbeat));
  inbox_.AwaitMessage(v1::AgentMessage::kAlive);
  client.reset();
  inbox_.AwaitClosed().IgnoreError();
}

TEST_F(GrpcAgentClientTest, AHostThatDoesNotAnswerIsReconnectedToOneAtATime) {
  // Connections are made, and nobody speaks on them.
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 100), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  {
    const auto client = MakeGrpcAgentClient(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)), clock_, inbox_);
    for (int i = 0; i < 20; ++i) client->Renew(Renewal(kToken), kNsPerSecond);
  }  // waits for all of them
  int connections = 0;
  while (UniqueFd(accept(listener.get(), nullptr, nullptr)).valid()) ++connections;
  EXPECT_EQ(connections, 1);
}

TEST_F(GrpcAgentClientTest, NobodyButTheRunItselfRenewsItsLease) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  const auto stub = v1::Agent::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  v1::RenewReply reply;
  for (const char* token : {"", "0123456789abcdeX"}) {
    grpc::ClientContext context;
    EXPECT_EQ(stub->Renew(&context, Renewal(token), &reply).error_code(), grpc::StatusCode::NOT_FOUND);
  }
  client->Send(Release());
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
  grpc::ClientContext context;
  EXPECT_EQ(stub->Renew(&context, Renewal(kToken), &reply).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(GrpcAgentClientTest, AnAgentThatHangsSaysSoAndLooksAtNoDirectory) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  v1::InFlight write;
  write.set_qm(2);
  write.set_age_ns(75 * kNsPerSecond);
  write.set_path("/fake/qm2/active/S0000001.LOG");
  work_->ShowInFlight(write);
  v1::DescribeRequest request;
  request.add_directories("/mnt/a");
  client->Describe(request, 5 * kNsPerSecond);
  const auto description = inbox_.AwaitDescription();
  ASSERT_THAT(description, IsOk());
  EXPECT_EQ(description->holder().doing(),
            "ready; qm2 has been in one write to /fake/qm2/active/S0000001.LOG for 75 s");
  ASSERT_EQ(description->directories_size(), 1);
  EXPECT_NE(description->directories(0).error().find("hangs"), std::string::npos);
}

TEST_F(GrpcAgentClientTest, AnAgentThatIsToEndSaysWhatHangsOnceNothingGetsOn) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  client->Send(Prepare());
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  work_->BlockWrites(true);
  service_->Shutdown("the agent was told to end");
  const std::string hangs = service_->WaitForEnd(200 * kNsPerMs);
  EXPECT_NE(hangs.find("busy with run 7f3a21"), std::string::npos) << hangs;
  EXPECT_NE(hangs.find("its files stay in /fake/plimsoll-7f3a21/alpha"), std::string::npos) << hangs;
  work_->BlockWrites(false);
  EXPECT_EQ(service_->WaitForEnd(5 * kNsPerSecond), "");
}

// Asks an agent that never answers, and lets go of the client at once, some times.
void AskInVain() {
  mallopt(M_PERTURB, 0xa5);  // what is freed is overwritten: who still uses it does not get far
  const UniqueFd silent(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(silent.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(silent.get(), 8), 0);
  ASSERT_EQ(getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  // A call that takes long to clear away is still there when its answer has long been told.
  v1::DescribeRequest large;
  for (int i = 0; i < 20'000; ++i) large.add_directories("/a/directory/with/a/name/that/needs/memory/of/its/own");
  const SystemClock clock;
  for (int i = 0; i < 5; ++i) {
    Inbox inbox;
    const auto client = MakeGrpcAgentClient(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)), clock, inbox);
    client->Describe(large, 10 * kNsPerMs);
    ASSERT_THAT(inbox.AwaitDescription(), StatusIs(absl::StatusCode::kDeadlineExceeded, "did not answer"));
  }
}

// In processes of their own: where a server is up, gRPC keeps the threads that run reactions for longer than a client,
// and whether they are ended wrongly is decided once in each process.
TEST(GrpcAgentClientDeathTest, AClientMayGoAsSoonAsItsLastCallIsAnswered) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 10; ++i) {
    const auto ask = [] {
      AskInVain();
      std::exit(HasFailure() ? 1 : 0);
    };
    ASSERT_EXIT(ask(), ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace plimsoll
