#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "common/tls/tls.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kIssuedAtS = 1'800'000'000;

class IdentityTest : public ::testing::Test {
 protected:
  IdentityTest() {
    const auto authority = *CertificateAuthority::Create(kIssuedAtS, 100);
    const auto pair = *authority->Issue("alpha", CertificateAuthority::Role::kHost, kIssuedAtS, 10);
    paths_ = {Write("ca.crt", authority->pem().cert_pem), Write("a.crt", pair.cert_pem), Write("a.key", pair.key_pem)};
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(directory_.Sub(name)) << text;
    chmod(directory_.Sub(name).c_str(), 0600);
    return directory_.Sub(name);
  }

  const tests::TempDirectory directory_;
  TlsPaths paths_;
};

TEST_F(IdentityTest, ReadsWhatFitsTogether) {
  const auto identity = ReadTlsIdentity(paths_);
  ASSERT_THAT(identity, IsOk());
  EXPECT_EQ(identity->certificate.names.at(0), "alpha");
  EXPECT_EQ(identity->certificate.not_after_s, kIssuedAtS + 10 * 86400);
}

TEST_F(IdentityTest, NamesTheOptionsThatAreMissing) {
  EXPECT_THAT(CheckTlsPaths({}), IsOk());
  EXPECT_THAT(CheckTlsPaths({"a", "", ""}),
              StatusIs(absl::StatusCode::kInvalidArgument, "--tls-cert and --tls-key are missing"));
  EXPECT_THAT(CheckTlsPaths({"a", "b", ""}), StatusIs(absl::StatusCode::kInvalidArgument, "--tls-key is missing"));
}

TEST_F(IdentityTest, AKeyThatEverybodyReadsIsRefused) {
  chmod(paths_.key.c_str(), 0640);
  EXPECT_THAT(ReadTlsIdentity(paths_), IsOk()) << "a group may share it";
  chmod(paths_.key.c_str(), 0644);
  EXPECT_THAT(ReadTlsIdentity(paths_), StatusIs(absl::StatusCode::kInvalidArgument, "chmod 600"));
}

TEST_F(IdentityTest, FilesThatHoldSomethingElseAreNamed) {
  const TlsPaths good = paths_;
  paths_.cert = Write("none.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(ReadTlsIdentity(paths_), StatusIs(absl::StatusCode::kInvalidArgument, "--tls-cert " + paths_.cert));
  paths_ = good;
  paths_.key = Write("none.key", "");
  EXPECT_THAT(ReadTlsIdentity(paths_), StatusIs(absl::StatusCode::kInvalidArgument, "--tls-key " + paths_.key));
  paths_ = good;
  paths_.ca = good.cert;
  EXPECT_THAT(ReadTlsIdentity(paths_), StatusIs(absl::StatusCode::kInvalidArgument, "not the certificate of a CA"));
  paths_ = good;
  paths_.key = directory_.path();
  EXPECT_THAT(ReadTlsIdentity(paths_),
              StatusIs(absl::StatusCode::kInvalidArgument, "is a directory; name a file in it"));
  paths_.key = Write("long.key", std::string((1 << 20) + 1, 'x'));
  EXPECT_THAT(ReadTlsIdentity(paths_), StatusIs(absl::StatusCode::kInvalidArgument, "larger than 1048576 bytes"));
}

TEST(CanonicalName, IsOneSpellingForEach) {
  EXPECT_EQ(CanonicalName("Alpha.Example"), "alpha.example");
  EXPECT_EQ(CanonicalName("[2001:DB8:0:0::1]"), "2001:db8::1");
  EXPECT_EQ(CanonicalName("10.0.0.1"), "10.0.0.1");
}

}  // namespace
}  // namespace plimsoll
