#include "agent/server/refusing_server.h"

#include <grpcpp/resource_quota.h>

#include <chrono>

namespace plimsoll {
namespace {

constexpr int kHandshakeTimeoutMs = 5'000;
constexpr int kIdleTimeoutMs = 2'000;
constexpr int kMaxStreams = 2;
constexpr int kMaxMessageBytes = 4 << 10;
constexpr size_t kMaxMemoryBytes = 8 << 20;
// However busy it keeps the connection.
constexpr int kMaxAgeMs = 10'000;

}  // namespace

grpc::ServerGenericBidiReactor* RefusingServer::Service::CreateReactor(
    grpc::GenericCallbackServerContext* /*context*/) {
  class Refusal final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refusal(const std::string& sentence) { Finish({grpc::StatusCode::PERMISSION_DENIED, sentence}); }
    void OnDone() override { delete this; }
  };
  return new Refusal(sentence_);  // deletes itself when gRPC is done with it
}

std::unique_ptr<RefusingServer> RefusingServer::Start(const std::string& sentence) {
  auto refusing = std::unique_ptr<RefusingServer>(new RefusingServer(sentence));
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&refusing->service_);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("refused").Resize(kMaxMemoryBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, kMaxAgeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kIdleTimeoutMs);
  refusing->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, grpc::InsecureServerCredentials());
  refusing->server_ = builder.BuildAndStart();
  if (refusing->server_ == nullptr) return nullptr;
  return refusing;
}

RefusingServer::~RefusingServer() {
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

void RefusingServer::Take(UniqueFd socket) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = -1;
  connection.fd = socket.Release();
  acceptor_->HandleNewConnection(&connection);
}

}  // namespace plimsoll
