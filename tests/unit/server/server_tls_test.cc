#include "agent/server/server_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kNow = 1'800'000'000;

CertificateFacts Controller(std::vector<std::string> names) {
  CertificateFacts facts;
  facts.names = std::move(names);
  facts.client_auth = true;
  facts.not_before_s = kNow - 100;
  facts.not_after_s = kNow + 100;
  return facts;
}

TEST(AllowedCallers, WithoutNamesEveryControllerOfTheCaMay) {
  EXPECT_EQ(AllowedCallers({}).WhyNot(Controller({"ops"}), kNow), "");
  EXPECT_EQ(AllowedCallers({}).WhyNot(Controller({}), kNow), "");
}

TEST(AllowedCallers, WithNamesOnlyThose) {
  const AllowedCallers allowed({"ops", "10.0.0.9", "2001:DB8::1"});
  EXPECT_EQ(allowed.WhyNot(Controller({"other", "OPS"}), kNow), "");
  EXPECT_EQ(allowed.WhyNot(Controller({"10.0.0.9"}), kNow), "");
  EXPECT_EQ(allowed.WhyNot(Controller({"2001:db8:0::1"}), kNow), "");
  EXPECT_THAT(allowed.WhyNot(Controller({"ops.example"}), kNow), HasSubstr("--allow (ops.example)"));
  EXPECT_THAT(allowed.WhyNot(Controller({}), kNow), HasSubstr("it has none"));
}

TEST(AllowedCallers, AWildcardIsANameLikeAnyOther) {
  EXPECT_NE(AllowedCallers({"ops.example"}).WhyNot(Controller({"*.example"}), kNow), "");
  EXPECT_NE(AllowedCallers({"*.example"}).WhyNot(Controller({"ops.example"}), kNow), "");
}

TEST(AllowedCallers, ACertificateThatIsForNoClientMayNotWhateverItsName) {
  CertificateFacts facts = Controller({"ops"});
  facts.client_auth = false;
  facts.server_auth = true;
  EXPECT_THAT(AllowedCallers({}).WhyNot(facts, kNow), HasSubstr("client authentication"));
  EXPECT_THAT(AllowedCallers({"ops"}).WhyNot(facts, kNow), HasSubstr("client authentication"));
}

TEST(AllowedCallers, ACertificateIsGoodOnlyBetweenItsDates) {
  const AllowedCallers allowed({});
  EXPECT_EQ(allowed.WhyNot(Controller({"ops"}), kNow + 99), "");
  EXPECT_THAT(allowed.WhyNot(Controller({"ops"}), kNow + 100), HasSubstr("has expired"));
  EXPECT_THAT(allowed.WhyNot(Controller({"ops"}), kNow - 101), HasSubstr("not yet valid"));
}

}  // namespace
}  // namespace plimsoll
