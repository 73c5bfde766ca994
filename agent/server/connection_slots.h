// A gRPC server of its own for every connection, so that none can use up what another needs.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "agent/server/peer.h"
#include "agent/server/refusals.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "plimsoll/v1/agent.grpc.pb.h"

namespace plimsoll {

// gRPC takes memory that runs short from whichever connection has been there longest: a session's. Here each connection
// has a memory of its own, and its calls are counted. A slot is made when first needed, and used again when its
// connection has gone. One thread.
class ConnectionSlots {
 public:
  // What all of one connection's calls may hold. A session holds some 100 KiB.
  static constexpr size_t kMemoryBytes = 8 << 20;

  // Calls that one connection may make in all; one more ends it. A controller makes about five.
  static constexpr int kMaxCalls = 64;

  // `service` outlives the slots.
  ConnectionSlots(v1::Agent::CallbackService& service, std::shared_ptr<grpc::ServerCredentials> credentials,
                  std::shared_ptr<Refusals> refusals, int handshake_timeout_ms);
  // Ends every call that is still open.
  ~ConnectionSlots();
  ConnectionSlots(const ConnectionSlots&) = delete;
  ConnectionSlots& operator=(const ConnectionSlots&) = delete;

  // Takes over the connection; closes it where gRPC cannot make a server.
  // Sets `serves` at the connection's first call: one that CallerCheck let through.
  void Take(const Peer& peer, UniqueFd socket, std::shared_ptr<std::atomic<bool>> serves);

 private:
  // The connection that a slot has, or had. Thread-safe.
  class Connection {
   public:
    explicit Connection(std::shared_ptr<Refusals> refusals) : refusals_(std::move(refusals)) {}

    void Begin(const Peer& peer, int descriptor, std::shared_ptr<std::atomic<bool>> serves);
    // It is there as long as its descriptor is the same socket.
    bool gone();
    // Called at each call, while the connection stands. gRPC keeps to its limit of streams only when the peer has
    // confirmed it.
    void Count();

   private:
    const std::shared_ptr<Refusals> refusals_;
    Mutex mutex_;
    Peer peer_ ABSL_GUARDED_BY(mutex_);
    int descriptor_ ABSL_GUARDED_BY(mutex_) = -1;
    uint64_t identity_ ABSL_GUARDED_BY(mutex_) = 0;
    int calls_ ABSL_GUARDED_BY(mutex_) = 0;
    std::shared_ptr<std::atomic<bool>> serves_ ABSL_GUARDED_BY(mutex_);
  };
  // Counts every call that CallerCheck let through, of the service or not. Intercepts none.
  class CallCounter final : public grpc::experimental::ServerInterceptorFactoryInterface {
   public:
    explicit CallCounter(Connection& connection) : connection_(connection) {}
    grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* /*info*/) override {
      connection_.Count();
      return nullptr;
    }

   private:
    Connection& connection_;
  };
  struct Slot {
    explicit Slot(std::shared_ptr<Refusals> refusals) : connection(std::move(refusals)) {}

    Connection connection;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
    std::unique_ptr<grpc::Server> server;
  };

  Slot* FreeSlot();

  v1::Agent::CallbackService& service_;
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  const std::shared_ptr<Refusals> refusals_;
  const int handshake_timeout_ms_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace plimsoll
