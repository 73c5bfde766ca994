// Recorded writes in the model of group commit: by demand, and one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "agent/writer/commit_model.h"
#include "agent/writer/pattern_cursor.h"
#include "common/integers.h"
#include "common/load_pattern.h"
#include "common/units.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kPlayedFromNs = 1'000 * kNsPerSecond;

std::shared_ptr<const LoadPattern> PatternOf(std::vector<PatternEntry> entries, int64_t length_ns) {
  auto pattern = std::make_shared<const LoadPattern>(LoadPattern{std::move(entries), length_ns});
  EXPECT_THAT(CheckPattern(*pattern), IsOk());
  return pattern;
}

CommitLoad PlaybackOf(std::shared_ptr<const LoadPattern> pattern, double load_factor = 1, bool one_by_one = false) {
  return {.buffer_pages = one_by_one ? MostPages(*pattern) : 512,
          .extent_pages = 16'384,
          .copies_partial_pages = false,
          .pattern = pattern,
          .load_factor = load_factor,
          .one_by_one = one_by_one,
          .key = {}};
}

// A load factor as a fraction, so that moments can be computed in integers.
struct Fraction {
  uint64_t over = 1;
  uint64_t under = 1;
  double value() const { return static_cast<double>(over) / static_cast<double>(under); }
};
constexpr Fraction kFactors[] = {{1, 1}, {2, 1}, {1, 2}, {3, 2}, {5, 4}, {1'000, 1}, {1, 64}};

struct RecordedWrite {
  int64_t moment_ns = 0;
  uint64_t pages = 0;
};

// The recorded writes, entry by entry, write by write, until they have more than `most_pages` pages.
std::vector<RecordedWrite> Enumerate(const LoadPattern& pattern, Fraction factor, uint64_t most_pages) {
  const auto played = [factor](uint64_t recorded_ns) {
    return static_cast<int64_t>(recorded_ns * factor.under / factor.over);
  };
  std::vector<RecordedWrite> writes;
  uint64_t pages = 0;
  for (uint64_t lap = 0;; ++lap) {
    const int64_t lap_ns = kPlayedFromNs + played(lap * static_cast<uint64_t>(pattern.length_ns));
    uint64_t before_ns = 0;
    for (const PatternEntry& entry : pattern.entries) {
      for (uint64_t write = 1; write <= entry.count; ++write) {
        writes.push_back({lap_ns + played(before_ns + entry.gap_ns * write / entry.count), entry.pages});
        pages += entry.pages;
        if (pages > most_pages) return writes;
      }
      before_ns += entry.gap_ns;
    }
  }
}

struct PlayedWrite {
  CommitModel::Write write;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool operator==(const PlayedWrite& other) const {
    return write.first_page == other.write.first_page && write.pages == other.write.pages &&
           write.is_copy == other.write.is_copy && start_ns == other.start_ns && end_ns == other.end_ns;
  }
};
struct PlayedCommit {
  int64_t arrived_ns = 0;
  int64_t latency_ns = 0;
  uint64_t bytes = 0;
  bool operator==(const PlayedCommit&) const = default;
};
struct Played {
  std::vector<PlayedWrite> writes;
  std::vector<PlayedCommit> commits;
};

// What write `number` takes, by its number and pages alone.
struct Storage {
  uint64_t seed = 0;
  int64_t least_ns = 0;
  int64_t page_ns = 0;
  uint64_t spread_ns = 1;
  int64_t LatencyNs(size_t number, uint64_t pages) const {
    const uint64_t drawn = MixBits(seed + number) % spread_ns;
    return least_ns + static_cast<int64_t>(drawn) + page_ns * static_cast<int64_t>(pages);
  }
};

Played Play(const CommitLoad& load, const Storage& storage, size_t writes) {
  CommitModel model(load, kPlayedFromNs);
  Played played;
  while (played.writes.size() < writes) {
    const int64_t start_ns = model.NextStart();
    const CommitModel::Write write = model.Begin();
    const int64_t end_ns = start_ns + storage.LatencyNs(played.writes.size(), write.pages);
    played.writes.push_back({write, start_ns, end_ns});
    model.End(end_ns, [&](const CommitModel::Commit& commit) {
      played.commits.push_back({commit.arrived_ns, commit.latency_ns, commit.bytes});
    });
  }
  return played;
}

// What must be played, page by page: the recorded writes are laid out one behind another, and each write takes the
// pages that have arrived by its start.
Played EnumeratePlayed(const CommitLoad& load, Fraction factor, const Storage& storage, size_t writes) {
  struct Page {
    int64_t arrived_ns = 0;
    size_t recorded = 0;
    bool is_last = false;
  };
  const std::vector<RecordedWrite> recorded = Enumerate(*load.pattern, factor, writes * load.buffer_pages);
  std::vector<Page> pages;
  for (size_t i = 0; i < recorded.size(); ++i) {
    for (uint64_t page = 1; page <= recorded[i].pages; ++page) {
      pages.push_back({recorded[i].moment_ns, i, page == recorded[i].pages});
    }
  }
  Played played;
  size_t next = 0;
  int64_t free_ns = kPlayedFromNs;
  while (played.writes.size() < writes) {
    const size_t first = next;
    const bool waits = pages[first].arrived_ns < free_ns;
    const int64_t start_ns = std::max(free_ns, pages[first].arrived_ns);
    while (next < pages.size() &&
           (pages[next].arrived_ns < start_ns || (!waits && pages[next].arrived_ns == start_ns)) &&
           next - first < load.buffer_pages && next / load.extent_pages == first / load.extent_pages &&
           (!load.one_by_one || pages[next].recorded == pages[first].recorded)) {
      ++next;
    }
    const int64_t end_ns = start_ns + storage.LatencyNs(played.writes.size(), next - first);
    played.writes.push_back({{first, next - first, false}, start_ns, end_ns});
    for (size_t page = first; page < next; ++page) {
      if (!pages[page].is_last) continue;
      const RecordedWrite& of = recorded[pages[page].recorded];
      played.commits.push_back({of.moment_ns, end_ns - of.moment_ns, of.pages * kPatternPageBytes});
    }
    free_ns = end_ns;
  }
  return played;
}

// Pauses, summarised entries, writes that come at once, and large ones.
std::shared_ptr<const LoadPattern> RandomPattern(std::mt19937_64& random) {
  std::vector<PatternEntry> entries;
  uint64_t gaps_ns = 0;
  const size_t count = 1 + random() % 40;
  const auto largest = static_cast<uint64_t>(1 + random() % (random() % 4 == 0 ? 700 : 12));
  for (size_t i = 0; i < count; ++i) {
    PatternEntry entry;
    const uint64_t kind = random() % 8;
    entry.count = static_cast<uint16_t>(kind == 0 && i > 0 ? 0 : kind == 1 ? 1 + random() % 50 : 1);
    entry.pages = static_cast<uint16_t>(entry.count == 0 ? 0 : 1 + random() % largest);
    const uint64_t longest_ns = kind == 0 ? 5'000'000 : kind == 2 ? 1 : 400'000;
    entry.gap_ns = static_cast<uint32_t>(std::max<uint64_t>({1 + random() % longest_ns, entry.count}));
    gaps_ns += entry.gap_ns;
    entries.push_back(entry);
  }
  const uint64_t rest_ns = random() % 3 == 0 ? 0 : random() % 2'000'000;
  return PatternOf(std::move(entries), static_cast<int64_t>(std::max<uint64_t>(gaps_ns + rest_ns, kLeastPatternNs)));
}

void CheckAgainstEnumeration(bool one_by_one) {
  const uint32_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  size_t merged = 0;
  size_t split = 0;
  size_t laps = 0;
  for (int i = 0; i < 300; ++i) {
    const std::shared_ptr<const LoadPattern> pattern = RandomPattern(random);
    const Fraction factor = kFactors[random() % std::size(kFactors)];
    SCOPED_TRACE(testing::Message() << "case " << i << ", load factor " << factor.value());
    CommitLoad load = PlaybackOf(pattern, factor.value(), one_by_one);
    if (!one_by_one) load.buffer_pages = 128 + random() % 200;
    load.extent_pages = 64 + random() % 400;
    const Storage storage{random(), static_cast<int64_t>(random() % 300'000), static_cast<int64_t>(random() % 2'000),
                          1 + random() % 200'000};
    const Played played = Play(load, storage, 400);
    const int64_t until_ns = played.writes.back().end_ns;
    const Played expected = EnumeratePlayed(load, factor, storage, 400);
    ASSERT_EQ(played.writes.size(), expected.writes.size());
    for (size_t write = 0; write < played.writes.size(); ++write) {
      ASSERT_EQ(played.writes[write], expected.writes[write]) << write;
    }
    ASSERT_EQ(played.commits, expected.commits);
    if (played.commits.size() > played.writes.size()) ++merged;
    if (played.commits.size() < played.writes.size()) ++split;
    const double lap_ns = static_cast<double>(pattern->length_ns) / factor.value();
    if (static_cast<double>(until_ns - kPlayedFromNs) > 2 * lap_ns) ++laps;
  }
  // Each of the cases was there.
  EXPECT_EQ(merged > 20, !one_by_one);
  EXPECT_GT(split, 20U);
  EXPECT_GT(laps, 100U);
}

TEST(PlaybackModel, WritesByDemandWhatAnEnumeratedLogWrites) {
  ASSERT_NO_FATAL_FAILURE(CheckAgainstEnumeration(/*one_by_one=*/false));
}

TEST(PlaybackModel, WritesOneByOneWhatAnEnumeratedLogWrites) {
  ASSERT_NO_FATAL_FAILURE(CheckAgainstEnumeration(/*one_by_one=*/true));
}

std::vector<uint64_t> PagesOf(const Played& played) {
  std::vector<uint64_t> pages;
  for (const PlayedWrite& row : played.writes) pages.push_back(row.write.pages);
  return pages;
}

// On storage that is as fast as the recorded one, both ways play exactly what was recorded.
TEST(PlaybackModel, PlaysTheRecordedWritesWhereEachOneEndsBeforeTheNextBegins) {
  const auto pattern =
      PatternOf({{100'000, 1, 1}, {300'000, 7, 1}, {400'000, 2, 2}, {5'000, 0, 0}, {95'000, 600, 1}}, kNsPerMs);
  for (const bool one_by_one : {false, true}) {
    CommitLoad load = PlaybackOf(pattern, 1, one_by_one);
    load.buffer_pages = 4096;
    const Played played = Play(load, {.least_ns = 50'000}, 10);
    EXPECT_EQ(PagesOf(played), (std::vector<uint64_t>{1, 7, 2, 2, 600, 1, 7, 2, 2, 600}));
    std::vector<int64_t> starts_us;
    for (const PlayedWrite& row : played.writes) starts_us.push_back((row.start_ns - kPlayedFromNs) / 1'000);
    EXPECT_EQ(starts_us, (std::vector<int64_t>{100, 400, 600, 800, 900, 1100, 1400, 1600, 1800, 1900}));
    for (const PlayedCommit& commit : played.commits) EXPECT_EQ(commit.latency_ns, 50'000);
  }
}

TEST(PlaybackModel, WritesMergeByDemandWhereTheStorageIsSlowerAndNeverOneByOne) {
  // A page each 100 us, on storage that takes 1 ms.
  const auto every = PatternOf({{1'000'000, 1, 10}}, kNsPerMs);
  EXPECT_EQ(PagesOf(Play(PlaybackOf(every), {.least_ns = 1'000'000}, 5)), (std::vector<uint64_t>{1, 9, 10, 10, 10}));
  const Played one_by_one = Play(PlaybackOf(every, 1, true), {.least_ns = 1'000'000}, 5);
  EXPECT_EQ(PagesOf(one_by_one), std::vector<uint64_t>(5, 1));
  EXPECT_EQ(one_by_one.writes.back().start_ns - kPlayedFromNs, 100'000 + 4 * 1'000'000);
  EXPECT_EQ(one_by_one.commits.back().latency_ns, 5 * 1'000'000 - 400'000);
}

TEST(PlaybackModel, ARecordedWriteLargerThanTheBufferOrTheRestOfItsExtentIsSplit) {
  const auto pattern = PatternOf({{100'000, 300, 1}}, 10 * kNsPerMs);
  CommitLoad load = PlaybackOf(pattern);
  load.buffer_pages = 128;
  load.extent_pages = 500;
  const Played played = Play(load, {.least_ns = 10'000}, 7);
  EXPECT_EQ(PagesOf(played), (std::vector<uint64_t>{128, 128, 44, 128, 72, 100, 128}));
  ASSERT_EQ(played.commits.size(), 2U);
  EXPECT_EQ(played.commits[0], (PlayedCommit{kPlayedFromNs + 100'000, 30'000, 300 * kPatternPageBytes}));
  // One by one, the extent alone splits it.
  load.one_by_one = true;
  load.buffer_pages = 300;
  EXPECT_EQ(PagesOf(Play(load, {.least_ns = 10'000}, 4)), (std::vector<uint64_t>{300, 200, 100, 300}));
}

TEST(PlaybackModel, AFasterLoadArrivesInAsManyPartsOfTheTime) {
  const auto pattern = PatternOf({{3'000, 1, 1}, {4'000, 2, 2}}, kNsPerMs);
  for (const Fraction factor : kFactors) {
    SCOPED_TRACE(factor.value());
    PatternCursor cursor(*pattern, 0, factor.value());
    std::vector<int64_t> moments;
    for (int i = 0; i < 4; ++i, cursor.Advance()) moments.push_back(cursor.moment_ns());
    const auto played = [factor](int64_t ns) {
      return ns * static_cast<int64_t>(factor.under) / static_cast<int64_t>(factor.over);
    };
    EXPECT_EQ(moments, (std::vector<int64_t>{played(3'000), played(5'000), played(7'000), played(1'003'000)}));
  }
}

TEST(PatternCursor, NeverGoesBackAndDoesNotDriftOverAMillionLaps) {
  // No multiple of the factor: each lap begins at a fraction of a nanosecond.
  const auto pattern =
      PatternOf({{333'333, 1, 7}, {1, 1, 1}, {UINT32_MAX, 0, 0}, {7, 3, 1}}, int64_t{UINT32_MAX} + 1'000'001);
  for (const double factor : {0.01, 0.7, 1.1, 3.0, 1'000.0}) {
    SCOPED_TRACE(factor);
    PatternCursor cursor(*pattern, kPlayedFromNs, factor);
    int64_t before_ns = kPlayedFromNs;
    constexpr uint64_t kWrites = 9;
    constexpr uint64_t kLaps = 1'000'000;
    for (uint64_t write = 0; write < kLaps * kWrites; ++write, cursor.Advance()) {
      ASSERT_GE(cursor.moment_ns(), before_ns);
      before_ns = cursor.moment_ns();
    }
    const long double lap_ns = static_cast<long double>(kLaps) * static_cast<long double>(pattern->length_ns) / factor;
    constexpr int64_t kFirstNs = 333'333 / 7;
    const long double first_ns = kFirstNs / static_cast<long double>(factor);
    const auto off_ns = static_cast<long double>(cursor.moment_ns() - kPlayedFromNs) - lap_ns - first_ns;
    // A double holds times of up to 104 days to the nanosecond.
    const bool exact = lap_ns < 9e15L;
    EXPECT_LE(std::abs(static_cast<double>(off_ns)), exact ? 2 : 100);
  }
}

TEST(PatternCursor, TheLastWriteOfEntriesAndOfTheRecordingIsAtTheirEnds) {
  const auto pattern = PatternOf({{UINT32_MAX, 0, 0}, {UINT32_MAX, 5, UINT16_MAX}}, 2 * int64_t{UINT32_MAX});
  PatternCursor cursor(*pattern, 0, 1);
  EXPECT_EQ(cursor.moment_ns(), int64_t{UINT32_MAX} + UINT32_MAX / UINT16_MAX);
  for (int i = 1; i < UINT16_MAX; ++i) cursor.Advance();
  EXPECT_EQ(cursor.moment_ns(), 2 * int64_t{UINT32_MAX});
  cursor.Advance();
  EXPECT_EQ(cursor.moment_ns(), 3 * int64_t{UINT32_MAX} + UINT32_MAX / UINT16_MAX);
}

}  // namespace
}  // namespace plimsoll
