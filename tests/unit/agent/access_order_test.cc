#include "agent/writer/access_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/random_seed.h"

namespace plimsoll {
namespace {

std::vector<uint64_t> All(const RandomOrder& order) {
  std::vector<uint64_t> numbers;
  for (uint64_t place = 0; place < order.count(); ++place) numbers.push_back(order.At(place));
  return numbers;
}

TEST(RandomOrder, HasEveryNumberOnce) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  for (const uint64_t count : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 100U, 1'000U, 4'097U, 65'536U}) {
    const std::vector<uint64_t> numbers = All(RandomOrder(count, seed));
    const std::set<uint64_t> distinct(numbers.begin(), numbers.end());
    EXPECT_EQ(distinct.size(), count);
    EXPECT_EQ(*distinct.rbegin(), count - 1);
  }
}

// Chi-squared over many keys: where a number comes, and which one follows it.
TEST(RandomOrder, PutsEachNumberAnywhereWithEqualChance) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  constexpr uint64_t kCount = 100;
  constexpr uint64_t kOrders = 20'000;
  std::vector<uint64_t> first(kCount);
  std::vector<uint64_t> last(kCount);
  std::vector<uint64_t> step(kCount);
  for (uint64_t order = 0; order < kOrders; ++order) {
    const RandomOrder random(kCount, MixBits(seed + order));
    ++first[random.At(0)];
    ++last[random.At(kCount - 1)];
    ++step[(random.At(51) + kCount - random.At(50)) % kCount];
  }
  const auto chi_squared = [](const std::vector<uint64_t>& counts, uint64_t from) {
    const double expected = static_cast<double>(kOrders) / static_cast<double>(counts.size() - from);
    double sum = 0;
    for (uint64_t i = from; i < counts.size(); ++i) {
      sum += (static_cast<double>(counts[i]) - expected) * (static_cast<double>(counts[i]) - expected) / expected;
    }
    return sum;
  };
  // Six standard deviations above the mean of the distribution with 99 degrees of freedom.
  const double limit = 99 + 6 * std::sqrt(2 * 99.0);
  EXPECT_LT(chi_squared(first, 0), limit);
  EXPECT_LT(chi_squared(last, 0), limit);
  EXPECT_EQ(step[0], 0U);
  EXPECT_LT(chi_squared(step, 1), limit);
}

TEST(Access, ReadsExactlyItsShareOfEachHundredInAnOrderOfEachWritersOwn) {
  for (const uint32_t percent : {0U, 1U, 37U, 50U, 99U, 100U}) {
    const Access access(false, percent, 1, {7, 0, 1});
    uint64_t reads = 0;
    for (uint64_t number = 0; number < 1'000'000; ++number) {
      reads += access.Reads(number) ? 1U : 0U;
      if (number % 100 == 99) {
        ASSERT_EQ(reads, (number + 1) / 100 * percent);
      }
    }
  }
  const auto order = [](Access::Key key) {
    const Access access(false, 50, 1, key);
    std::vector<bool> reads;
    for (uint64_t number = 0; number < 200; ++number) reads.push_back(access.Reads(number));
    return reads;
  };
  EXPECT_EQ(order({7, 0, 1}), order({7, 0, 1}));
  EXPECT_NE(order({8, 0, 1}), order({7, 0, 1}));
  EXPECT_NE(order({7, 1, 1}), order({7, 0, 1}));
  EXPECT_NE(order({7, 0, 2}), order({7, 0, 1}));
}

TEST(OperationPlaces, ARandomPassTakesEveryBlockOnceAndEachPassInAnotherOrder) {
  const ExtentLayout layout(10 * 4096 + 512, 7, 4096);
  const Access access(true, 0, 0, {7, 0, 1});
  OperationPlaces places(layout, 0, &access);
  std::vector<std::vector<uint64_t>> passes(3);
  for (std::vector<uint64_t>& pass : passes) {
    std::set<uint64_t> distinct;
    for (uint64_t block = 0; block < layout.blocks_per_lap(); ++block) {
      const BlockPlace place = places.Take(4096);
      ASSERT_LT(place.extent, 7U);
      ASSERT_EQ(place.offset_bytes % 4096, 0U);
      ASSERT_LE(place.offset_bytes + 4096, layout.file_size_bytes());
      pass.push_back(place.extent * layout.file_size_bytes() + place.offset_bytes);
      distinct.insert(pass.back());
    }
    EXPECT_EQ(distinct.size(), layout.blocks_per_lap());
  }
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
}

TEST(OperationPlaces, WithoutARandomOrderAreThoseOfALog) {
  const ExtentLayout layout(4 * 4096, 2, 4096);
  const Access access(false, 50, 1, {});
  OperationPlaces places(layout, 0, &access);
  for (uint64_t block = 0; block < 20; ++block) EXPECT_EQ(places.Take(4096), layout.PlaceOf(block));
}

}  // namespace
}  // namespace plimsoll
