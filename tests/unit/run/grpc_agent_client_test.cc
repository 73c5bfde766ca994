// What a client asks of an agent without a session, and how it connects.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "tests/testing.h"
#include "tests/unit/run/grpc_agent_client_fixture.h"

namespace plimsoll::tests {
namespace {

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
  for (int i = 0; i < 64; ++i) request.add_directories("/mnt");
  client->Describe(request, 60 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(), IsOk());
  request.add_directories("/mnt");
  client->Describe(request, 60 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(), StatusIs(absl::StatusCode::kInvalidArgument, "more than 64"));
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

TEST_F(GrpcAgentClientTest, ADescriptionThatWouldTakeTooMuchMemoryIsNotParsed) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  empty_directories_ = 600'000;  // two bytes each
  client->Describe({}, 60 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(),
              StatusIs(absl::StatusCode::kResourceExhausted, "bytes would take more than 32 MiB of memory"));
  empty_directories_ = 1'000;
  client->Describe({}, 60 * kNsPerSecond);
  EXPECT_THAT(inbox_.AwaitDescription(), IsOk());
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
}  // namespace plimsoll::tests
