#include "common/tls/authority.h"

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/tls/certificate.h"

namespace plimsoll {
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
  // A name of its own, so that a message can tell one CA from another.
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

}  // namespace plimsoll
