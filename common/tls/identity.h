// Who a program is towards its peers, and whom it trusts: the files behind --tls-ca, --tls-cert and --tls-key.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/tls/certificate.h"

namespace plimsoll {

struct TlsPaths {
  std::string ca;
  std::string cert;
  std::string key;

  // Whether any is given; then all are (CheckTlsPaths).
  bool given() const { return !ca.empty() || !cert.empty() || !key.empty(); }
};

// All three options, or none. INVALID_ARGUMENT names those that are missing.
absl::Status CheckTlsPaths(const TlsPaths& paths);

// The files' contents, in PEM form, found to fit together.
struct TlsIdentity {
  std::string ca_pem;
  std::string cert_pem;  // the certificate, then those that link it to the CA, if any
  std::string key_pem;
  CertificateFacts certificate;

  bool operator==(const TlsIdentity& other) const {
    return ca_pem == other.ca_pem && cert_pem == other.cert_pem && key_pem == other.key_pem;
  }
};

// Reads and checks the three files: a CA, a certificate, its key, which nobody but owner and group may read. A
// certificate that has expired is not refused: whoever is shown it tells. INVALID_ARGUMENT, or what the system says,
// names option and file.
absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsPaths& paths);

}  // namespace plimsoll
