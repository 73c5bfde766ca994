#include "common/load_pattern.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using Entries = std::vector<PatternEntry>;

constexpr auto kBad = absl::StatusCode::kInvalidArgument;

v1::PatternChunk ChunkOf(const Entries& entries) {
  v1::PatternChunk chunk;
  for (const PatternEntry& entry : entries) AddEntry(entry, chunk);
  return chunk;
}

TEST(LoadPattern, AChunkGivesBackItsEntriesAfterOthers) {
  const uint32_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1'000; ++i) {
    Entries entries;
    for (size_t left = 1 + random() % 200; left > 0; --left) {
      const auto count = static_cast<uint16_t>(random() >> (48 + random() % 16));
      const auto pages = static_cast<uint16_t>(count == 0 ? 0 : 1 + random() % kMostWritePages);
      const auto gap_ns = static_cast<uint32_t>(random() >> (32 + random() % 32));
      entries.push_back({std::max<uint32_t>({gap_ns, count, 1}), pages, count});
    }
    Entries read = {{7, 1, 1}};
    ASSERT_THAT(ReadChunk(ChunkOf(entries), read), IsOk());
    ASSERT_EQ(read.front(), (PatternEntry{7, 1, 1}));
    read.erase(read.begin());
    ASSERT_EQ(read, entries);
  }
}

TEST(LoadPattern, LimitsOfAnEntryAreAccepted) {
  const Entries entries = {
      {UINT32_MAX, kMostWritePages, UINT16_MAX}, {1, 1, 1}, {UINT16_MAX, 1, UINT16_MAX}, {UINT32_MAX, 0, 0}, {1, 0, 0}};
  Entries read;
  EXPECT_THAT(ReadChunk(ChunkOf(entries), read), IsOk());
  EXPECT_EQ(read, entries);
}

TEST(LoadPattern, EntriesThatNoRecordingHasAreRefusedByTheirPlaceAndNothingIsAppended) {
  const auto refused = [](const PatternEntry& entry, const std::string& text) {
    Entries read = {{7, 1, 1}};
    EXPECT_THAT(ReadChunk(ChunkOf({{5, 1, 1}, entry}), read), StatusIs(kBad, text));
    EXPECT_EQ(read, (Entries{{7, 1, 1}}));
    EXPECT_THAT(CheckPattern({{{5, 1, 1}, entry}, 1'000'000'000}), StatusIs(kBad, text));
  };
  refused({0, 1, 1}, "entry 1 of the recorded writes takes no time");
  refused({0, 0, 0}, "entry 1 of the recorded writes takes no time");
  refused({5, 3, 0}, "a pause of 3 pages");
  refused({5, 0, 3}, "3 writes of no page");
  refused({5, 1, 6}, "6 writes in 5 ns");
  refused({5, kMostWritePages + 1, 1}, "4097 pages: a write has at most 4096");
  refused({5, UINT16_MAX, 1}, "65535 pages");
}

TEST(LoadPattern, AChunkOfTheWrongLengthIsRefused) {
  Entries read;
  EXPECT_THAT(ReadChunk(v1::PatternChunk(), read), StatusIs(kBad, "has 0 entries: it needs 1 to 16384"));
  v1::PatternChunk chunk = ChunkOf(Entries(kMostChunkEntries, {1, 1, 1}));
  EXPECT_THAT(ReadChunk(chunk, read), IsOk());
  EXPECT_LE(chunk.ByteSizeLong(), size_t{129} << 10U);
  AddEntry({1, 1, 1}, chunk);
  EXPECT_THAT(ReadChunk(chunk, read), StatusIs(kBad, "has 16385 entries"));
  v1::PatternChunk uneven = ChunkOf({{1, 1, 1}, {1, 1, 1}});
  uneven.mutable_writes()->RemoveLast();
  EXPECT_THAT(ReadChunk(uneven, read), StatusIs(kBad, "2 gaps and 1 writes"));
  uneven.clear_gap_ns();
  EXPECT_THAT(ReadChunk(uneven, read), StatusIs(kBad, "0 gaps and 1 writes"));
  EXPECT_EQ(read.size(), size_t{kMostChunkEntries});
}

TEST(LoadPattern, AStreamEndsWithinItsRecordingAndHasAWrite) {
  constexpr int64_t kMs = 1'000'000;
  EXPECT_THAT(CheckPattern({{{kMs, 1, 1}}, kMs}), IsOk());
  EXPECT_THAT(CheckPattern({{{kMs, 1, 1}, {1, 0, 0}}, kMs}), StatusIs(kBad, "1000001 ns, longer than their recording"));
  EXPECT_THAT(CheckPattern({{{kMs, 0, 0}}, kMs}), StatusIs(kBad, "the recording has no write"));
  EXPECT_THAT(CheckPattern({{}, kMs}), StatusIs(kBad, "the recording has no write"));
  EXPECT_THAT(CheckPattern({{{1, 1, 1}}, kMs - 1}), StatusIs(kBad, "a recording takes 1ms to 30d"));
  EXPECT_THAT(CheckPattern({{{1, 1, 1}}, -kMs}), StatusIs(kBad, "a recording takes 1ms to 30d"));
  EXPECT_THAT(CheckPattern({{{1, 1, 1}}, kLongestPatternNs}), IsOk());
  EXPECT_THAT(CheckPattern({{{1, 1, 1}}, kLongestPatternNs + 1}), StatusIs(kBad, "a recording takes 1ms to 30d"));
}

TEST(LoadPattern, TheLargestWriteIsThatOfAnyEntry) {
  EXPECT_EQ(MostPages({{{1, 3, 1}, {1, 0, 0}, {9, 17, 2}, {1, 5, 1}}, 1'000'000}), 17U);
}

}  // namespace
}  // namespace plimsoll
