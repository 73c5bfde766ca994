#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "common/tls/tls.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kNow = 1'800'000'000;  // 2027-01-15
constexpr int64_t kDay = 86400;

X509Ptr Parse(const std::string& pem) {
  const BioPtr bio = BioOf(pem);
  return X509Ptr(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

// What OpenSSL finds wrong with `leaf` under `ca`, for that purpose, at that moment.
int Verify(const std::string& ca, const std::string& leaf, int purpose, int64_t at_s) {
  const std::unique_ptr<X509_STORE, OpenSslFree<X509_STORE_free>> store(X509_STORE_new());
  const X509Ptr authority = Parse(ca);
  X509_STORE_add_cert(store.get(), authority.get());
  const X509Ptr certificate = Parse(leaf);
  const std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_STORE_CTX_set_time(context.get(), 0, at_s);
  X509_STORE_CTX_set_flags(context.get(), X509_V_FLAG_X509_STRICT);
  X509_verify_cert(context.get());
  return X509_STORE_CTX_get_error(context.get());
}

class AuthorityTest : public ::testing::Test {
 protected:
  AuthorityTest() : authority_(*CertificateAuthority::Create(kNow, 3650)) {}

  KeyAndCertificate Issue(const std::string& name, CertificateAuthority::Role role, int days = 30) {
    return *authority_->Issue(name, role, kNow, days);
  }

  const std::unique_ptr<CertificateAuthority> authority_;
};

TEST_F(AuthorityTest, IsACaThatSignsNoOtherCa) {
  const X509Ptr ca = Parse(authority_->pem().cert_pem);
  EXPECT_EQ(X509_check_ca(ca.get()), 1);
  EXPECT_EQ(X509_get_pathlen(ca.get()), 0);
  EXPECT_EQ(X509_get_key_usage(ca.get()), static_cast<uint32_t>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
}

TEST_F(AuthorityTest, AHostsCertificateServesAndIsNoClient) {
  const std::string pem = Issue("alpha.example", CertificateAuthority::Role::kHost).cert_pem;
  const CertificateFacts facts = *ReadCertificate(pem);
  EXPECT_THAT(facts.names, ElementsAre("alpha.example"));
  EXPECT_TRUE(facts.server_auth);
  EXPECT_FALSE(facts.client_auth);
  EXPECT_FALSE(facts.authority);
  const std::string ca = authority_->pem().cert_pem;
  EXPECT_EQ(Verify(ca, pem, X509_PURPOSE_SSL_SERVER, kNow), X509_V_OK);
  EXPECT_EQ(Verify(ca, pem, X509_PURPOSE_SSL_CLIENT, kNow), X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(AuthorityTest, AControllersCertificateIsAClientAndServesNot) {
  const std::string pem = Issue("ops", CertificateAuthority::Role::kController).cert_pem;
  EXPECT_FALSE(ReadCertificate(pem)->server_auth);
  const std::string ca = authority_->pem().cert_pem;
  EXPECT_EQ(Verify(ca, pem, X509_PURPOSE_SSL_CLIENT, kNow), X509_V_OK);
  EXPECT_EQ(Verify(ca, pem, X509_PURPOSE_SSL_SERVER, kNow), X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(AuthorityTest, AddressesAreNamesOfTheirOwnKind) {
  for (const char* address : {"10.0.0.1", "2001:db8::1"}) {
    const std::string pem = Issue(address, CertificateAuthority::Role::kHost).cert_pem;
    EXPECT_THAT(ReadCertificate(pem)->names, ElementsAre(address));
    const X509Ptr certificate = Parse(pem);
    EXPECT_EQ(X509_check_ip_asc(certificate.get(), address, 0), 1);
    const GeneralNamesPtr names(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
    ASSERT_EQ(sk_GENERAL_NAME_num(names.get()), 1);
    EXPECT_EQ(sk_GENERAL_NAME_value(names.get(), 0)->type, GEN_IPADD);
  }
}

TEST_F(AuthorityTest, IsValidForTheDaysAskedForButNoLongerThanTheCa) {
  const CertificateFacts facts = *ReadCertificate(Issue("a", CertificateAuthority::Role::kHost, 30).cert_pem);
  EXPECT_EQ(facts.not_before_s, kNow - kDay) << "a host's clock may be behind";
  EXPECT_EQ(facts.not_after_s, kNow + 30 * kDay);
  const std::string pem = Issue("a", CertificateAuthority::Role::kHost, 4000).cert_pem;
  EXPECT_EQ(ReadCertificate(pem)->not_after_s, kNow + 3650 * kDay);
  EXPECT_EQ(Verify(authority_->pem().cert_pem, pem, X509_PURPOSE_SSL_SERVER, kNow + 3651 * kDay),
            X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_F(AuthorityTest, KeysAndSerialNumbersDiffer) {
  const KeyAndCertificate first = Issue("a", CertificateAuthority::Role::kHost);
  const KeyAndCertificate second = Issue("a", CertificateAuthority::Role::kHost);
  EXPECT_NE(first.key_pem, second.key_pem);
  const X509Ptr one = Parse(first.cert_pem);
  const X509Ptr other = Parse(second.cert_pem);
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(one.get()), X509_get0_serialNumber(other.get())), 0);
}

TEST_F(AuthorityTest, IsTheSameOneWhenLoadedAgain) {
  const auto again = CertificateAuthority::Load(authority_->pem(), kNow);
  ASSERT_THAT(again, IsOk());
  const std::string pem = (*again)->Issue("beta", CertificateAuthority::Role::kHost, kNow, 30)->cert_pem;
  EXPECT_EQ(Verify(authority_->pem().cert_pem, pem, X509_PURPOSE_SSL_SERVER, kNow), X509_V_OK);
}

TEST_F(AuthorityTest, WhatIsNoGoodCaIsNotLoaded) {
  const auto other = *CertificateAuthority::Create(kNow, 10);
  KeyAndCertificate mixed = authority_->pem();
  mixed.key_pem = other->pem().key_pem;
  EXPECT_THAT(CertificateAuthority::Load(mixed, kNow), StatusIs(absl::StatusCode::kInvalidArgument, "key is not"));
  EXPECT_THAT(CertificateAuthority::Load(other->pem(), kNow + 11 * kDay),
              StatusIs(absl::StatusCode::kInvalidArgument, "the CA expired on 2027-01-25"));
  EXPECT_THAT(CertificateAuthority::Load(Issue("a", CertificateAuthority::Role::kHost), kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, "not that of a CA"));
  EXPECT_THAT(CertificateAuthority::Load({"", ""}, kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, "no certificate"));
}

}  // namespace
}  // namespace plimsoll
