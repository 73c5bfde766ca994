#include "common/tls/tls.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"

namespace plimsoll {
namespace {

std::string NameText(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0) return "";
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(length)};
}

int64_t UnixSeconds(const ASN1_TIME* time) {
  std::tm fields{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &fields) != 1) return 0;
  return timegm(&fields);
}

std::string StringOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string AddressText(const ASN1_OCTET_STRING* octets) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int length = ASN1_STRING_length(octets);
  const int family = length == 4 ? AF_INET : AF_INET6;
  if (length != 4 && length != 16) return "";
  if (inet_ntop(family, ASN1_STRING_get0_data(octets), text.data(), text.size()) == nullptr) return "";
  return text.data();
}

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

std::vector<std::string> AlternativeNames(X509& certificate) {
  std::vector<std::string> names;
  const GeneralNamesPtr all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (all == nullptr) return names;
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    int type = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), i), &type);
    std::string name;
    if (type == GEN_DNS) {
      name = CanonicalName(StringOf(static_cast<const ASN1_STRING*>(value)));
      if (IsAddress(name)) name.clear();
    } else if (type == GEN_IPADD) {
      name = AddressText(static_cast<const ASN1_OCTET_STRING*>(value));
    }
    // A name with a zero byte in it is an old trick to look like another one.
    if (!name.empty() && name.find('\0') == std::string::npos) names.push_back(name);
  }
  return names;
}

}  // namespace

std::string CanonicalName(const std::string& name) {
  std::string bare = name;
  if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']') bare = bare.substr(1, bare.size() - 2);
  std::array<unsigned char, sizeof(in6_addr)> address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, bare.c_str(), address.data()) == 1 &&
        inet_ntop(family, address.data(), text.data(), text.size()) != nullptr) {
      return text.data();
    }
  }
  return absl::AsciiStrToLower(bare);
}

CertificateFault CertificateFaultOf(long verified) {
  switch (verified) {
    case X509_V_OK:
      return CertificateFault::kNone;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return CertificateFault::kExpired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return CertificateFault::kNotYetValid;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return CertificateFault::kOtherName;
    case X509_V_ERR_INVALID_PURPOSE:
      return CertificateFault::kOtherPurpose;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return CertificateFault::kOtherAuthority;
    default:
      return CertificateFault::kOther;
  }
}

std::string FormatDay(int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm fields{};
  gmtime_r(&time, &fields);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &fields);
  return text.data();
}

CertificateFacts FactsOf(X509& certificate) {
  CertificateFacts facts;
  facts.names = AlternativeNames(certificate);
  facts.subject = NameText(X509_get_subject_name(&certificate));
  facts.issuer = NameText(X509_get_issuer_name(&certificate));
  facts.not_before_s = UnixSeconds(X509_get0_notBefore(&certificate));
  facts.not_after_s = UnixSeconds(X509_get0_notAfter(&certificate));
  const ExtendedUsagePtr usage(
      static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(&certificate, NID_ext_key_usage, nullptr, nullptr)));
  for (int i = 0; usage != nullptr && i < sk_ASN1_OBJECT_num(usage.get()); ++i) {
    const int nid = OBJ_obj2nid(sk_ASN1_OBJECT_value(usage.get(), i));
    facts.server_auth |= nid == NID_server_auth;
    facts.client_auth |= nid == NID_client_auth;
  }
  facts.authority = X509_check_ca(&certificate) == 1;
  return facts;
}

bool NamesHost(const std::string& pem, const std::string& host) {
  const BioPtr bio = BioOf(pem);
  const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr || host.empty()) return false;
  const std::string name = CanonicalName(host);
  if (IsAddress(name)) return X509_check_ip_asc(certificate.get(), name.c_str(), 0) == 1;
  return X509_check_host(certificate.get(), name.data(), name.size(), 0, nullptr) == 1;
}

absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem) {
  const BioPtr bio = BioOf(pem);
  const X509Ptr certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("it holds no certificate in PEM form (", TakeOpenSslError(), ")"));
  }
  return FactsOf(*certificate);
}

namespace {

constexpr int64_t kDaySeconds = 24 * 60 * 60;
// Longest common name in X.509; a longer host name stands among the alternative names alone.
constexpr size_t kMaxCommonName = 64;

absl::Status Failed(const std::string& what) {
  return absl::InternalError(absl::StrCat(what, ": ", TakeOpenSslError()));
}

absl::StatusOr<std::string> TextOf(const BioPtr& bio, bool written) {
  if (!written) return Failed("write PEM");
  char* data = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(length));
}

absl::StatusOr<KeyAndCertificate> ToPem(EVP_PKEY& key, X509& certificate) {
  KeyAndCertificate pem;
  const BioPtr key_bio(BIO_new(BIO_s_mem()));
  PLIMSOLL_ASSIGN_OR_RETURN(pem.key_pem, TextOf(key_bio, PEM_write_bio_PrivateKey(key_bio.get(), &key, nullptr, nullptr,
                                                                                  0, nullptr, nullptr) == 1));
  const BioPtr cert_bio(BIO_new(BIO_s_mem()));
  PLIMSOLL_ASSIGN_OR_RETURN(pem.cert_pem, TextOf(cert_bio, PEM_write_bio_X509(cert_bio.get(), &certificate) == 1));
  return pem;
}

bool AddExtension(X509& certificate, X509& issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

// A random positive number of 127 bits: two certificates of one CA never have the same.
bool SetSerial(X509& certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7fU) | 0x40U);
  const std::unique_ptr<BIGNUM, OpenSslFree<BN_free>> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

struct Contents {
  std::string common_name;
  int64_t from_s;
  int64_t until_s;
  std::vector<std::pair<int, std::string>> extensions;
};

// A certificate for `key`, signed with `issuer_key`; its own issuer where `issuer` is null.
absl::StatusOr<X509Ptr> Sign(const Contents& contents, EVP_PKEY& key, X509* issuer, EVP_PKEY& issuer_key) {
  X509Ptr certificate(X509_new());
  if (certificate == nullptr) return Failed("make a certificate");
  X509& made = *certificate;
  X509& by = issuer == nullptr ? made : *issuer;
  bool good = X509_set_version(&made, X509_VERSION_3) == 1 && SetSerial(made) && X509_set_pubkey(&made, &key) == 1;
  good = good && ASN1_TIME_set(X509_getm_notBefore(&made), contents.from_s) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(&made), contents.until_s) != nullptr;
  X509_NAME* subject = X509_get_subject_name(&made);
  const auto add = [&](const char* field, const std::string& text) {
    return X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0) == 1;
  };
  good = good && add("O", "Plimsoll") && add("CN", contents.common_name.substr(0, kMaxCommonName));
  good = good && X509_set_issuer_name(&made, X509_get_subject_name(&by)) == 1;
  for (const auto& [nid, value] : contents.extensions) good = good && AddExtension(made, by, nid, value);
  good = good && X509_sign(&made, &issuer_key, EVP_sha256()) > 0;
  if (!good) return Failed(absl::StrCat("make a certificate for ", contents.common_name));
  return certificate;
}

std::string AlternativeName(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  const bool is_address =
      inet_pton(AF_INET, name.c_str(), address.data()) == 1 || inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
  return absl::StrCat(is_address ? "IP:" : "DNS:", name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::Create(int64_t now_s, int days) {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("make a key");
  // A name of its own, so that a message can distinguish one CA from another.
  std::array<unsigned char, 4> tag{};
  if (RAND_bytes(tag.data(), tag.size()) != 1) return Failed("make a name");
  std::string name = "Plimsoll CA ";
  for (const unsigned char byte : tag) absl::StrAppend(&name, absl::Hex(byte, absl::kZeroPad2));
  const Contents contents{name,
                          now_s - kDaySeconds,
                          now_s + days * kDaySeconds,
                          {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                           {NID_key_usage, "critical,keyCertSign,cRLSign"},
                           {NID_subject_key_identifier, "hash"}}};
  PLIMSOLL_ASSIGN_OR_RETURN(X509Ptr certificate, Sign(contents, *key, nullptr, *key));
  PLIMSOLL_ASSIGN_OR_RETURN(KeyAndCertificate pem, ToPem(*key, *certificate));
  return std::unique_ptr<CertificateAuthority>(
      new CertificateAuthority(std::move(key), std::move(certificate), std::move(pem)));
}

absl::StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::Load(const KeyAndCertificate& pem,
                                                                                 int64_t now_s) {
  const BioPtr cert_bio = BioOf(pem.cert_pem);
  X509Ptr certificate(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no certificate in PEM form (", TakeOpenSslError(), ")"));
  }
  const BioPtr key_bio = BioOf(pem.key_pem);
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_passphrase, nullptr));
  if (key == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no key in PEM form (", TakeOpenSslError(), ")"));
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the key is not the certificate's");
  }
  const CertificateFacts facts = FactsOf(*certificate);
  if (!facts.authority) return absl::InvalidArgumentError("the certificate is not that of a CA");
  if (facts.not_after_s <= now_s) {
    return absl::InvalidArgumentError(absl::StrCat("the CA expired on ", FormatDay(facts.not_after_s)));
  }
  return std::unique_ptr<CertificateAuthority>(new CertificateAuthority(std::move(key), std::move(certificate), pem));
}

absl::StatusOr<KeyAndCertificate> CertificateAuthority::Issue(const std::string& name, Role role, int64_t now_s,
                                                              int days) const {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("make a key");
  const Contents contents{name,
                          now_s - kDaySeconds,
                          std::min(now_s + days * kDaySeconds, FactsOf(*certificate_).not_after_s),
                          {{NID_basic_constraints, "critical,CA:FALSE"},
                           {NID_key_usage, "critical,digitalSignature"},
                           {NID_ext_key_usage, role == Role::kHost ? "serverAuth" : "clientAuth"},
                           {NID_subject_alt_name, AlternativeName(name)},
                           {NID_subject_key_identifier, "hash"},
                           {NID_authority_key_identifier, "keyid:always"}}};
  PLIMSOLL_ASSIGN_OR_RETURN(const X509Ptr certificate, Sign(contents, *key, certificate_.get(), *key_));
  return ToPem(*key, *certificate);
}

namespace {

// Larger than any bundle of CAs that is meant for a measuring tool.
constexpr size_t kMaxFileBytes = 1 << 20;

absl::Status Wrong(const std::string& option, const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(option, " ", path, ": ", why));
}

absl::StatusOr<std::string> ReadPem(const std::string& option, const std::string& path, bool secret) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file, OpenRegularFile(path, option));
  struct stat facts{};
  if (fstat(file.get(), &facts) != 0) return PosixError(option, path, errno);
  if (secret && (facts.st_mode & S_IRWXO) != 0) {
    return Wrong(option, path, "everybody on this host may use this key: chmod 600 makes it its owner's alone");
  }
  return ReadRest(file.get(), absl::StrCat(option, " ", path), kMaxFileBytes);
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
  // A key with a passphrase is refused rather than asked about: there is no user to ask.
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
