#include "agent/server/agent_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <vector>

#include "common/posix.h"
#include "common/tls/tls.h"
#include "plimsoll/v1/agent.grpc.pb.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// Knows no call: whoever is let in is told UNIMPLEMENTED.
class EmptyService final : public v1::Agent::CallbackService {};

// Answers every call in a way that nothing else does.
class WholeService final : public v1::Agent::CallbackService {
 public:
  static constexpr grpc::StatusCode kAnswer = grpc::StatusCode::ALREADY_EXISTS;

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::DescribeRequest* /*request*/,
                                     v1::HostDescription* /*response*/) override {
    return Answer(*context);
  }
  grpc::ServerUnaryReactor* Renew(grpc::CallbackServerContext* context, const v1::RenewRequest* /*request*/,
                                  v1::RenewReply* /*response*/) override {
    return Answer(*context);
  }
  grpc::ServerBidiReactor<v1::ClockProbe, v1::ClockReply>* SyncClock(
      grpc::CallbackServerContext* /*context*/) override {
    return new Ended<v1::ClockProbe, v1::ClockReply>;
  }
  grpc::ServerBidiReactor<v1::ControllerMessage, v1::AgentMessage>* Session(
      grpc::CallbackServerContext* /*context*/) override {
    return new Ended<v1::ControllerMessage, v1::AgentMessage>;
  }

 private:
  template <typename Request, typename Response>
  class Ended final : public grpc::ServerBidiReactor<Request, Response> {
   public:
    Ended() { this->Finish({kAnswer, ""}); }
    void OnDone() override { delete this; }
  };

  static grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext& context) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    reactor->Finish({kAnswer, ""});
    return reactor;
  }
};

// Sends an empty message to a method, whatever its kind.
grpc::Status CallMethod(const std::string& address, const std::string& method) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  grpc::ByteBuffer response;
  grpc::Status status;
  const grpc::Slice empty;
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&empty, 1), &queue);
  call->StartCall();
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}

class AgentServerTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<AgentServer>> Start(const ServerOptions& options) {
    const auto setup = PrepareServer(options);
    if (!setup.ok()) return setup.status();
    return AgentServer::Start(*setup, service_, clock_);
  }

  // `patient`: as the controller does, a call goes on to try for a connection until its deadline.
  static grpc::Status Call(const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                           bool patient = false) {
    const auto stub = v1::Agent::NewStub(grpc::CreateChannel(address, credentials));
    grpc::ClientContext context;
    context.set_wait_for_ready(patient);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::HostDescription description;
    return stub->Describe(&context, {}, &description);
  }

  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.Sub(name)) << text;
    chmod(directory_.Sub(name).c_str(), 0600);
    return directory_.Sub(name);
  }

  // Credentials of a controller with a new certificate.
  std::shared_ptr<grpc::ChannelCredentials> ClientOf(const CertificateAuthority& authority, const std::string& name) {
    const auto pair = *authority.Issue(name, CertificateAuthority::Role::kController, std::time(nullptr), 1);
    provider_ = std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
        authority.pem().cert_pem, std::vector<grpc::experimental::IdentityKeyCertPair>{{pair.key_pem, pair.cert_pem}});
    grpc::experimental::TlsChannelCredentialsOptions options;
    options.set_certificate_provider(provider_);
    options.watch_root_certs();
    options.watch_identity_key_cert_pairs();
    return grpc::experimental::TlsCredentials(options);
  }

  const tests::TempDirectory directory_;
  const SystemClock clock_;
  EmptyService service_;
  std::shared_ptr<grpc::experimental::StaticDataCertificateProvider> provider_;
};

TEST_F(AgentServerTest, AnswersItsOwnUserOnLoopbackAndOnAUnixSocket) {
  for (const std::string& listen : {std::string("127.0.0.1:0"), "unix:" + directory_.Sub("a.sock")}) {
    const auto server = Start({listen, false, {}, {}});
    ASSERT_THAT(server, IsOk());
    EXPECT_EQ(Call((*server)->address(), grpc::InsecureChannelCredentials()).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST_F(AgentServerTest, EveryCallOfTheServiceReachesIt) {
  WholeService service;
  const auto setup = PrepareServer({"127.0.0.1:0", false, {}, {}});
  ASSERT_THAT(setup, IsOk());
  const auto server = AgentServer::Start(*setup, service, clock_);
  ASSERT_THAT(server, IsOk());
  const auto* calls = v1::HostDescription::descriptor()->file()->FindServiceByName("Agent");
  ASSERT_GE(calls->method_count(), 4);
  for (int i = 0; i < calls->method_count(); ++i) {
    const std::string method = "/" + calls->full_name() + "/" + calls->method(i)->name();
    EXPECT_EQ(CallMethod((*server)->address(), method).error_code(), WholeService::kAnswer) << method;
  }
}

TEST_F(AgentServerTest, ASocketFileIsItsOwnersAndGoesWithIt) {
  const std::string path = directory_.Sub("a.sock");
  {
    const auto server = Start({"unix:" + path, false, {}, {}});
    ASSERT_THAT(server, IsOk());
    struct stat facts{};
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0600U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(AgentServerTest, ASocketFileIsTakenOnlyFromTheDead) {
  const std::string path = directory_.Sub("a.sock");
  const auto first = Start({"unix:" + path, false, {}, {}});
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Start({"unix:" + path, false, {}, {}}),
              StatusIs(absl::StatusCode::kUnavailable, "cannot listen on unix:" + path));
  EXPECT_EQ(Call("unix:" + path, grpc::InsecureChannelCredentials()).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  // What a killed agent leaves: a file that nobody listens on.
  const std::string left = directory_.Sub("left.sock");
  {
    const UniqueFd dead(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    left.copy(where.sun_path, sizeof(where.sun_path) - 1);
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(left));
  EXPECT_THAT(Start({"unix:" + left, false, {}, {}}), IsOk());
  // Something else than a socket is never removed.
  const std::string file = Write("file", "precious");
  EXPECT_THAT(Start({"unix:" + file, false, {}, {}}), StatusIs(absl::StatusCode::kUnavailable, file));
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(AgentServerTest, APortIsForOneAgent) {
  const auto first = Start({"127.0.0.1:0", false, {}, {}});
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Start({(*first)->address(), false, {}, {}}),
              StatusIs(absl::StatusCode::kUnavailable, "cannot listen on " + (*first)->address()));
}

TEST_F(AgentServerTest, RefusesOptionsThatLeaveItOpenOrContradict) {
  EXPECT_THAT(Start({"0.0.0.0:0", false, {}, {}}), StatusIs(absl::StatusCode::kInvalidArgument, "--insecure"));
  EXPECT_THAT(Start({"0.0.0.0:0", true, {}, {}}), IsOk());
  EXPECT_THAT(Start({"127.0.0.1:0", false, {}, {"ops"}}), StatusIs(absl::StatusCode::kInvalidArgument, "--allow"));
  EXPECT_THAT(Start({"127.0.0.1:0", false, {"ca", "", ""}, {}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "are missing"));
  EXPECT_THAT(Start({"unix:/x", false, {"ca", "cert", "key"}, {}}),
              StatusIs(absl::StatusCode::kInvalidArgument, "Unix socket"));
}

TEST_F(AgentServerTest, LetsInWhomItTrustsOverTls) {
  const int64_t now_s = std::time(nullptr);
  const auto authority = *CertificateAuthority::Create(now_s, 2);
  const auto other = *CertificateAuthority::Create(now_s, 2);
  const auto pair = *authority->Issue("127.0.0.1", CertificateAuthority::Role::kHost, now_s, 1);
  const TlsPaths paths = {Write("ca.crt", authority->pem().cert_pem), Write("a.crt", pair.cert_pem),
                          Write("a.key", pair.key_pem)};
  const auto server = Start({"127.0.0.1:0", false, paths, {"ops"}});
  ASSERT_THAT(server, IsOk());
  const std::string& address = (*server)->address();
  EXPECT_EQ(Call(address, ClientOf(*authority, "ops")).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  const grpc::Status refused = Call(address, ClientOf(*authority, "dev"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("not trusted: none of this controller's names (dev)"), std::string::npos);
  EXPECT_EQ(Call(address, ClientOf(*other, "ops")).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(address, grpc::InsecureChannelCredentials()).error_code(), grpc::StatusCode::UNAVAILABLE);
}

// Connections over loopback that say one byte and nothing more.
class SlowPeers {
 public:
  SlowPeers(const std::string& address, char first, size_t count) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    for (size_t i = 0; i < count; ++i) {
      UniqueFd made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(made.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
      EXPECT_EQ(send(made.get(), &first, 1, MSG_NOSIGNAL), 1);
      sockets_.push_back({made.get(), POLLIN, 0});
      owners_.push_back(std::move(made));
    }
  }

  // Waits until the other side has closed so many of them.
  void AwaitClosed(size_t count) {
    for (size_t closed = 0; closed < count; ++closed) {
      poll(sockets_.data(), sockets_.size(), -1);
      const auto ended = std::find_if(sockets_.begin(), sockets_.end(), [](const pollfd& p) { return p.revents != 0; });
      char ignored = 0;
      while (recv(ended->fd, &ignored, 1, 0) > 0) continue;
      sockets_.erase(ended);
    }
  }

 private:
  std::vector<UniqueFd> owners_;
  std::vector<pollfd> sockets_;
};

TEST_F(AgentServerTest, SlowConnectionsDoNotKeepOthersOut) {
  const auto server = Start({"127.0.0.1:0", false, {}, {}});
  ASSERT_THAT(server, IsOk());
  SlowPeers slow((*server)->address(), 'P', 40);
  slow.AwaitClosed(8);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Call((*server)->address(), grpc::InsecureChannelCredentials(), /*patient=*/true).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
}

TEST_F(AgentServerTest, UnderTlsSlowConnectionsFromLoopbackAreLimitedLikeOthers) {
  const auto authority = *CertificateAuthority::Create(std::time(nullptr), 1);
  const auto pair = *authority->Issue("127.0.0.1", CertificateAuthority::Role::kHost, std::time(nullptr), 1);
  const auto server =
      Start({"127.0.0.1:0",
             false,
             {Write("ca.crt", authority->pem().cert_pem), Write("a.crt", pair.cert_pem), Write("a.key", pair.key_pem)},
             {}});
  ASSERT_THAT(server, IsOk());
  SlowPeers slow((*server)->address(), '\x16', 16);
  slow.AwaitClosed(8);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Call((*server)->address(), ClientOf(*authority, "ops"), /*patient=*/true).error_code(),
              grpc::StatusCode::UNIMPLEMENTED);
  }
}

}  // namespace
}  // namespace plimsoll
