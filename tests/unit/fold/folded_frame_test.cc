#include "controller/fold/folded_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/fold/aged_seconds.h"
#include "tests/unit/fold/random_frames.h"

namespace plimsoll::tests {
namespace {

constexpr int64_t kPerSecond = 4;

// A frame with one write.
v1::Frame OneWrite(int32_t interval, uint64_t seq, int64_t start_ns, uint64_t latency_ns) {
  v1::Frame frame;
  frame.set_qm(1);
  frame.set_first_interval(interval);
  frame.set_interval_count(1);
  Histogram latency;
  latency.Record(latency_ns);
  *frame.mutable_latency() = latency.ToProto();
  frame.set_bytes(4'096);
  frame.set_first_seq(seq);
  frame.set_first_start_ns(start_ns);
  frame.set_last_end_ns(start_ns + static_cast<int64_t>(latency_ns));
  frame.set_fastest_seq(seq);
  frame.mutable_slowest()->set_seq(seq);
  frame.mutable_slowest()->set_start_ns(start_ns);
  frame.mutable_slowest()->set_latency_ns(latency_ns);
  return frame;
}

v1::Frame Silent(int32_t interval) {
  v1::Frame frame;
  frame.set_qm(1);
  frame.set_first_interval(interval);
  frame.set_interval_count(1);
  return frame;
}

TEST(FoldedFrame, HoldsEachSecondExactly) {
  FoldedFrame folded(kPerSecond);
  ASSERT_TRUE(folded.Add(OneWrite(40, 7, 1'000'000, 500)));
  ASSERT_TRUE(folded.Add(OneWrite(41, 8, 2'000'000, 900)));
  for (int32_t interval = 42; interval < 48; ++interval) ASSERT_TRUE(folded.Add(Silent(interval)));
  ASSERT_TRUE(folded.Add(OneWrite(48, 9, 9'000'000, 100)));
  const v1::Frame frame = folded.Take();
  EXPECT_TRUE(folded.empty());
  EXPECT_EQ(frame.first_interval(), 40);
  EXPECT_EQ(frame.interval_count(), 9U);
  EXPECT_TRUE(CheckAgedSeconds(frame, kPerSecond).ok());
  std::vector<AgedSecond> seconds;
  ForEachAgedSecond(frame, kPerSecond, [&seconds](const AgedSecond& second) { seconds.push_back(second); });
  ASSERT_EQ(seconds.size(), 3U);
  EXPECT_EQ(seconds[0].second, 10);
  EXPECT_EQ(seconds[0].writes, 2U);
  EXPECT_EQ(seconds[0].bytes, 8'192U);
  EXPECT_EQ(seconds[0].latency_sum_ns, 1'400U);
  EXPECT_EQ(seconds[0].latency_max_ns, 900U);
  EXPECT_EQ(seconds[1].writes, 0U);
  EXPECT_EQ(seconds[2].latency_sum_ns, 100U);
  EXPECT_EQ(frame.fastest_seq(), 9U);
  EXPECT_EQ(frame.slowest().seq(), 8U);
  EXPECT_EQ(frame.aged().frames(), 9U);
}

TEST(FoldedFrame, HoldsBytesBySecondWhereBlocksDiffer) {
  FoldedFrame folded(kPerSecond);
  v1::Frame large = OneWrite(44, 2, 2'000'000, 500);
  large.set_bytes(65'536);
  ASSERT_TRUE(folded.Add(OneWrite(40, 1, 1'000'000, 500)));
  for (int32_t interval = 41; interval < 44; ++interval) ASSERT_TRUE(folded.Add(Silent(interval)));
  ASSERT_TRUE(folded.Add(large));
  const v1::Frame frame = folded.Take();
  EXPECT_THAT(frame.aged().bytes(), ::testing::ElementsAre(4'096, 65'536));
  EXPECT_TRUE(CheckAgedSeconds(frame, kPerSecond).ok());
}

TEST(FoldedFrame, RefusesWhatDoesNotFollow) {
  FoldedFrame folded(kPerSecond);
  ASSERT_TRUE(folded.Add(OneWrite(40, 7, 1'000'000, 500)));
  // An interval is missing; a write is missing; a write began before the one before it had ended.
  EXPECT_FALSE(folded.Add(OneWrite(42, 8, 2'000'000, 500)));
  EXPECT_FALSE(folded.Add(OneWrite(41, 9, 2'000'000, 500)));
  EXPECT_FALSE(folded.Add(OneWrite(41, 8, 1'000'100, 500)));
  EXPECT_TRUE(folded.Add(OneWrite(41, 8, 1'000'500, 500)));
}

TEST(FoldedFrame, KeepsTraceBlocksInTheirOrder) {
  FoldedFrame folded(kPerSecond);
  v1::Frame first = OneWrite(40, 1, 1'000'000, 500);
  first.add_trace("one");
  v1::Frame second = OneWrite(41, 2, 2'000'000, 500);
  second.add_trace("two");
  ASSERT_TRUE(folded.Add(first));
  ASSERT_TRUE(folded.Add(second));
  EXPECT_THAT(folded.Take().trace(), ::testing::ElementsAre("one", "two"));
}

TEST(FoldedFrame, ProvesTheLongestGapBetweenItsWrites) {
  FoldedFrame folded(kPerSecond);
  ASSERT_TRUE(folded.Add(OneWrite(40, 1, 1'000'000, 1'000)));
  ASSERT_TRUE(folded.Add(OneWrite(41, 2, 5'000'000, 2'000)));
  const std::optional<ServedSpan> served = ServedBy(folded.Take());
  ASSERT_TRUE(served);
  EXPECT_EQ(served->first_end_ns, 1'001'000);
  EXPECT_EQ(served->last_start_ns, 5'000'000);
  // From the start of the first write to the end of the second one.
  EXPECT_EQ(served->longest_gap_ns, 4'002'000);
}

TEST(CheckAgedSeconds, RefusesSecondsThatDoNotAddUp) {
  FoldedFrame folded(kPerSecond);
  ASSERT_TRUE(folded.Add(OneWrite(40, 7, 1'000'000, 500)));
  const v1::Frame frame = folded.Take();
  const auto refuses = [&frame](const auto& change) {
    v1::Frame changed = frame;
    change(changed);
    return !CheckAgedSeconds(changed, kPerSecond).ok();
  };
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.mutable_aged()->set_writes(0, 2); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.mutable_aged()->set_latency_sum_ns(0, 501); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.mutable_aged()->set_latency_max_ns(0, 501); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.mutable_aged()->set_bytes_per_write(1); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.mutable_aged()->add_writes(0); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.mutable_aged()->add_response_sum_above_ns(0); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.set_interval_count(8); }));
  EXPECT_TRUE(refuses([](v1::Frame& changed) { changed.set_closing(true); }));
}

}  // namespace
}  // namespace plimsoll::tests
