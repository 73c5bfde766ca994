// The agent's side of TLS: its files, read again when they change; who may call; which handshakes fail, and why.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/server/refusals.h"
#include "agent/server/sockets.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "common/tls/tls.h"

namespace plimsoll {

// The agent's TLS files, read again whenever they change.
//
// gRPC's own provider takes whatever the files hold, a key that does not fit its certificate yet included, and then
// refuses everybody. This one looks at the files every half second, and shows gRPC only what ReadTlsIdentity has found
// good; until then the ones before stay in use. What gRPC reads are copies in memory, without a name on any file
// system.
class ReloadingIdentity {
 public:
  enum class Level { kInfo, kWarning };
  using Log = std::function<void(Level level, const std::string& line)>;

  // `identity` is what the files hold now.
  static absl::StatusOr<std::unique_ptr<ReloadingIdentity>> Start(const TlsPaths& paths, TlsIdentity identity, Log log);
  ~ReloadingIdentity();
  ReloadingIdentity(const ReloadingIdentity&) = delete;
  ReloadingIdentity& operator=(const ReloadingIdentity&) = delete;

  // For gRPC's credentials. New handshakes use new files within two seconds; open connections are not affected.
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface>& provider() const { return provider_; }

 private:
  ReloadingIdentity(TlsPaths paths, TlsIdentity identity, Log log)
      : paths_(std::move(paths)), log_(std::move(log)), current_(std::move(identity)) {}

  void Run();
  void Look();
  // Puts a copy of `text` behind `shown`, atomically for readers that open it.
  static absl::Status Show(const std::string& text, UniqueFd& shown);

  const TlsPaths paths_;
  const Log log_;
  TlsIdentity current_;  // the thread's, once it runs
  std::string complaint_;
  UniqueFd shown_ca_;
  UniqueFd shown_identity_;  // certificate and key in one: they change together
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
  Mutex mutex_;
  CondVar changed_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The names given with --allow.
class AllowedCallers {
 public:
  // Without names: every certificate of the CA that is meant for a client.
  explicit AllowedCallers(const std::vector<std::string>& names);

  // Empty where a caller with this certificate may use the agent at `now_s` (Unix time); otherwise why not, as the
  // agent's log has the reason. A TLS session that is resumed shows the certificate of the first handshake, whose dates
  // only this function checks again.
  std::string WhyNot(const CertificateFacts& certificate, int64_t now_s) const;

 private:
  std::set<std::string> names_;
};

// Looks at the certificate of every call, whichever it is, before the service sees it. A caller that may not gets
// PERMISSION_DENIED and nothing else.
class CallerCheck final : public grpc::AuthMetadataProcessor {
 public:
  CallerCheck(const std::vector<std::string>& allowed, std::shared_ptr<Refusals> refusals, const Clock& clock)
      : allowed_(allowed), refusals_(std::move(refusals)), clock_(clock) {}

  // Runs where the call arrives: it neither waits nor takes long.
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata* response) override;

 private:
  const AllowedCallers allowed_;
  const std::shared_ptr<Refusals> refusals_;
  const Clock& clock_;
};

// Reports TLS handshakes that fail inside gRPC, which reports neither who failed nor why.
//
// gRPC makes the SSL object of a connection on the thread that hands the connection over. OpenSSL calls the watch
// (CRYPTO_get_ex_new_index) when an SSL object is made and when it goes, and shows it each alert: that ties peer,
// alert and end together. Every handshake that ends unfinished becomes one refusal.
class HandshakeWatch {
 public:
  // While it lives, an SSL object made on this thread belongs to `peer`. Handshakes that have not ended by `limit_ms`
  // are taken to have been ended for that.
  HandshakeWatch(const Peer& peer, std::shared_ptr<Refusals> refusals, int limit_ms);
  ~HandshakeWatch();
  HandshakeWatch(const HandshakeWatch&) = delete;
  HandshakeWatch& operator=(const HandshakeWatch&) = delete;
};

}  // namespace plimsoll
