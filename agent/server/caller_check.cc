#include "agent/server/caller_check.h"

#include <grpc/grpc_security_constants.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"

namespace plimsoll {

AllowedCallers::AllowedCallers(const std::vector<std::string>& names) {
  for (const std::string& name : names) names_.insert(CanonicalName(name));
}

std::string AllowedCallers::WhyNot(const CertificateFacts& certificate, int64_t now_s) const {
  if (certificate.not_after_s <= now_s) return "its certificate has expired";
  if (certificate.not_before_s > now_s) return "its certificate is not yet valid: is a clock wrong?";
  // OpenSSL lets a certificate pass that says nothing of its use; this agent does not.
  if (!certificate.client_auth) return "its certificate is not for a controller (no client authentication)";
  if (names_.empty()) return "";
  const bool allowed = std::any_of(certificate.names.begin(), certificate.names.end(),
                                   [&](const std::string& name) { return names_.count(CanonicalName(name)) > 0; });
  if (allowed) return "";
  return absl::StrCat("none of its names is among this agent's --allow (",
                      certificate.names.empty() ? "it has none" : PlainText(absl::StrJoin(certificate.names, ", ")),
                      ")");
}

grpc::Status CallerCheck::Process(const InputMetadata& /*metadata*/, grpc::AuthContext* context,
                                  OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) {
  const auto found = context->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  const absl::StatusOr<CertificateFacts> certificate =
      found.empty() ? absl::StatusOr<CertificateFacts>(absl::UnauthenticatedError("no certificate"))
                    : ReadCertificate({found.front().data(), found.front().size()});
  if (!certificate.ok()) {
    refusals_->Add("a controller", "a controller", "its certificate cannot be read");
    return {grpc::StatusCode::UNAUTHENTICATED, "not trusted: the controller's certificate cannot be read"};
  }
  const int64_t now_s = clock_.WallNow().value / kNsPerSecond;
  const std::string why = allowed_.WhyNot(*certificate, now_s);
  if (why.empty()) return grpc::Status::OK;
  const std::string who = absl::StrCat("the controller ", PlainText(certificate->subject));
  refusals_->Add(who, who, why);
  if (certificate->not_after_s <= now_s || certificate->not_before_s > now_s) {
    return {
        grpc::StatusCode::UNAUTHENTICATED,
        absl::StrCat("not trusted: this controller's certificate is valid from ", FormatDay(certificate->not_before_s),
                     " to ", FormatDay(certificate->not_after_s), ", and the agent's clock says ", FormatDay(now_s))};
  }
  return {grpc::StatusCode::PERMISSION_DENIED,
          certificate->client_auth
              ? absl::StrCat("not trusted: none of this controller's names (",
                             PlainText(absl::StrJoin(certificate->names, ", ")),
                             ") is among those that the agent was started with (--allow)")
              : std::string("not trusted: this controller's certificate is not for a client (extended key usage)")};
}

}  // namespace plimsoll
