// Ten million recorded writes, from the intake to the recorder's frames, in virtual time.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "agent/writer/pattern_intake.h"
#include "agent/writer/write_loop.h"
#include "agent/writer/writer_tally.h"
#include "common/load_pattern.h"
#include "common/units.h"
#include "google/protobuf/repeated_field.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr uint64_t kPlayedEntries = kMostPatternEntries;
// Each write comes 50 us after the one before.
constexpr uint32_t kEntryGapNs = 50'000;
constexpr int64_t kRecordedNs = int64_t{kPlayedEntries} * kEntryGapNs;

// Bytes that are allocated. 0 under a sanitizer, which replaces the allocator.
uint64_t AllocatedBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Time passes in writes and sleeps alone. Keeps nothing.
struct ForgetfulEnv {
  int64_t now_ns = 0;
  WriterTally* tally = nullptr;
  google::protobuf::RepeatedPtrField<v1::Frame>* frames = nullptr;
  uint64_t commits = 0;
  uint64_t commit_bytes = 0;
  uint64_t writes = 0;
  uint64_t most_allocated_bytes = 0;

  int64_t Now() const { return now_ns; }
  int64_t Write(uint32_t /*extent*/, uint64_t /*offset*/, const std::byte* /*data*/, size_t size_bytes) {
    now_ns += 1'000'000;
    if (++writes % 1'000 == 0) Poll();
    return static_cast<int64_t>(size_bytes);
  }
  static int Sync(uint32_t /*extent*/) { return 0; }
  void SleepUntil(int64_t moment_ns) { now_ns = moment_ns; }
  static void AwaitRoom() {}
  static void Yield() {}

  void Poll() {
    tally->Poll(now_ns, *frames);
    for (const v1::Frame& frame : *frames) {
      if (frame.operation() == kMainOperation) continue;
      commits += frame.latency().count();
      commit_bytes += frame.bytes();
    }
    // As a session sends them.
    google::protobuf::RepeatedPtrField<v1::Frame>().Swap(frames);
    most_allocated_bytes = std::max(most_allocated_bytes, AllocatedBytes());
  }
};

// The streams of two writers, of which both play the same one.
std::vector<PlayedStream> TakeTenMillionEntries() {
  v1::PatternParts parts;
  parts.add_entries(kPlayedEntries);
  parts.add_length_ns(kRecordedNs);
  parts.add_stream_of_writer(0);
  parts.add_stream_of_writer(0);
  EXPECT_THAT(CheckPatternParts(parts, 2), IsOk());
  PatternIntake intake(parts);
  for (uint64_t sent = 0; sent < kPlayedEntries;) {
    v1::PatternChunk chunk;
    for (; chunk.gap_ns_size() < kMostChunkEntries && sent < kPlayedEntries; ++sent) {
      AddEntry({kEntryGapNs, static_cast<uint16_t>(1 + sent % 2), 1}, chunk);
    }
    const absl::Status taken = intake.Take(chunk);
    if (!taken.ok()) ADD_FAILURE() << taken;
  }
  absl::StatusOr<std::vector<PlayedStream>> streams = intake.Finish();
  EXPECT_THAT(streams, IsOk());
  return *std::move(streams);
}

TEST(PlaybackMemory, TenMillionRecordedWritesTakeTheirEntriesAndNothingMore) {
  const uint64_t before_bytes = AllocatedBytes();
  const std::vector<PlayedStream> streams = TakeTenMillionEntries();
  ASSERT_EQ(streams.size(), 1U);
  EXPECT_EQ(streams.front().most_pages, 2U);
  constexpr uint64_t kEntriesBytes = kPlayedEntries * sizeof(PatternEntry);
  const uint64_t held_bytes = AllocatedBytes();
  EXPECT_LE(held_bytes, before_bytes + kEntriesBytes + (1U << 20U));

  const CommitLoad load{.extent_pages = 0,
                        .copies_partial_pages = false,
                        .pattern = streams.front().pattern,
                        .load_factor = 4,
                        .one_by_one = false,
                        .key = {}};
  const ExtentLayout layout(uint64_t{64} << 20U, 2, uint64_t{2} << 20U);
  const int64_t end_ns = kNsPerSecond + kRecordedNs / 4 + 1;
  WriterState state;
  const std::atomic<int64_t> no_limit_ns{StopControl::kNever};
  StopControl control(no_limit_ns);
  WriteLoopParams loop{.layout = layout, .commits = load, .start_ns = kNsPerSecond, .end_ns = end_ns, .schedule = {}};
  WriterTally tally({.times = StepTimes(kNsPerSecond, 0, end_ns - kNsPerSecond, 250 * kNsPerMs),
                     .layout = layout,
                     .commits = load,
                     .commit_operation = 1,
                     .schedule = {}},
                    state, no_limit_ns);
  BlockSource source({{1, 2, 3}, 0, 1}, std::vector<uint64_t>{layout.block_bytes()});
  google::protobuf::RepeatedPtrField<v1::Frame> frames;
  ForgetfulEnv env{.now_ns = kNsPerSecond, .tally = &tally, .frames = &frames};
  const uint64_t ready_bytes = AllocatedBytes();
  RunWriteLoop(loop, control, source, state, env);
  env.now_ns += 2 * kNsPerSecond;
  env.Poll();
  EXPECT_TRUE(tally.done());

  // What a thousand writes leave in frames that wait to be sent, and no more than that however many have been played.
  EXPECT_LE(env.most_allocated_bytes, ready_bytes + (1U << 20U));
  EXPECT_EQ(env.commits, state.commits.commits.load());
  EXPECT_EQ(env.commit_bytes, state.commits.bytes.load());
  // The last of them arrive while a write is in flight, and none begins after the end.
  EXPECT_GT(env.commits, kPlayedEntries - 200);
  EXPECT_LE(env.commits, kPlayedEntries);
  EXPECT_LT(env.writes, kPlayedEntries / 50);
}

}  // namespace
}  // namespace plimsoll
