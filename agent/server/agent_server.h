// The agent's side of the network: where it listens, who may come in, and how much of anything.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/server/connection_gate.h"
#include "agent/server/refusals.h"
#include "agent/server/server_tls.h"
#include "agent/server/sockets.h"
#include "common/clock.h"
#include "common/tls/tls.h"

namespace plimsoll {

struct ServerOptions {
  std::string listen;
  bool insecure = false;
  TlsPaths tls;
  std::vector<std::string> allow;
  // Connections come over standard input and output (StdioChannel), and nothing else is listened on.
  bool stdio = false;
};

// Options that have been found to make sense together, with what they name.
struct ServerSetup {
  ServerOptions options;
  ListenAddress address;
  TlsIdentity identity;  // empty without TLS

  bool tls() const { return options.tls.given(); }
  // Neither encrypted nor on this host alone.
  bool exposed() const { return !tls() && !address.local(); }
};

// Resolves and reads what the options name. UNAVAILABLE: the address is not to be had; any other error: an option is
// wrong, and the text names it.
absl::StatusOr<ServerSetup> PrepareServer(const ServerOptions& options);

// gRPC behind a ConnectionGate. Three ways in: with TLS, those whose certificate CallerCheck lets pass; without, on
// this host alone, root and the agent's own user; or, with --insecure, everybody. With --stdio there is no gate: the
// program that started the agent is its only peer.
class AgentServer {
 public:
  // Listens, and answers with `service`. Both references outlive the server. UNAVAILABLE: cannot listen.
  static absl::StatusOr<std::unique_ptr<AgentServer>> Start(const ServerSetup& setup,
                                                            v1::Agent::CallbackService& service, const Clock& clock);
  // Ends every call that is still open.
  ~AgentServer();
  AgentServer(const AgentServer&) = delete;
  AgentServer& operator=(const AgentServer&) = delete;

  // Releases the address and accepts no further connections; open calls continue. Nothing else but destruction may
  // follow.
  void StopListening() { gate_.reset(); }

  // Serves a connection that came over standard input and output. Only with --stdio; on one thread at a time.
  void TakeConnection(UniqueFd socket);

  // The address on which the agent listens, for people and controllers.
  std::string address() const { return gate_ == nullptr ? "standard input and output" : gate_->listener().name(); }

 private:
  AgentServer() = default;
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const ServerSetup& setup,
                                                                           const Clock& clock);

  std::shared_ptr<Refusals> refusals_;
  std::unique_ptr<ReloadingIdentity> identity_;
  std::unique_ptr<ConnectionSlots> slots_;
  std::unique_ptr<ConnectionGate> gate_;  // hands over to the slots
};

}  // namespace plimsoll
