#include "agent/server/caller_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

CertificateFacts Controller(std::vector<std::string> names) {
  CertificateFacts facts;
  facts.names = std::move(names);
  facts.client_auth = true;
  return facts;
}

TEST(AllowedCallers, WithoutNamesEveryControllerOfTheCaMay) {
  EXPECT_EQ(AllowedCallers({}).WhyNot(Controller({"ops"})), "");
  EXPECT_EQ(AllowedCallers({}).WhyNot(Controller({})), "");
}

TEST(AllowedCallers, WithNamesOnlyThose) {
  const AllowedCallers allowed({"ops", "10.0.0.9", "2001:DB8::1"});
  EXPECT_EQ(allowed.WhyNot(Controller({"other", "OPS"})), "");
  EXPECT_EQ(allowed.WhyNot(Controller({"10.0.0.9"})), "");
  EXPECT_EQ(allowed.WhyNot(Controller({"2001:db8:0::1"})), "");
  EXPECT_THAT(allowed.WhyNot(Controller({"ops.example"})), HasSubstr("--allow (ops.example)"));
  EXPECT_THAT(allowed.WhyNot(Controller({})), HasSubstr("it has none"));
}

TEST(AllowedCallers, AWildcardIsANameLikeAnyOther) {
  EXPECT_NE(AllowedCallers({"ops.example"}).WhyNot(Controller({"*.example"})), "");
  EXPECT_NE(AllowedCallers({"*.example"}).WhyNot(Controller({"ops.example"})), "");
}

TEST(AllowedCallers, ACertificateThatIsForNoClientMayNotWhateverItsName) {
  CertificateFacts facts = Controller({"ops"});
  facts.client_auth = false;
  facts.server_auth = true;
  EXPECT_THAT(AllowedCallers({}).WhyNot(facts), HasSubstr("client authentication"));
  EXPECT_THAT(AllowedCallers({"ops"}).WhyNot(facts), HasSubstr("client authentication"));
}

}  // namespace
}  // namespace plimsoll
