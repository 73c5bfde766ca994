// What frames prove of the writes in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "common/units.h"
#include "controller/analysis/host_stalls.h"
#include "tests/random_seed.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

struct Write {
  int64_t start_ns;
  int64_t end_ns;
};

v1::Frame FrameOf(const std::vector<Write>& writes) {
  v1::Frame frame;
  if (writes.empty()) return frame;
  v1::Distribution& latency = *frame.mutable_latency();
  for (const Write& write : writes) {
    const auto latency_ns = static_cast<uint64_t>(write.end_ns - write.start_ns);
    latency.set_count(latency.count() + 1);
    latency.set_sum_ns(latency.sum_ns() + latency_ns);
    latency.set_max_ns(std::max(latency.max_ns(), latency_ns));
  }
  frame.set_first_start_ns(writes.front().start_ns);
  frame.set_last_end_ns(writes.back().end_ns);
  return frame;
}

TEST(ServiceGaps, OfOneWriteAFrameEverythingIsKnown) {
  ServiceGaps service;
  service.Take(FrameOf({{1'000 * kNsPerMs, 1'200 * kNsPerMs}}));
  service.Take(FrameOf({}));
  service.Take(FrameOf({{1'300 * kNsPerMs, 1'900 * kNsPerMs}}));
  EXPECT_EQ(service.first_end_ns(), 1'200 * kNsPerMs);
  EXPECT_EQ(service.last_start_ns(), 1'300 * kNsPerMs);
  ASSERT_THAT(service.gaps(), SizeIs(1));
  EXPECT_EQ(service.gaps()[0].begin_ns, 1'000 * kNsPerMs);
  EXPECT_EQ(service.gaps()[0].end_ns, 1'900 * kNsPerMs);
  EXPECT_EQ(service.gaps()[0].longest_ns, 900 * kNsPerMs);
}

TEST(ServiceGaps, OfManyWritesAFrameTheLongestBoundsTheGaps) {
  ServiceGaps service;
  service.Take(FrameOf({{1'000 * kNsPerMs, 1'040 * kNsPerMs},
                        {1'050 * kNsPerMs, 1'090 * kNsPerMs},
                        {1'090 * kNsPerMs, 1'120 * kNsPerMs}}));
  ASSERT_THAT(service.gaps(), SizeIs(1));
  EXPECT_EQ(service.gaps()[0].longest_ns, 90 * kNsPerMs) << "two writes of 40 ms, and 10 ms between writes";
  EXPECT_EQ(service.first_end_ns(), 1'040 * kNsPerMs);
  EXPECT_EQ(service.last_start_ns(), 1'080 * kNsPerMs);
}

TEST(ServiceGaps, AFrameThatContradictsItselfProvesNothing) {
  ServiceGaps service;
  v1::Frame frame = FrameOf({{1'000 * kNsPerMs, 1'040 * kNsPerMs}, {1'050 * kNsPerMs, 1'090 * kNsPerMs}});
  frame.set_last_end_ns(1'070 * kNsPerMs);  // more latency than time
  service.Take(frame);
  frame.set_last_end_ns(900 * kNsPerMs);
  service.Take(frame);
  frame.set_first_start_ns(0);
  service.Take(frame);
  EXPECT_EQ(service.first_end_ns(), 0);
  EXPECT_THAT(service.gaps(), IsEmpty());
}

// Whatever the writes are: a span of time that holds no whole write lies in gaps that are known, or before the first
// or after the last write, and is no longer than they say; as long as it is no shorter than what may be left out.
TEST(ServiceGaps, NoSpanWithoutAWholeWriteIsMissing) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  const auto between = [&random](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    ServiceGaps service;
    std::vector<Write> writes;
    int64_t now_ns = 1'000 * kNsPerMs;
    const int64_t frames = between(1, round < 10 ? 2'000 : 40);
    for (int64_t n = 0; n < frames; ++n) {
      std::vector<Write> of_frame;
      for (int64_t i = between(0, 4); i > 0; --i) {
        now_ns += between(0, 3) == 0 ? between(0, 300) * kNsPerMs : 0;
        const int64_t latency_ns = between(0, 3) == 0 ? between(1, 500'000'000) : between(1, 2'000'000);
        of_frame.push_back({now_ns, now_ns + latency_ns});
        now_ns += latency_ns;
      }
      service.Take(FrameOf(of_frame));
      writes.insert(writes.end(), of_frame.begin(), of_frame.end());
    }
    EXPECT_LE(service.gaps().size(), ServiceGaps::kMostGaps);
    if (writes.empty()) continue;
    EXPECT_GE(service.first_end_ns(), writes.front().end_ns);
    EXPECT_LE(service.last_start_ns(), writes.back().start_ns);
    for (size_t i = 1; i < writes.size(); ++i) {
      const Write gap{writes[i - 1].start_ns, writes[i].end_ns};
      if (gap.end_ns - gap.start_ns < service.least_ns()) continue;
      EXPECT_TRUE(std::any_of(service.gaps().begin(), service.gaps().end(), [&gap](const ServiceGap& known) {
        return known.begin_ns <= gap.start_ns && known.end_ns >= gap.end_ns &&
               known.longest_ns >= gap.end_ns - gap.start_ns;
      }));
    }
  }
}

}  // namespace
}  // namespace plimsoll
