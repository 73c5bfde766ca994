#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "controller/page/html_page.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

TEST(ThinRows, KeepsAllWhereTheyAreFewEnough) {
  EXPECT_THAT(ThinRows({{{5, 1, 4}, false}}, 3, 3, {}), ElementsAre(0, 1, 2));
  EXPECT_THAT(ThinRows({}, 0, 0, {}), SizeIs(0));
}

TEST(ThinRows, KeepsTheSmallestAndLargestOfEachInterval) {
  // Two intervals of five; the first and last row stay in any case.
  const ThinColumn column{{3, 9, 2, 4, 5, 1, 1, 8, 2, 2}, false};
  EXPECT_THAT(ThinRows({column}, 10, 4, {}), ElementsAre(0, 1, 2, 5, 7, 9));
}

TEST(ThinRows, KeepsWhatItMust) {
  const ThinColumn column{{3, 9, 2, 4, 5, 1, 1, 8, 2, 2}, false};
  EXPECT_THAT(ThinRows({column}, 10, 4, {3}), Contains(3));
}

TEST(ThinRows, TakesNothingForAMinimumWhereZeroIsNothing) {
  const ThinColumn column{{7, 0, 3, 0, 5, 6, 0, 9, 8, 7}, true};
  EXPECT_THAT(ThinRows({column}, 10, 2, {}), ElementsAre(0, 2, 7, 9));
}

TEST(ThinRows, OfRandomColumnsKeepsEveryExtremeAndStaysWithinItsLimit) {
  const unsigned seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const int rows = static_cast<int>(500 + random() % 2'000);
    const int limit = static_cast<int>(60 + random() % 300);
    std::vector<ThinColumn> columns(3);
    for (ThinColumn& column : columns) {
      for (int row = 0; row < rows; ++row) column.values.push_back(static_cast<int64_t>(random() % 100'000));
    }
    const std::vector<int> kept = ThinRows(columns, rows, limit, {});
    ASSERT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    ASSERT_EQ(std::adjacent_find(kept.begin(), kept.end()), kept.end());
    ASSERT_LE(kept.size(), static_cast<size_t>(limit) + 2);
    for (const ThinColumn& column : columns) {
      std::vector<int64_t> values;
      values.reserve(kept.size());
      for (const int row : kept) values.push_back(column.values[static_cast<size_t>(row)]);
      ASSERT_EQ(*std::max_element(values.begin(), values.end()),
                *std::max_element(column.values.begin(), column.values.end()));
      ASSERT_EQ(*std::min_element(values.begin(), values.end()),
                *std::min_element(column.values.begin(), column.values.end()));
    }
  }
}

}  // namespace
}  // namespace plimsoll
