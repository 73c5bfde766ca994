// Takes connections, identifies peers, refuses or hands them to gRPC, each with a gRPC server of its own.
#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/server/refusals.h"
#include "agent/server/sockets.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "common/units.h"
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
    // Called at each call, while the connection is open. gRPC keeps to its limit of streams only when the peer has
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

// One connection. Greets with HTTP/2's first frame, waits for the first call, answers it with PERMISSION_DENIED and one
// sentence, and then only waits for the other side to close. Holds some hundred bytes, whatever comes.
class RefusalResponse {
 public:
  // `sentence` is plain ASCII without '%'. `now` begins the time after which Over is true in any case.
  RefusalResponse(UniqueFd socket, std::string sentence, MonotonicNs now);

  int descriptor() const { return socket_.get(); }
  // Reads what is there and continues. False: it is over.
  bool Receive();
  // Whether it took too long.
  bool Over(MonotonicNs now) const;

 private:
  // Takes a byte of the client's; returns false when the connection is refused.
  bool Take(unsigned char byte);
  bool Send(const std::string& bytes);

  UniqueFd socket_;
  const std::string sentence_;
  const MonotonicNs since_;
  size_t read_bytes_ = 0;
  // Bytes to pass over: the client's preface, then each frame's payload.
  size_t skip_;
  std::array<unsigned char, 9> header_{};
  size_t have_ = 0;
  bool answered_ = false;
};

// gRPC's own listener takes every connection, does not report the peer, and stops listening for good when descriptors
// run out. This one runs on a thread of its own. A connection waits here, costing a descriptor and nothing else, until
// its first byte shows the expected protocol; then the number of open connections and, if `uids` is set, the peer's
// user are checked, and only then does gRPC see it.
class ConnectionGate {
 public:
  struct Limits {
    // Connections that have been let in and are still open: in all, and of one address (without TLS: other than
    // loopback, where each peer's user is checked). One more ends the oldest that has made no permitted call.
    size_t open = 32;
    size_t open_of_one = 8;
    // Connections that were ended for others and that gRPC has not closed yet, beyond `open`.
    size_t leaving = 8;
    // Connections of refused users, which get the reason; further ones are closed without one.
    size_t turned_away = 8;
    // Connections that have not sent anything yet. One more pushes out the oldest.
    size_t silent = 64;
    int64_t silent_ns = 10 * kNsPerSecond;
    // What one connection may send: so much at once, so much a second, and an eighth of what the agent sent it. A
    // controller sends some 2 KiB a second, and 1/500 of what it receives. (Not counted on Unix sockets.)
    uint64_t received_bytes = 2 << 20;
    uint64_t received_bytes_per_second = 32 << 10;
    uint64_t received_share = 8;
  };
  struct Options {
    Limits limits;
    bool tls = false;
    // Users that may connect; empty: other means decide who may.
    std::set<uid_t> uids;
    std::shared_ptr<Refusals> refusals;
    const Clock* clock = nullptr;
    // The refusal that a user gets.
    std::string not_trusted;
    // Takes over the descriptor, on the gate's thread, and sets `serves` at the first call that is let through.
    std::function<void(const Peer& peer, UniqueFd socket, std::shared_ptr<std::atomic<bool>> serves)> let_in;
  };

  // Begins to take connections.
  ConnectionGate(std::unique_ptr<Listener> listener, Options options);
  // Stops, and closes the listening sockets and what waits.
  ~ConnectionGate();
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;

  const Listener& listener() const { return *listener_; }

 private:
  struct Silent {
    UniqueFd socket;
    Peer peer;
    uid_t uid = 0;
    bool uid_known = false;
    MonotonicNs since;
  };
  // One that gRPC closes when it likes: it is open as long as its descriptor is the same socket.
  struct Open {
    int descriptor;
    uint64_t identity;
    Peer peer;
    MonotonicNs since;
    std::shared_ptr<std::atomic<bool>> serves;
    // The kernel counts what it receives: TCP. Nothing that a Unix socket receives is counted.
    bool counted = false;
    // Ended for another one.
    bool leaving = false;
  };

  void Run();
  void Accept(int listening);
  void HandleNoDescriptor(int listening, int error_number);
  // A connection has something to read: what an open one uses, what a refused one sends, or the first byte of a new
  // one.
  void HandleReadable(int descriptor);
  // Whether the user may come in; otherwise the connection has been turned away.
  bool CheckUser(Silent& silent);
  bool CheckRoom(const Silent& silent);
  // Ends the oldest connection that does not serve, of `who` or (empty) of anybody. False where there is none.
  bool EndOneFor(const std::string& who);
  void LetIn(Silent silent);
  void DropOldSilent();
  void CountOpen();
  // Ends a connection that sends too much: gRPC looks at a message's length only when it has all of it.
  void CheckUse(const Open& open);
  void TurnAway(Silent silent);
  void Refuse(const Peer& peer, const std::string& reason);

  const std::unique_ptr<Listener> listener_;
  const Options options_;
  const UniqueFd epoll_;
  const UniqueFd stop_;
  // Closed for a moment, to send a peer the reason when no descriptor is left.
  UniqueFd reserve_;
  std::deque<Silent> silent_;
  std::vector<Open> open_;
  std::vector<std::unique_ptr<RefusalResponse>> turned_away_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace plimsoll
