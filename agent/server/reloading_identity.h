// The agent's TLS files, read again whenever they change.
#pragma once

#include <grpcpp/security/tls_certificate_provider.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "common/tls/identity.h"
#include "common/unique_fd.h"

namespace plimsoll {

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

  // For gRPC's credentials. New handshakes use new files within two seconds; connections that stand are left alone.
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface>& provider() const { return provider_; }

 private:
  ReloadingIdentity(TlsPaths paths, TlsIdentity identity, Log log)
      : paths_(std::move(paths)), log_(std::move(log)), current_(std::move(identity)) {}

  void Run();
  void Look();
  // Puts a copy of `text` behind `shown`, in one step for whoever opens it.
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

}  // namespace plimsoll
