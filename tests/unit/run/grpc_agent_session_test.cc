// A client's session with an agent, from Prepare to Release, its lease, and what hangs in it.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "common/units.h"
#include "controller/fleet/agent_client.h"
#include "tests/testing.h"
#include "tests/unit/run/grpc_agent_client_fixture.h"

namespace plimsoll::tests {
namespace {

TEST_F(GrpcAgentClientTest, RunsASessionFromPrepareToRelease) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  Prepare(*client);
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kPrepared).prepared().directory(), "/fake");
  v1::ControllerMessage arm;
  arm.mutable_arm()->set_start_ns(42);
  client->Send(arm);
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kArmed).armed().start_ns(), 42);
  client->Send(Release());
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kReleased).released().removed_files(), 3U);
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
}

TEST_F(GrpcAgentClientTest, ASecondSessionLearnsWhoHoldsTheAgent) {
  const auto first = MakeGrpcAgentClient(address_, clock_, inbox_);
  first->OpenSession();
  Prepare(*first);
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
  Prepare(*second);
  second_inbox.AwaitMessage(v1::AgentMessage::kPrepared);
}

TEST_F(GrpcAgentClientTest, OneMoreSessionIsHeldForWhoeverPresentsTheKeyOfTheFirst) {
  const std::string key = "fedcba9876543210";
  const std::string other_token = "00112233445566zz";
  const auto first = MakeGrpcAgentClient(address_, clock_, inbox_);
  first->OpenSession();
  Prepare(*first, 10 * kNsPerSecond, kToken, key);
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  // The token is in the journal and in the files.
  EXPECT_THAT(StatusOfSession(kToken), StatusIs(absl::StatusCode::kResourceExhausted, "run 7f3a21"));
  Inbox beside_inbox;
  const auto beside = MakeGrpcAgentClient(address_, clock_, beside_inbox, nullptr, key);
  beside->OpenSession();
  Prepare(*beside, 10 * kNsPerSecond, other_token);
  beside_inbox.AwaitMessage(v1::AgentMessage::kPrepared);
  EXPECT_THAT(StatusOfSession(key), StatusIs(absl::StatusCode::kResourceExhausted, "busy"));
  // Each has its lease, and ends by itself; the agent is busy until both have.
  first->Renew(Renewal(other_token), 5 * kNsPerSecond);
  inbox_.AwaitRenewal();
  first->Send(Release());
  EXPECT_THAT(inbox_.AwaitClosed(), IsOk());
  EXPECT_THAT(StatusOfSession(""), StatusIs(absl::StatusCode::kResourceExhausted, "busy"));
  service_->Shutdown("the agent was stopped");
  beside_inbox.AwaitMessage(v1::AgentMessage::kReleased);
  EXPECT_THAT(beside_inbox.AwaitClosed(), StatusIs(absl::StatusCode::kCancelled, "was stopped"));
}

TEST_F(GrpcAgentClientTest, WithoutAKeyNoSessionIsHeldBesideAnother) {
  const auto first = MakeGrpcAgentClient(address_, clock_, inbox_);
  first->OpenSession();
  Prepare(*first);
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  EXPECT_THAT(StatusOfSession(kToken), StatusIs(absl::StatusCode::kResourceExhausted, "run 7f3a21"));
}

TEST_F(GrpcAgentClientTest, AControllerThatGoesAwayLeavesNothingBehind) {
  {
    const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
    client->OpenSession();
    Prepare(*client);
    inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  }
  work_->AwaitRelease();
  EXPECT_FALSE(work_->kept());
}

TEST_F(GrpcAgentClientTest, ASilentControllerLosesItsLease) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  Prepare(*client, 50 * kNsPerMs);
  inbox_.AwaitMessage(v1::AgentMessage::kFault);
  EXPECT_THAT(inbox_.AwaitClosed(), StatusIs(absl::StatusCode::kDeadlineExceeded, "lease"));
  EXPECT_TRUE(work_->released());
}

TEST_F(GrpcAgentClientTest, AnAgentThatShutsDownEndsItsSession) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  Prepare(*client);
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  service_->Shutdown("the agent was stopped");
  inbox_.AwaitMessage(v1::AgentMessage::kReleased);
  EXPECT_THAT(inbox_.AwaitClosed(), StatusIs(absl::StatusCode::kCancelled, "was stopped"));
}

TEST_F(GrpcAgentClientTest, ARenewalKeepsTheLeaseOfASilentController) {
  constexpr int64_t kLeaseNs = 3 * kNsPerSecond;
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  Prepare(*client, kLeaseNs);
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
  Prepare(*client);
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

TEST_F(GrpcAgentClientTest, ALargeMessageIsNotParsedBeforeThereIsRoomForIt) {
  v1::AgentMessage message;
  for (int i = 0; i < 20'000; ++i) message.mutable_frames()->add_frames();
  OneMessageAgent agent(message);
  const auto client = MakeGrpcAgentClient(agent.address(), clock_, inbox_);
  inbox_.HaveRoom(false);
  client->OpenSession();
  inbox_.AwaitNoRoom();
  client->ReadOn();
  inbox_.AwaitNoRoom();
  EXPECT_EQ(inbox_.messages(), 0U);
  inbox_.HaveRoom(true);
  client->ReadOn();
  EXPECT_EQ(inbox_.AwaitMessage(v1::AgentMessage::kFrames).frames().frames_size(), 20'000);
}

TEST_F(GrpcAgentClientTest, AClientEndsWhileALargeMessageWaits) {
  v1::AgentMessage message;
  for (int i = 0; i < 20'000; ++i) message.mutable_frames()->add_frames();
  OneMessageAgent agent(message);
  auto client = MakeGrpcAgentClient(agent.address(), clock_, inbox_);
  inbox_.HaveRoom(false);
  client->OpenSession();
  inbox_.AwaitNoRoom();
  client.reset();
  inbox_.AwaitClosed().IgnoreError();
  EXPECT_EQ(inbox_.messages(), 0U);
}

TEST_F(GrpcAgentClientTest, OnlyFramesMayTakeMuchMemory) {
  v1::AgentMessage message;
  for (int i = 0; i < 600'000; ++i) message.mutable_alive()->add_in_flight();
  OneMessageAgent agent(message);
  const auto client = MakeGrpcAgentClient(agent.address(), clock_, inbox_);
  client->OpenSession();
  EXPECT_THAT(inbox_.AwaitClosed(),
              StatusIs(absl::StatusCode::kResourceExhausted, "bytes would take more than 32 MiB of memory"));
  EXPECT_EQ(inbox_.messages(), 0U);
}

TEST_F(GrpcAgentClientTest, AClientEndsWhileItsListenerHasEnough) {
  auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  Prepare(*client);
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  inbox_.HaveEnough(true);
  v1::ControllerMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_id(1);
  client->Send(std::move(heartbeat));
  inbox_.AwaitMessage(v1::AgentMessage::kAlive);
  client.reset();
  inbox_.AwaitClosed().IgnoreError();
}

TEST_F(GrpcAgentClientTest, NobodyButTheRunItselfRenewsItsLease) {
  const auto client = MakeGrpcAgentClient(address_, clock_, inbox_);
  client->OpenSession();
  Prepare(*client);
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
  Prepare(*client);
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
  Prepare(*client);
  inbox_.AwaitMessage(v1::AgentMessage::kPrepared);
  work_->BlockWrites(true);
  service_->Shutdown("the agent was stopped");
  const std::string hangs = service_->WaitForEnd(200 * kNsPerMs);
  EXPECT_NE(hangs.find("busy with run 7f3a21"), std::string::npos) << hangs;
  EXPECT_NE(hangs.find("its files stay in /fake/plimsoll-7f3a21/alpha"), std::string::npos) << hangs;
  work_->BlockWrites(false);
  EXPECT_EQ(service_->WaitForEnd(5 * kNsPerSecond), "");
}

// The controller sends the next parts of a recording when earlier ones have left its memory.
TEST_F(GrpcAgentClientTest, EachPartOfARecordingThatHasLeftIsReported) {
  OneMessageAgent agent((v1::AgentMessage()));
  const auto client = MakeGrpcAgentClient(agent.address(), clock_, inbox_);
  client->OpenSession();
  for (int i = 0; i < 20; ++i) {
    v1::ControllerMessage message;
    for (uint32_t entry = 1; entry <= 16'384; ++entry) {
      message.mutable_pattern_chunk()->add_gap_ns(entry);
      message.mutable_pattern_chunk()->add_writes(65'537);
    }
    client->Send(std::move(message));
    client->Send(v1::ControllerMessage());
    inbox_.AwaitChunkSent();
  }
}

}  // namespace
}  // namespace plimsoll::tests
