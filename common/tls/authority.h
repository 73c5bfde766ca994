// A private CA: makes certificates for hosts and controllers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/tls/openssl.h"

namespace plimsoll {

struct KeyAndCertificate {
  std::string key_pem;
  std::string cert_pem;
};

// Holds a CA's key and certificate. Keys are on the curve P-256, signatures with SHA-256.
class CertificateAuthority {
 public:
  enum class Role { kHost, kController };

  // A new CA, valid from a day ago for `days`.
  static absl::StatusOr<std::unique_ptr<CertificateAuthority>> Create(int64_t now_s, int days);
  // One that was made before. INVALID_ARGUMENT: no CA, another key, or expired at `now_s` (Unix time).
  static absl::StatusOr<std::unique_ptr<CertificateAuthority>> Load(const KeyAndCertificate& pem, int64_t now_s);

  KeyAndCertificate pem() const { return pem_; }

  // A new key, and its certificate for `name`: a DNS name or an IP address, which becomes its alternative name. A
  // host's is for serving alone, a controller's for being a client alone. Valid from a day ago, for `days` from now or
  // as long as the CA is.
  absl::StatusOr<KeyAndCertificate> Issue(const std::string& name, Role role, int64_t now_s, int days) const;

 private:
  CertificateAuthority(KeyPtr key, X509Ptr certificate, KeyAndCertificate pem)
      : key_(std::move(key)), certificate_(std::move(certificate)), pem_(std::move(pem)) {}

  const KeyPtr key_;
  const X509Ptr certificate_;
  const KeyAndCertificate pem_;
};

}  // namespace plimsoll
