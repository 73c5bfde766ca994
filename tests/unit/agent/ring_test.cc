#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "agent/writer/writer_state.h"

namespace plimsoll {
namespace {

TEST(Sample, KeepsLatencySizeAndOperationApartAndClampsALatencyThatDoesNotFit) {
  const Sample sync(5, kLongestLatencyNs - 1, kMaxOperations - 1);
  EXPECT_EQ(sync.latency_ns(), kLongestLatencyNs - 1);
  EXPECT_EQ(sync.operation(), kMaxOperations - 1);
  EXPECT_EQ(sync.end_ns(), static_cast<int64_t>(kLongestLatencyNs) + 4);
  EXPECT_EQ(sync.size(), 0U);
  const Sample mixed(5, kLongestLatencyNs, kMaxOperations - 1, 2047);
  EXPECT_EQ(mixed.latency_ns(), kLongestLatencyNs);
  EXPECT_EQ(mixed.operation(), kMaxOperations - 1);
  EXPECT_EQ(mixed.size(), 2047U);
  const Sample longest(0, UINT64_MAX);
  EXPECT_EQ(longest.latency_ns(), kLongestLatencyNs);
  EXPECT_EQ(longest.operation(), kMainOperation);
}

TEST(SampleRing, GivesBackWhatWasPushedInOrder) {
  SampleRing ring(8);
  for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE(ring.TryPush({i, 7}));
  std::vector<int64_t> starts;
  EXPECT_EQ(ring.Drain([&](const Sample& sample) { starts.push_back(sample.start_ns); }), 5U);
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(ring.Drain([](const Sample&) { FAIL(); }), 0U);
}

TEST(SampleRing, TakesExactlyItsCapacity) {
  SampleRing ring(8);
  for (int64_t i = 0; i < 8; ++i) ASSERT_TRUE(ring.TryPush({i, 0}));
  EXPECT_FALSE(ring.TryPush({8, 0}));
  EXPECT_FALSE(ring.TryPush({8, 0}));
  int64_t next = 0;
  ring.Drain([&](const Sample& sample) { EXPECT_EQ(sample.start_ns, next++); });
  EXPECT_EQ(next, 8);
  EXPECT_TRUE(ring.TryPush({8, 0}));
}

TEST(SampleRing, LosesNothingBetweenTwoThreads) {
  constexpr int64_t kSamples = 200'000;
  SampleRing ring(64);
  std::thread producer([&] {
    for (int64_t i = 0; i < kSamples; ++i) {
      while (!ring.TryPush({i, static_cast<uint64_t>(i) * 3})) std::this_thread::yield();
    }
  });
  int64_t next = 0;
  bool whole = true;
  while (next < kSamples) {
    ring.Drain([&](const Sample& sample) {
      whole = whole && sample.start_ns == next && sample.latency_ns() == static_cast<uint64_t>(next) * 3;
      ++next;
    });
    std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace plimsoll
