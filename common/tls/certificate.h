// What a certificate says, read from its text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tls/openssl.h"

namespace plimsoll {

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

// Reads the first certificate of a PEM text. INVALID_ARGUMENT says what OpenSSL thinks of it.
absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem);

CertificateFacts FactsOf(X509& certificate);

// Whether the certificate in a PEM text names `host`: an address by its IP address names alone, any other by its DNS
// names (or, where it has none, its common name). False where it cannot be read.
bool NamesHost(const std::string& pem, const std::string& host);

// A name as it is compared: lower case, IP addresses in one spelling, the brackets of "[::1]" left out.
std::string CanonicalName(const std::string& name);

// "2027-03-01" in UTC.
std::string FormatDay(int64_t unix_s);

}  // namespace plimsoll
