#include "agent/server/agent_server.h"

#include <grpc/support/log.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/server/caller_check.h"
#include "agent/server/handshake_watch.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

// From the first byte to the end of TLS and to HTTP/2's first frame.
constexpr int kHandshakeTimeoutMs = 10'000;
// Without a call. A controller always has one open, or is about to ask again over a new connection.
constexpr int kIdleTimeoutMs = 60'000;
// A controller needs three: Describe, Session, SyncClock.
constexpr int kMaxStreams = 8;
// A plan for one host is some hundred bytes.
constexpr int kMaxMessageBytes = 256 << 10;
// What a connection may hold in all is far below this, so that gRPC never has to take a stream's memory away.
constexpr size_t kMaxMemoryBytes = 256 << 20;
// Descriptors that are never given to connections: logs, gRPC's own, a session's.
constexpr rlim_t kSpareDescriptors = 128;

// gRPC's own remarks: what matters in them has been told by others, with the peer's name.
void LogForGrpc(gpr_log_func_args* args) {
  spdlog::debug("gRPC: {}", args->message);
}

// As many descriptors as this host allows, and no more connections than leave some for sessions.
Doorkeeper::Limits FittingLimits() {
  Doorkeeper::Limits limits;
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return limits;
  if (files.rlim_cur < files.rlim_max) {
    rlimit raised = files;
    raised.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) files = raised;
  }
  const rlim_t wanted = limits.open + limits.silent + limits.turned_away + kSpareDescriptors;
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
  PLIMSOLL_ASSIGN_OR_RETURN(setup.address, ResolveListenAddress(options.listen));
  if (setup.tls() && setup.address.is_unix()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen ", options.listen,
        ": on a Unix socket the kernel says who is there; leave out --tls-ca, --tls-cert and --tls-key"));
  }
  if (!options.allow.empty() && !setup.tls()) {
    return absl::InvalidArgumentError("--allow names certificates: it needs --tls-ca, --tls-cert and --tls-key");
  }
  if (setup.exposed() && !options.insecure) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--listen ", options.listen,
        ": anyone who reaches this address could write below the roots; give --tls-ca, --tls-cert and --tls-key, listen "
        "on loopback or unix:PATH, or spell out --insecure"));
  }
  if (setup.tls()) {
    PLIMSOLL_ASSIGN_OR_RETURN(setup.identity, ReadTlsIdentity(options.tls));
  }
  return setup;
}

absl::Status AgentServer::StartGrpc(const ServerSetup& setup, grpc::Service& service) {
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (setup.tls()) {
    PLIMSOLL_ASSIGN_OR_RETURN(identity_,
                              ReloadingIdentity::Start(setup.options.tls, setup.identity,
                                                       [](ReloadingIdentity::Level level, const std::string& line) {
                                                         level == ReloadingIdentity::Level::kInfo
                                                             ? spdlog::info("{}", line)
                                                             : spdlog::warn("{}", line);
                                                       }));
    // TLS 1.2 is the lowest version that these credentials know.
    grpc::experimental::TlsServerCredentialsOptions tls(identity_->provider());
    tls.watch_root_certs();
    tls.watch_identity_key_cert_pairs();
    tls.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    credentials = grpc::experimental::TlsServerCredentials(tls);
    credentials->SetAuthMetadataProcessor(std::make_shared<CallerCheck>(setup.options.allow, refusals_));
  }
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("agent").Resize(kMaxMemoryBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleTimeoutMs);
  // Without the probe a connection's receive window stays at 64 KiB.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::UnavailableError("gRPC cannot start a server");
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<AgentServer>> AgentServer::Start(const ServerSetup& setup, grpc::Service& service,
                                                                const Clock& clock) {
  gpr_set_log_function(LogForGrpc);
  auto server = std::unique_ptr<AgentServer>(new AgentServer);
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, Listener::Open(setup.address));
  server->refusals_ =
      std::make_shared<Refusals>(clock, [](const std::string& line) { spdlog::warn("{}", PlainText(line)); });
  PLIMSOLL_RETURN_IF_ERROR(server->StartGrpc(setup, service));

  Doorkeeper::Options door;
  door.limits = FittingLimits();
  door.tls = setup.tls();
  door.refusals = server->refusals_;
  door.clock = &clock;
  AgentServer* raw = server.get();
  door.let_in = [raw, tls = setup.tls()](const Peer& peer, UniqueFd socket) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.listener_fd = -1;
    connection.fd = socket.Release();
    if (tls) {
      const HandshakeWatch watch(peer, raw->refusals_, kHandshakeTimeoutMs);
      raw->acceptor_->HandleNewConnection(&connection);
    } else {
      raw->acceptor_->HandleNewConnection(&connection);
    }
  };
  if (!setup.tls() && setup.address.local()) {
    door.uids = {0, geteuid()};
    server->refusing_ = RefusingServer::Start(absl::StrCat(
        "not trusted: without TLS this agent serves root and its own user (uid ", geteuid(), ") alone"));
    if (server->refusing_ == nullptr) return absl::UnavailableError("gRPC cannot start a server");
    door.turn_away = [raw](UniqueFd socket) { raw->refusing_->Take(std::move(socket)); };
  }
  const int64_t now_s = std::time(nullptr);
  if (setup.tls() && setup.identity.certificate.not_after_s <= now_s) {
    spdlog::warn("--tls-cert {}: it expired on {}: controllers will refuse it", setup.options.tls.cert,
                 FormatDay(setup.identity.certificate.not_after_s));
  }
  server->doorkeeper_ = std::make_unique<Doorkeeper>(std::move(listener), std::move(door));
  return server;
}

AgentServer::~AgentServer() {
  doorkeeper_.reset();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
}

}  // namespace plimsoll
