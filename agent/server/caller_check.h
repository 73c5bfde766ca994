// Which controllers may use an agent that speaks TLS.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/server/refusals.h"
#include "common/tls/certificate.h"

namespace plimsoll {

// What an agent was told with --allow.
class AllowedCallers {
 public:
  // Without names: every certificate of the CA that is meant for a client.
  explicit AllowedCallers(const std::vector<std::string>& names);

  // Empty where a caller with this certificate may use the agent; otherwise why not, as the agent's log says it.
  std::string WhyNot(const CertificateFacts& certificate) const;

 private:
  std::set<std::string> names_;
};

// Looks at the certificate of every call, whichever it is, before the service sees it. A caller that may not gets
// PERMISSION_DENIED and nothing else.
class CallerCheck final : public grpc::AuthMetadataProcessor {
 public:
  CallerCheck(const std::vector<std::string>& allowed, std::shared_ptr<Refusals> refusals)
      : allowed_(allowed), refusals_(std::move(refusals)) {}

  // Runs where the call arrives: it neither waits nor takes long.
  bool IsBlocking() const override { return false; }
  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context, OutputMetadata* consumed,
                       OutputMetadata* response) override;

 private:
  const AllowedCallers allowed_;
  const std::shared_ptr<Refusals> refusals_;
};

}  // namespace plimsoll
