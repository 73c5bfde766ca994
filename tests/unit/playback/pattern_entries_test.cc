#include "controller/from_watch/pattern_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "common/units.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class PatternEntriesTest : public ::testing::Test {
 protected:
  uint64_t Writes() const {
    uint64_t writes = 0;
    for (const PatternEntry& entry : made_) writes += entry.count;
    return writes;
  }
  uint64_t Pages() const {
    uint64_t pages = 0;
    for (const PatternEntry& entry : made_) pages += uint64_t{entry.count} * entry.pages;
    return pages;
  }
  int64_t Length() const {
    int64_t length_ns = 0;
    for (const PatternEntry& entry : made_) length_ns += entry.gap_ns;
    return length_ns;
  }

  std::vector<PatternEntry> made_;
  PatternEntries entries_{[this](const PatternEntry& entry) {
    made_.push_back(entry);
    return absl::OkStatus();
  }};
};

TEST_F(PatternEntriesTest, AWriteFollowsTheOneBeforeByTheTimeBetweenTheirMoments) {
  ASSERT_THAT(entries_.AddWrite(1'000, 2), IsOk());
  ASSERT_THAT(entries_.AddWrite(251'000, 1), IsOk());
  EXPECT_THAT(made_, ElementsAre(PatternEntry{1'000, 2, 1}, PatternEntry{250'000, 1, 1}));
  EXPECT_EQ(entries_.end_ns(), 251'000);
}

TEST_F(PatternEntriesTest, MomentsThatAreEqualOrGoBackTakeTheFirstFreeNanosecond) {
  for (const int64_t moment_ns : {-5, 0, 1, 1'000, 1'000, 900, 1'003}) {
    ASSERT_THAT(entries_.AddWrite(moment_ns, 1), IsOk());
  }
  // 1, 2, 3, 1000, 1001, 1002, 1003.
  EXPECT_THAT(made_,
              ElementsAre(PatternEntry{1, 1, 1}, PatternEntry{1, 1, 1}, PatternEntry{1, 1, 1}, PatternEntry{997, 1, 1},
                          PatternEntry{1, 1, 1}, PatternEntry{1, 1, 1}, PatternEntry{1, 1, 1}));
}

TEST_F(PatternEntriesTest, ALongSilenceIsPausesAndKeepsTheMoment) {
  const int64_t day_ns = int64_t{24} * 3600 * kNsPerSecond;
  ASSERT_THAT(entries_.AddWrite(day_ns, 3), IsOk());
  EXPECT_EQ(Length(), day_ns);
  EXPECT_EQ(made_.size(), static_cast<size_t>(day_ns / int64_t{UINT32_MAX} + 1));
  EXPECT_EQ(made_.back().pages, 3);
  EXPECT_EQ(Writes(), 1U);
  ASSERT_THAT(entries_.AddWrite(day_ns + UINT32_MAX, 1), IsOk());
  EXPECT_EQ(made_.back(), (PatternEntry{UINT32_MAX, 1, 1})) << "the longest gap of one entry";
}

TEST_F(PatternEntriesTest, WritesOfASecondAreSpreadOverItAndKeepTheirPages) {
  ASSERT_THAT(entries_.AddEvenly(kNsPerSecond, kNsPerSecond, 4, 10), IsOk());
  EXPECT_THAT(made_, ElementsAre(PatternEntry{static_cast<uint32_t>(kNsPerSecond), 0, 0},
                                 PatternEntry{500'000'000, 3, 2}, PatternEntry{500'000'000, 2, 2}));
}

TEST_F(PatternEntriesTest, AnyNumberOfWritesInASecondKeepsTheirNumberTheirPagesAndTheirEnd) {
  std::mt19937_64 random(11);
  for (int64_t second = 0; second < 1'000; ++second) {
    // Up to 300,000 writes of up to 4,096 pages each.
    const uint64_t writes = random() % (1 + random() % 300'000);
    const uint64_t pages = writes * (1 + random() % 4'095) + (writes > 0 ? random() % writes : 0);
    made_.clear();
    const int64_t before_ns = entries_.end_ns();
    ASSERT_THAT(entries_.AddEvenly(second * kNsPerSecond, kNsPerSecond, writes, pages), IsOk());
    ASSERT_EQ(Writes(), writes) << second;
    ASSERT_EQ(Pages(), pages) << second;
    ASSERT_EQ(before_ns + Length(), entries_.end_ns());
    if (writes > 0) {
      ASSERT_EQ(entries_.end_ns(), (second + 1) * kNsPerSecond);
    }
    for (const PatternEntry& entry : made_) {
      ASSERT_LE(entry.pages, kMostWritePages);
      ASSERT_GE(entry.gap_ns, std::max<uint32_t>(entry.count, 1));
    }
  }
}

}  // namespace
}  // namespace plimsoll
