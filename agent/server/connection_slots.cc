#include "agent/server/connection_slots.h"

#include <grpcpp/resource_quota.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/server/peer.h"

namespace plimsoll {
namespace {

// Without a call. A controller has one open, or asks again over a new connection.
constexpr int kIdleTimeoutMs = 60'000;
// A peer that vanished without a word is asked after so long, and forgotten when it has not answered for so long:
// together longer than the longest lease, so that this never ends a session that its lease would keep.
constexpr int kKeepAliveAfterMs = 3'600'000;
constexpr int kKeepAliveTimeoutMs = 600'000;
// A controller needs three: Describe, Session, SyncClock.
constexpr int kMaxStreams = 8;
// A plan for one host is some hundred bytes.
constexpr int kMaxMessageBytes = 256 << 10;
constexpr int kReadChunkBytes = 8 << 10;

}  // namespace

void ConnectionSlots::Connection::Begin(const Peer& peer, int descriptor, std::shared_ptr<std::atomic<bool>> serves) {
  MutexLock lock(mutex_);
  peer_ = peer;
  descriptor_ = descriptor;
  identity_ = SocketIdentity(descriptor);
  calls_ = 0;
  serves_ = std::move(serves);
}

bool ConnectionSlots::Connection::gone() {
  MutexLock lock(mutex_);
  return SocketIdentity(descriptor_) != identity_;
}

void ConnectionSlots::Connection::Count() {
  MutexLock lock(mutex_);
  serves_->store(true);
  if (++calls_ <= kMaxCalls) return;
  if (calls_ == kMaxCalls + 1) {
    refusals_->Add(peer_.who, peer_.name, absl::StrCat("it made more than ", kMaxCalls, " calls on one connection"));
  }
  // gRPC, which has the descriptor, sees the end of the connection and closes it.
  if (SocketIdentity(descriptor_) == identity_) shutdown(descriptor_, SHUT_RDWR);
}

ConnectionSlots::ConnectionSlots(v1::Agent::CallbackService& service,
                                 std::shared_ptr<grpc::ServerCredentials> credentials,
                                 std::shared_ptr<Refusals> refusals, int handshake_timeout_ms)
    : service_(service),
      credentials_(std::move(credentials)),
      refusals_(std::move(refusals)),
      handshake_timeout_ms_(handshake_timeout_ms) {}

ConnectionSlots::~ConnectionSlots() {
  const auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(200);
  for (const auto& slot : slots_) slot->server->Shutdown(deadline);
}

ConnectionSlots::Slot* ConnectionSlots::FreeSlot() {
  for (const auto& slot : slots_) {
    if (slot->connection.gone()) return slot.get();
  }
  auto slot = std::make_unique<Slot>(refusals_);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service_);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counters;
  counters.push_back(std::make_unique<CallCounter>(slot->connection));
  builder.experimental().SetInterceptorCreators(std::move(counters));
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("connection").Resize(kMemoryBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, handshake_timeout_ms_);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveAfterMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
  // What has been read is worked on even when the connection has been ended meanwhile.
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunkBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadChunkBytes);
  // Without the probe a connection's receive window stays at 64 KiB.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  slot->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials_);
  slot->server = builder.BuildAndStart();
  if (slot->server == nullptr) return nullptr;
  slots_.push_back(std::move(slot));
  return slots_.back().get();
}

void ConnectionSlots::Take(const Peer& peer, UniqueFd socket, std::shared_ptr<std::atomic<bool>> serves) {
  Slot* slot = FreeSlot();
  if (slot == nullptr) return;
  slot->connection.Begin(peer, socket.get(), std::move(serves));
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = -1;
  connection.fd = socket.Release();
  slot->acceptor->HandleNewConnection(&connection);
}

}  // namespace plimsoll
