// How the controller and its agents authenticate each other, and why a handshake or a connection failed: gRPC reports
// neither well.
#pragma once

#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/tls/tls.h"

namespace plimsoll {

// What every client of a command shares. Thread-safe.
class AgentTrust {
 public:
  // Without options: no TLS. INVALID_ARGUMENT, or the system's error, names the option and the file.
  static absl::StatusOr<std::shared_ptr<const AgentTrust>> Load(const TlsPaths& paths);

  // A Unix socket needs no TLS: the kernel identifies the peer.
  bool TlsFor(const std::string& address) const { return with_tls_ && address.rfind("unix:", 0) != 0; }
  // With TLS the agent's certificate must be of the CA and name the host that was dialled; TLS 1.2 is the lowest
  // version.
  std::shared_ptr<grpc::ChannelCredentials> CredentialsFor(const std::string& address) const;
  // PERMISSION_DENIED where the address is a Unix socket of a user who could not run an agent for this one: neither
  // this user's nor root's. Root uses any user's agent.
  static absl::Status CheckSocketOwner(const std::string& address);
  // Empty without TLS.
  const TlsIdentity& identity() const { return identity_; }

 private:
  std::shared_ptr<grpc::ChannelCredentials> MakeCredentials() const;

  bool with_tls_ = false;
  TlsIdentity identity_;
  // Made at the first use: gRPC's threads must not be there before a command has blocked the signals that it waits for.
  mutable Mutex mutex_;
  mutable std::shared_ptr<grpc::ChannelCredentials> tls_ ABSL_GUARDED_BY(mutex_);
};

// Dials the agent once more, as the client did, and explains in one sentence why one side refuses the other: TLS met
// none, or the other way round; a certificate of another CA, expired, for another name; the agent's alert.
// Empty where there is nothing of that kind. Takes at most `limit` and the time of a name's lookup.
std::string DiagnoseHandshake(const std::string& address, const AgentTrust& trust,
                              std::chrono::milliseconds limit = std::chrono::seconds(3));

// gRPC 1.51's error for a failed connection, reworded as the cause and what to do about it: "connection
// refused: no agent is listening; start plimsoll-agent there". `address` is the agent's, "node1:7461" or
// "unix:/run/a.sock". The same of a connection that ended: "connection reset". A text that is not known stays as it is.
// The code stays.
absl::Status ExplainConnectError(const std::string& address, const absl::Status& failure);

// The line that reports it, "node1:7461: connection refused: ...". A name that cannot be resolved is printed
// without its port.
std::string UnreachableInWords(const std::string& address, const absl::Status& failure);

// The line of a host whose --dir cannot be used; `error` is the agent's text. `option`: what gave the directory; empty
// where that may have been one of several.
std::string DirectoryInWords(const std::string& label, const std::string& error, const std::string& option = "--dir");

}  // namespace plimsoll
