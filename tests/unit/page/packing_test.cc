#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "controller/page/html_page.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/page/unpack.h"

namespace plimsoll {
namespace {

using plimsoll::tests::Unpack;

TEST(PackColumn, GivesBackEveryValue) {
  EXPECT_THAT(Unpack(PackColumn({0, 1, -1, 63, 64, -64, -65, 1'000'000'007, 3})),
              ElementsAre(0, 1, -1, 63, 64, -64, -65, 1'000'000'007, 3));
}

TEST(PackColumn, OfNothingIsNothing) {
  EXPECT_EQ(PackColumn({}), "");
  EXPECT_THAT(Unpack(PackColumn({})), IsEmpty());
}

TEST(PackColumn, IsExactUpToItsBoundAndClampsBeyond) {
  EXPECT_THAT(Unpack(PackColumn({kMaxPacked, -kMaxPacked, INT64_MAX, INT64_MIN, 7})),
              ElementsAre(kMaxPacked, -kMaxPacked, kMaxPacked, -kMaxPacked, 7));
}

TEST(PackColumn, GivesBackRandomColumns) {
  const unsigned seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<int64_t> values;
    std::vector<double> expected;
    for (uint64_t size = random() % 20; size > 0; --size) {
      const uint64_t magnitude = random() >> (13 + random() % 51);
      values.push_back(random() % 2 == 0 ? static_cast<int64_t>(magnitude) : -static_cast<int64_t>(magnitude));
      expected.push_back(static_cast<double>(values.back()));
    }
    ASSERT_EQ(Unpack(PackColumn(values)), expected);
  }
}

TEST(PackColumn, TakesTwoBytesForWhatChangesLittle) {
  std::vector<int64_t> values;
  values.reserve(3'000);
  for (int64_t at = 0; at < 3'000; ++at) values.push_back(400'000'000 + at * at % 4'001);
  EXPECT_LT(PackColumn(values).size(), values.size() * 3);
}

}  // namespace
}  // namespace plimsoll
