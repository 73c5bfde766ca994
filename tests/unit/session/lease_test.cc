#include <gtest/gtest.h>

#include "agent/session/session.h"

namespace plimsoll {
namespace {

TEST(Lease, MovesWithEveryMessage) {
  Lease lease({1'000}, 100);
  EXPECT_TRUE(lease.Renew({1'050}));
  EXPECT_EQ(lease.deadline_ns().load(), 1'150);
  EXPECT_FALSE(lease.Expired({1'149}));
  EXPECT_TRUE(lease.Expired({1'150}));
}

TEST(Lease, IsNotRevivedByAMessageThatComesTooLate) {
  Lease lease({0}, 100);
  EXPECT_FALSE(lease.Renew({100}));
  EXPECT_FALSE(lease.Renew({5'000}));
  EXPECT_EQ(lease.deadline_ns().load(), 100);
}

TEST(Lease, NeverMovesBack) {
  Lease lease({0}, 100);
  EXPECT_TRUE(lease.Renew({50}));
  EXPECT_TRUE(lease.Renew({20})) << "an older message is no reason to expire";
  EXPECT_EQ(lease.deadline_ns().load(), 150);
}

TEST(Lease, AShorterLengthCountsAtOnceAndALongerOneFromTheNextMessage) {
  Lease lease({0}, 1'000);
  lease.SetLength({0}, 100);
  EXPECT_EQ(lease.deadline_ns().load(), 100);
  lease.SetLength({0}, 5'000);
  EXPECT_EQ(lease.deadline_ns().load(), 100);
  EXPECT_TRUE(lease.Renew({10}));
  EXPECT_EQ(lease.deadline_ns().load(), 5'010);
}

}  // namespace
}  // namespace plimsoll
