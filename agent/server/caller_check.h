// Which controllers may use an agent that speaks TLS.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/server/refusals.h"
#include "common/clock.h"
#include "common/tls/certificate.h"

namespace plimsoll {

// What an agent was told with --allow.
class AllowedCallers {
 public:
  // Without names: every certificate of the CA that is meant for a client.
  explicit AllowedCallers(const std::vector<std::string>& names);

  // Empty where a caller with this certificate may use the agent at `now_s` (Unix time); otherwise why not, as the
  // agent's log says it. A TLS session that is resumed shows the certificate of the first handshake, and nobody looks
  // at its dates again but this.
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

}  // namespace plimsoll
