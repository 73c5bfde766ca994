#include "controller/run/agent_trust.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

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

std::shared_ptr<grpc::ChannelCredentials> AgentTrust::MakeCredentials() const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
      identity_.ca_pem, std::vector<grpc::experimental::IdentityKeyCertPair>{{identity_.key_pem, identity_.cert_pem}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::HostNameCertificateVerifier>());
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> AgentTrust::CredentialsFor(const std::string& address) const {
  if (!TlsFor(address)) return grpc::InsecureChannelCredentials();
  MutexLock lock(mutex_);
  if (tls_ == nullptr) tls_ = MakeCredentials();
  return tls_;
}

}  // namespace plimsoll
