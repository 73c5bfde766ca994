#include "controller/run/agent_trust.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace plimsoll {

absl::StatusOr<std::shared_ptr<const AgentTrust>> AgentTrust::Load(const TlsPaths& paths) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTlsPaths(paths));
  auto trust = std::make_shared<AgentTrust>();
  if (!paths.given()) return std::shared_ptr<const AgentTrust>(trust);
  PLIMSOLL_ASSIGN_OR_RETURN(trust->identity_, ReadTlsIdentity(paths));
  trust->with_tls_ = true;
  return std::shared_ptr<const AgentTrust>(trust);
}

namespace {

// Looks at an agent's certificate, which OpenSSL has found to be of the CA. gRPC's own verifier takes an address for a
// DNS name, and nobody but this one asks that the certificate says what it is for. Why it is refused, DiagnoseHandshake
// tells.
class AgentVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* sync_status) override {
    const std::string pem(request->peer_cert().data(), request->peer_cert().size());
    const std::string target(request->target_name().data(), request->target_name().size());
    const absl::StatusOr<CertificateFacts> facts = ReadCertificate(pem);
    const int64_t now_s = std::time(nullptr);
    const bool good = facts.ok() && facts->server_auth && facts->not_before_s <= now_s && facts->not_after_s > now_s &&
                      NamesHost(pem, HostOf(target));
    *sync_status = good ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "agent not trusted");
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  // Without its port, and without the brackets of an IPv6 address.
  static std::string HostOf(const std::string& target) {
    const size_t colon = target.rfind(':');
    const bool has_port = colon != std::string::npos && target.find(']', colon) == std::string::npos &&
                          (target.find(':') == colon || target[colon - 1] == ']');
    return has_port ? target.substr(0, colon) : target;
  }
};

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> AgentTrust::MakeCredentials() const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
      identity_.ca_pem, std::vector<grpc::experimental::IdentityKeyCertPair>{{identity_.key_pem, identity_.cert_pem}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(grpc::experimental::ExternalCertificateVerifier::Create<AgentVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

absl::Status AgentTrust::CheckSocketOwner(const std::string& address) {
  constexpr char kUnix[] = "unix:";
  if (address.rfind(kUnix, 0) != 0 || geteuid() == 0) return absl::OkStatus();
  struct stat facts{};
  // A path that leads nowhere is gRPC's to report.
  if (stat(address.c_str() + sizeof(kUnix) - 1, &facts) != 0) return absl::OkStatus();
  if (facts.st_uid == 0 || facts.st_uid == geteuid()) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("not trusted: the socket belongs to uid ", facts.st_uid,
                                                  ", neither to this user (uid ", geteuid(), ") nor to root"));
}

std::shared_ptr<grpc::ChannelCredentials> AgentTrust::CredentialsFor(const std::string& address) const {
  if (!TlsFor(address)) return grpc::InsecureChannelCredentials();
  MutexLock lock(mutex_);
  if (tls_ == nullptr) tls_ = MakeCredentials();
  return tls_;
}

}  // namespace plimsoll
