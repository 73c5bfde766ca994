#include "common/tls/identity.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/posix_error.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace plimsoll {
namespace {

// Larger than any bundle of CAs that is meant for a measuring tool.
constexpr size_t kMaxFileBytes = 1 << 20;

absl::Status Wrong(const std::string& option, const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(option, " ", path, ": ", why));
}

absl::StatusOr<std::string> ReadPem(const std::string& option, const std::string& path, bool secret) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return PosixError(option, path, errno);
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return PosixError(option, path, errno);
  if (!S_ISREG(facts.st_mode)) return Wrong(option, path, "it is no regular file");
  if (secret && (facts.st_mode & S_IRWXO) != 0) {
    return Wrong(option, path, "everybody on this host may use this key: chmod 600 makes it its owner's alone");
  }
  std::string text;
  std::array<char, 16384> piece{};
  ssize_t got = 0;
  while ((got = read(file.get(), piece.data(), piece.size())) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return PosixError(option, path, errno);
    text.append(piece.data(), static_cast<size_t>(got));
    if (text.size() > kMaxFileBytes) return Wrong(option, path, "it is longer than 1 MiB");
  }
  return text;
}

}  // namespace

absl::Status CheckTlsPaths(const TlsPaths& paths) {
  if (!paths.given()) return absl::OkStatus();
  std::vector<std::string> missing;
  if (paths.ca.empty()) missing.emplace_back("--tls-ca");
  if (paths.cert.empty()) missing.emplace_back("--tls-cert");
  if (paths.key.empty()) missing.emplace_back("--tls-key");
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("TLS needs --tls-ca, --tls-cert and --tls-key together: ", absl::StrJoin(missing, " and "), " ",
                   missing.size() == 1 ? "is" : "are", " missing"));
}

absl::StatusOr<TlsIdentity> ReadTlsIdentity(const TlsPaths& paths) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTlsPaths(paths));
  TlsIdentity identity;
  PLIMSOLL_ASSIGN_OR_RETURN(identity.ca_pem, ReadPem("--tls-ca", paths.ca, false));
  PLIMSOLL_ASSIGN_OR_RETURN(identity.cert_pem, ReadPem("--tls-cert", paths.cert, false));
  PLIMSOLL_ASSIGN_OR_RETURN(identity.key_pem, ReadPem("--tls-key", paths.key, true));
  const absl::StatusOr<CertificateFacts> ca = ReadCertificate(identity.ca_pem);
  if (!ca.ok()) return Wrong("--tls-ca", paths.ca, std::string(ca.status().message()));
  if (!ca->authority) return Wrong("--tls-ca", paths.ca, "it is not the certificate of a CA");
  const BioPtr cert_bio = BioOf(identity.cert_pem);
  const X509Ptr certificate(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return Wrong("--tls-cert", paths.cert,
                 absl::StrCat("it holds no certificate in PEM form (", TakeOpenSslError(), ")"));
  }
  const BioPtr key_bio = BioOf(identity.key_pem);
  // A key with a passphrase is refused rather than asked about: there is nobody to ask.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const KeyPtr key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    return Wrong("--tls-key", paths.key,
                 absl::StrCat("it holds no key in PEM form without a passphrase (", TakeOpenSslError(), ")"));
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return Wrong("--tls-key", paths.key, absl::StrCat("it is not the key of the certificate ", paths.cert));
  }
  identity.certificate = FactsOf(*certificate);
  return identity;
}

}  // namespace plimsoll
