// Which pages and calls records, messages and transactions take.
#include "agent/restart/restart_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr uint64_t kAreaOffset = 3 * 4096;

TEST(RoundTrips, OfTwoPointFourAreExactly1200For500RecordsAnd2400For1000) {
  // The nearest binary fraction of 2.4 is smaller than 2.4: times 500 it is less than 1200.
  const RoundTrips round_trips(2.4);
  EXPECT_EQ(round_trips.Before(500), 1200U);
  EXPECT_EQ(round_trips.Before(1000), 2400U);
  uint64_t sum = 0;
  for (uint64_t record = 0; record < 1000; ++record) {
    EXPECT_THAT(round_trips.Of(record), AnyOf(2U, 3U)) << record;
    sum += round_trips.Of(record);
  }
  EXPECT_EQ(sum, 2400U);
}

TEST(RoundTrips, DoNotDriftOverAsManyRecordsAsATrialHas) {
  EXPECT_EQ(RoundTrips(2.4).Before(kMostRestartItems), 2'400'000'000U);
  EXPECT_EQ(RoundTrips(0.1).Before(kMostRestartItems), 100'000'000U);
  EXPECT_EQ(RoundTrips(RoundTrips::kMost).Before(kMostRestartItems), 1'000'000'000'000U);
  EXPECT_EQ(RoundTrips(RoundTrips::kLeast).Before(kMostRestartItems), 1'000'000U);
}

TEST(RoundTrips, BelowOneLeaveRecordsWithoutACall) {
  const RoundTrips round_trips(0.25);
  const std::vector<uint64_t> calls = {round_trips.Of(0), round_trips.Of(1), round_trips.Of(2), round_trips.Of(3)};
  EXPECT_THAT(calls, ElementsAre(0U, 0U, 0U, 1U));
}

TEST(DealtItems, GoToTheQueuesInTurnAndAreRoundedOutToWholePages) {
  const DealtItems records(3, kAreaOffset, 2798);
  EXPECT_EQ(records.PagesOf(0), (QueueRange{0, 3, 1}));
  EXPECT_EQ(records.PagesOf(1), (QueueRange{1, 3, 1}));
  EXPECT_EQ(records.PagesOf(2), (QueueRange{2, 3, 1}));
  // The second record of the first queue begins at byte 2798 of its messages, and ends in the next page.
  EXPECT_EQ(records.PagesOf(3), (QueueRange{0, 3, 2}));
  EXPECT_EQ(records.FirstPageOf(3), (QueueRange{0, 3, 1}));
  EXPECT_EQ(records.PagesOf(6), (QueueRange{0, 4, 2}));
  EXPECT_EQ(DealtItems(1, kAreaOffset, 4096).PagesOf(5), (QueueRange{0, 8, 1}));
}

TEST(DealtItems, TakeNoMorePagesThanTheirSizeAllowsWhereverTheyBegin) {
  for (const uint64_t bytes : {1U, 8U, 4095U, 4096U, 4097U, 100'000U}) {
    const DealtItems items(2, kAreaOffset, bytes);
    for (uint64_t item = 0; item < 10'000; ++item) {
      ASSERT_LE(items.PagesOf(item).pages, items.MostPages()) << bytes << " " << item;
    }
  }
}

TEST(DealtItems, FitIfTheFullestQueueHasRoom) {
  const DealtItems items(3, kAreaOffset, 1000);
  EXPECT_TRUE(items.Fit(6, 2000));
  EXPECT_FALSE(items.Fit(7, 2000));
  EXPECT_TRUE(items.Fit(7, 3000));
  EXPECT_FALSE(items.Fit(1, 999));
}

TEST(RedoBatch, MergesNeighboursDropsDuplicatesAndKeepsTheQueuesApart) {
  RedoBatch batch(1);
  for (const QueueRange& range : {QueueRange{1, 7, 1}, {0, 9, 2}, {0, 3, 2}, {0, 4, 1}, {0, 5, 1}, {1, 8, 1}}) {
    batch.Add(range);
  }
  EXPECT_THAT(batch.Merge(), ElementsAre(QueueRange{0, 3, 3}, QueueRange{0, 9, 2}, QueueRange{1, 7, 2}));
  EXPECT_TRUE(batch.empty());
  EXPECT_THAT(batch.Merge(), IsEmpty());
}

TEST(RedoBatch, CutsRangesAfterAMebibyte) {
  RedoBatch batch(600);
  batch.Add({0, 10, 600});
  EXPECT_THAT(batch.Merge(), ElementsAre(QueueRange{0, 10, 256}, QueueRange{0, 266, 256}, QueueRange{0, 522, 88}));
}

TEST(RedoBatch, TakesAtMost64MebibytesButAlwaysOneRecord) {
  RedoBatch batch(RedoBatch::kMostPages + 1);
  const QueueRange huge{0, 0, RedoBatch::kMostPages + 1};
  EXPECT_TRUE(batch.Fits(huge));
  batch.Add(huge);
  EXPECT_FALSE(batch.Fits({0, 0, 1}));
  batch.Merge();
  batch.Add({0, 0, RedoBatch::kMostPages - 1});
  EXPECT_TRUE(batch.Fits({0, 0, 1}));
  EXPECT_FALSE(batch.Fits({0, 0, 2}));
}

TEST(RedoBatch, HoldsEveryPageThatWasAddedExactlyOnce) {
  const uint32_t seed = RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    RedoBatch batch(8);
    std::set<std::pair<uint32_t, uint64_t>> pages;
    for (int record = 0; record < 200; ++record) {
      const QueueRange range{static_cast<uint32_t>(random() % 3), random() % 1000, random() % 8 + 1};
      batch.Add(range);
      for (uint64_t page = 0; page < range.pages; ++page) pages.emplace(range.queue, range.first + page);
    }
    std::vector<std::pair<uint32_t, uint64_t>> merged;
    for (const QueueRange& range : batch.Merge()) {
      ASSERT_LE(range.pages, RedoBatch::kMostPagesOfCall);
      for (uint64_t page = 0; page < range.pages; ++page) merged.emplace_back(range.queue, range.first + page);
    }
    ASSERT_EQ(merged, (std::vector<std::pair<uint32_t, uint64_t>>(pages.begin(), pages.end())));
  }
}

TEST(PartsDue, AreSpreadEvenlyAndAllDueAtTheEnd) {
  std::vector<uint64_t> due;
  for (uint64_t done = 1; done <= 6; ++done) due.push_back(PartsDue(done, 6, 3));
  EXPECT_THAT(due, ElementsAre(0U, 1U, 1U, 2U, 2U, 3U));
  EXPECT_EQ(PartsDue(kMostRestartItems, kMostRestartItems, kMostRestartItems), kMostRestartItems);
  EXPECT_EQ(PartsDue(1, 2, 7), 3U);
}

TEST(RollbackRecordBytes, GrowWithTheMessagesOfATransactionUpToAMebibyte) {
  EXPECT_EQ(RollbackRecordBytes(10, 10), 4096U);
  // 1000 + 12 * 40,000 bytes.
  EXPECT_EQ(RollbackRecordBytes(400'000, 10), 118U * 4096);
  EXPECT_EQ(RollbackRecordBytes(10'000'000, 1), uint64_t{1} << 20);
}

}  // namespace
}  // namespace plimsoll
