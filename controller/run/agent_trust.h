// How the controller and its agents know each other.
#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls/identity.h"

namespace plimsoll {

// What every client of a command shares. Immutable.
class AgentTrust {
 public:
  // Without options: no TLS. INVALID_ARGUMENT, or what the system says, names the option and the file.
  static absl::StatusOr<std::shared_ptr<const AgentTrust>> Load(const TlsPaths& paths);

  // A Unix socket needs no TLS: the kernel says who is there.
  bool TlsFor(const std::string& address) const { return tls_ != nullptr && address.rfind("unix:", 0) != 0; }
  // With TLS the agent's certificate must be of the CA and name the host that was dialled; TLS 1.2 is the lowest version.
  std::shared_ptr<grpc::ChannelCredentials> CredentialsFor(const std::string& address) const;
  // Empty without TLS.
  const TlsIdentity& identity() const { return identity_; }

 private:
  TlsIdentity identity_;
  std::shared_ptr<grpc::ChannelCredentials> tls_;
};

}  // namespace plimsoll
