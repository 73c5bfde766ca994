#include "common/tls/certificate.h"

#include <arpa/inet.h>
#include <openssl/pem.h>

#include <array>
#include <ctime>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

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

}  // namespace plimsoll
