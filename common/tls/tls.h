// TLS: OpenSSL's objects, the content of certificates, a private CA, and who a program is towards its peers.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll {

// Owners of OpenSSL's objects.
template <auto kFree>
struct OpenSslFree {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioPtr = std::unique_ptr<BIO, OpenSslFree<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, OpenSslFree<X509_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpenSslFree<X509_EXTENSION_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpenSslFree<GENERAL_NAMES_free>>;
using ExtendedUsagePtr = std::unique_ptr<EXTENDED_KEY_USAGE, OpenSslFree<EXTENDED_KEY_USAGE_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, OpenSslFree<SSL_free>>;

// The first error of this thread's queue in OpenSSL's words, such as "no start line"; empties the queue.
inline std::string TakeOpenSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

// A BIO that reads `text`, which must outlive it.
inline BioPtr BioOf(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// The content of a certificate.
struct CertificateFacts {
  // Subject alternative names: DNS names in lower case, and IP addresses as inet_ntop writes them. Other kinds (URIs,
  // mail addresses) are left out, and so is a DNS name that is written as an address: a name of one kind is never taken
  // for one of another.
  std::vector<std::string> names;
  // "CN=alpha" and the like.
  std::string subject;
  std::string issuer;
  // Unix time.
  int64_t not_before_s = 0;
  int64_t not_after_s = 0;
  // Said by the certificate itself (extended key usage): it may serve, it may be a client.
  bool server_auth = false;
  bool client_auth = false;
  // It may sign others.
  bool authority = false;
};

// Reads the first certificate of a PEM text. INVALID_ARGUMENT has OpenSSL's reason.
absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem);

CertificateFacts FactsOf(X509& certificate);

// Whether the certificate in a PEM text names `host`: an address by its IP address names alone, any other by its DNS
// names (or, where it has none, its common name). False where it cannot be read.
bool NamesHost(const std::string& pem, const std::string& host);

// A name as it is compared: lower case, IP addresses in one spelling, the brackets of "[::1]" left out.
std::string CanonicalName(const std::string& name);

// What OpenSSL holds against a certificate (X509_V_ERR_...), as far as messages differ by it.
enum class CertificateFault { kNone, kExpired, kNotYetValid, kOtherName, kOtherPurpose, kOtherAuthority, kOther };
CertificateFault CertificateFaultOf(long verified);

// "2027-03-01" in UTC.
std::string FormatDay(int64_t unix_s);

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
  // A CA that was made before. INVALID_ARGUMENT: no CA, another key, or expired at `now_s` (Unix time).
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

// The files behind --tls-ca, --tls-cert and --tls-key: who a program is towards its peers, and whom it trusts.
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

// Reads and checks the three files: a CA, a certificate, its key, which only owner and group may read. A
// certificate that has expired is not refused: the peer refuses it. INVALID_ARGUMENT, or the system's error,
// names option and file.
absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsPaths& paths);

}  // namespace plimsoll
