#include "agent/writer/pattern_intake.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/units.h"
#include "tests/testing.h"
#include "tests/unit/agent/playback_plan.h"

namespace plimsoll::tests {
namespace {

constexpr auto kBadChunk = absl::StatusCode::kInvalidArgument;

v1::PatternParts PartsOf(const std::vector<uint64_t>& entries) {
  v1::PatternParts parts;
  for (const uint64_t count : entries) {
    AddStream(count, kNsPerSecond, parts);
    parts.add_stream_of_writer(static_cast<uint32_t>(parts.stream_of_writer_size()));
  }
  return parts;
}

TEST(PatternIntake, TakesTheStreamsInAnyOrderOfTheirChunks) {
  PatternIntake intake(PartsOf({3, 1}));
  EXPECT_THAT(intake.Take(ChunkOf(0, {{1, 1, 1}})), IsOk());
  EXPECT_THAT(intake.Take(ChunkOf(1, {{5, 70, 2}})), IsOk());
  EXPECT_THAT(intake.Take(ChunkOf(0, {{2, 0, 0}, {3, 4, 1}})), IsOk());
  const absl::StatusOr<std::vector<PlayedStream>> streams = intake.Finish();
  ASSERT_THAT(streams, IsOk());
  ASSERT_EQ(streams->size(), 2U);
  EXPECT_EQ((*streams)[0].pattern->entries, (std::vector<PatternEntry>{{1, 1, 1}, {2, 0, 0}, {3, 4, 1}}));
  EXPECT_EQ((*streams)[0].pattern->length_ns, kNsPerSecond);
  EXPECT_EQ((*streams)[0].most_pages, 4U);
  EXPECT_EQ((*streams)[1].most_pages, 70U);
}

TEST(PatternIntake, RefusesChunksThatThePlanDoesNotAnnounceAndTakesNothingOfThem) {
  PatternIntake none((v1::PatternParts()));
  EXPECT_THAT(none.Take(ChunkOf(0, {{1, 1, 1}})), StatusIs(kBadChunk, "the plan plays no recording"));
  EXPECT_THAT(none.Finish(), IsOk());

  PatternIntake intake(PartsOf({2, 1}));
  EXPECT_THAT(intake.Take(ChunkOf(2, {{1, 1, 1}})), StatusIs(kBadChunk, "of stream 2; the plan has 2, from 0"));
  EXPECT_THAT(intake.Take(ChunkOf(UINT32_MAX, {{1, 1, 1}})), StatusIs(kBadChunk, "of stream 4294967295"));
  EXPECT_THAT(intake.Take(ChunkOf(1, {{1, 1, 1}, {1, 1, 1}})),
              StatusIs(kBadChunk, "stream 1 of the recording has more than its 1 entries"));
  EXPECT_THAT(intake.Take(ChunkOf(0, {{1, 1, 1}, {1, 1, 5}})),
              StatusIs(kBadChunk, "stream 0: entry 1 of the recorded writes has 5 writes in 1 ns"));
  EXPECT_THAT(intake.Take(ChunkOf(0, {{3, 3, 1}, {4, 4, 1}})), IsOk());
  EXPECT_THAT(intake.Take(ChunkOf(0, {{1, 1, 1}})), StatusIs(kBadChunk, "more than its 2 entries"));
  EXPECT_THAT(intake.Take(ChunkOf(1, {{5, 5, 1}})), IsOk());
  EXPECT_EQ(intake.Finish()->front().pattern->entries, (std::vector<PatternEntry>{{3, 3, 1}, {4, 4, 1}}));
}

TEST(PatternIntake, NamesTheStreamWhoseEntriesAreMissingAndTakesThemAfterwards) {
  PatternIntake intake(PartsOf({1, 20'000}));
  EXPECT_THAT(intake.Take(ChunkOf(0, {{1, 1, 1}})), IsOk());
  EXPECT_THAT(intake.Take(ChunkOf(1, std::vector<PatternEntry>(kMostChunkEntries, {1, 1, 1}))), IsOk());
  EXPECT_THAT(intake.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        "stream 1 of the recording has 16,384 of its 20,000 entries"));
  EXPECT_THAT(intake.Take(ChunkOf(1, std::vector<PatternEntry>(20'000 - kMostChunkEntries, {1, 1, 1}))), IsOk());
  EXPECT_THAT(intake.Finish(), IsOk());
}

TEST(PatternIntake, RefusesStreamsThatCannotBePlayed) {
  const auto refused = [](const v1::PatternParts& parts, const std::vector<PatternEntry>& entries,
                          const std::string& text) {
    PatternIntake intake(parts);
    if (!entries.empty()) {
      EXPECT_THAT(intake.Take(ChunkOf(0, entries)), IsOk());
    }
    EXPECT_THAT(intake.Finish(), StatusIs(kBadChunk, text));
  };
  refused(PartsOf({0}), {}, "stream 0: the recording has no write");
  refused(PartsOf({1}), {{5, 0, 0}}, "stream 0: the recording has no write");
  refused(PartsOf({1}), {{1'000'000'001, 1, 1}}, "longer than their recording");
  v1::PatternParts endless = PartsOf({1});
  endless.set_length_ns(0, INT64_MAX);
  refused(endless, {{1, 1, 1}}, "a recording takes 1ms to 30d");
}

}  // namespace
}  // namespace plimsoll::tests
