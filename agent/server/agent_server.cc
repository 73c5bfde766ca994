#include "agent/server/agent_server.h"

#include <grpc/support/log.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/server/server_tls.h"
#include "agent/server/sockets.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// From the first byte to the end of TLS and to HTTP/2's first frame.
constexpr int kHandshakeTimeoutMs = 10'000;
// Descriptors that are never given to connections: logs, gRPC's own, a session's.
constexpr rlim_t kSpareDescriptors = 128;

// gRPC's own messages: what matters in them is already logged elsewhere, with the peer's name.
void LogForGrpc(gpr_log_func_args* args) {
  spdlog::debug("gRPC: {}", args->message);
}

// As many descriptors as this host allows, and no more connections than leave some for sessions.
ConnectionGate::Limits FittingLimits() {
  ConnectionGate::Limits limits;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  if (files.rlim_cur < files.rlim_max) {
    rlimit raised = files;
    raised.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  }
  const rlim_t wanted = limits.open + limits.leaving + limits.silent + limits.turned_away + kSpareDescriptors;
  if (files.rlim_cur >= wanted) return limits;
  spdlog::warn("only {} file descriptors (RLIMIT_NOFILE): fewer connections are taken than {}", files.rlim_cur,
               limits.open);
  const auto share = static_cast<size_t>(files.rlim_cur / 8);
  limits.open = std::clamp<size_t>(share, 4, limits.open);
  limits.silent = std::clamp<size_t>(share, 4, limits.silent);
  limits.turned_away = std::clamp<size_t>(share / 4, 1, limits.turned_away);
  return limits;
}

}  // namespace

absl::StatusOr<ServerSetup> PrepareServer(const ServerOptions& options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTlsPaths(options.tls));
  ServerSetup setup{options, {}, {}};
  if (options.stdio) {
    if (!options.tls.given() && options.allow.empty() && !options.insecure) return setup;
    return absl::InvalidArgumentError(
        "--stdio: no network is listened on; leave out --tls-ca, --tls-cert, --tls-key, --allow and --insecure");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(setup.address, ResolveListenAddress(options.listen));
  if (setup.tls() && setup.address.is_unix()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen ", options.listen,
        ": on a Unix socket the kernel identifies the user; leave out --tls-ca, --tls-cert and --tls-key"));
  }
  if (!options.allow.empty() && !setup.tls()) {
    return absl::InvalidArgumentError("--allow names certificates: it needs --tls-ca, --tls-cert and --tls-key");
  }
  if (setup.exposed() && !options.insecure) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen ", options.listen,
                     ": anyone who can reach this address could write below the roots; pass --tls-ca, --tls-cert and "
                     "--tls-key, listen on loopback or unix:PATH, or pass --insecure"));
  }
  if (setup.tls()) {
    PLIMSOLL_ASSIGN_OR_RETURN(setup.identity, ReadTlsIdentity(options.tls));
  }
  return setup;
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> AgentServer::MakeCredentials(const ServerSetup& setup,
                                                                                      const Clock& clock) {
  if (!setup.tls()) return grpc::InsecureServerCredentials();
  PLIMSOLL_ASSIGN_OR_RETURN(
      identity_, ReloadingIdentity::Start(
                     setup.options.tls, setup.identity, [](ReloadingIdentity::Level level, const std::string& line) {
                       level == ReloadingIdentity::Level::kInfo ? spdlog::info("{}", line) : spdlog::warn("{}", line);
                     }));
  // TLS 1.2 is the lowest version that these credentials know.
  grpc::experimental::TlsServerCredentialsOptions tls(identity_->provider());
  tls.watch_root_certs();
  tls.watch_identity_key_cert_pairs();
  tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::experimental::TlsServerCredentials(tls);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallerCheck>(setup.options.allow, refusals_, clock));
  return credentials;
}

absl::StatusOr<std::unique_ptr<AgentServer>> AgentServer::Start(const ServerSetup& setup,
                                                                v1::Agent::CallbackService& service,
                                                                const Clock& clock) {
  gpr_set_log_function(LogForGrpc);
  // Debian's abseil watches the order in which gRPC takes its locks, at each of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  auto server = std::unique_ptr<AgentServer>(new AgentServer);
  std::unique_ptr<Listener> listener;
  if (!setup.options.stdio) {
    PLIMSOLL_ASSIGN_OR_RETURN(listener, Listener::Open(setup.address));
  }
  server->refusals_ =
      std::make_shared<Refusals>(clock, [](const std::string& line) { spdlog::warn("{}", PlainText(line)); });
  PLIMSOLL_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                            server->MakeCredentials(setup, clock));
  server->slots_ = std::make_unique<ConnectionSlots>(service, credentials, server->refusals_, kHandshakeTimeoutMs);
  if (setup.options.stdio) return server;

  ConnectionGate::Options gate;
  gate.limits = FittingLimits();
  gate.tls = setup.tls();
  gate.refusals = server->refusals_;
  gate.clock = &clock;
  AgentServer* raw = server.get();
  gate.let_in = [raw, tls = setup.tls()](const Peer& peer, UniqueFd socket, std::shared_ptr<std::atomic<bool>> serves) {
    std::optional<HandshakeWatch> watch;
    if (tls) watch.emplace(peer, raw->refusals_, kHandshakeTimeoutMs);
    raw->slots_->Take(peer, std::move(socket), std::move(serves));
  };
  if (!setup.tls() && setup.address.local()) {
    gate.uids = TrustedUids();
    if (gate.uids.count(geteuid()) == 0) {
      spdlog::warn(
          "uid {} is the overflow uid of this user namespace, which any unmapped user has: this agent serves only root "
          "of the namespace",
          geteuid());
    }
    gate.not_trusted =
        absl::StrCat("not trusted: without TLS this agent serves root and its own user (uid ", geteuid(), ") alone");
  }
  const int64_t now_s = std::time(nullptr);
  if (setup.tls() && setup.identity.certificate.not_after_s <= now_s) {
    spdlog::warn("--tls-cert {} expired on {}: controllers will refuse it", setup.options.tls.cert,
                 FormatDay(setup.identity.certificate.not_after_s));
  }
  server->gate_ = std::make_unique<ConnectionGate>(std::move(listener), std::move(gate));
  return server;
}

void AgentServer::TakeConnection(UniqueFd socket) {
  const std::string name = address();
  slots_->Take({name, name, true}, std::move(socket), std::make_shared<std::atomic<bool>>(false));
}

AgentServer::~AgentServer() {
  gate_.reset();
}

}  // namespace plimsoll
