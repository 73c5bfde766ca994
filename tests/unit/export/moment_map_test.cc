// Moments that are divided from the ends of a cell hold the truth as the timeline's own do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "controller/export/write_stream.h"
#include "controller/timeline/timeline.h"
#include "tests/testing.h"
#include "tests/unit/common/simulated_clock.h"

namespace plimsoll {
namespace {

void AddProbe(const ClockExchange& exchange, Timeline& timeline) {
  v1::ProbeBatch batch;
  v1::ProbeResult& probe = *batch.add_probes();
  probe.set_sent_ns(exchange.local_sent_ns);
  probe.set_agent_received_ns(exchange.remote_received_ns);
  probe.set_agent_sent_ns(exchange.remote_sent_ns);
  probe.set_received_ns(exchange.local_received_ns);
  timeline.AddProbes(batch);
}

// The rate jumps between any two values within 500 ppm; with `steps` the clock also steps now and then.
SimulatedClock AnyClock(int64_t begin_ns, int64_t length_ns, bool steps, std::mt19937_64& random) {
  SimulatedClock clock(begin_ns, static_cast<int64_t>(random() % (1'000 * kSecond)));
  std::uniform_real_distribution<double> ppm(-500, 500);
  for (int64_t at_ns = begin_ns; at_ns < begin_ns + length_ns; at_ns += 2 * kSecond) {
    clock.Slew(at_ns, ppm(random));
    if (steps && random() % 2 == 0) {
      const auto size_ns = static_cast<int64_t>(random() >> (25 + random() % 38));
      clock.Step(at_ns + kSecond, random() % 4 == 0 ? -(size_ns % kSecond) : size_ns);
    }
  }
  return clock;
}

TEST(MomentMap, BoundsHoldTheTruthWhateverTheClockDoes) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 200; ++i) {
    const int64_t begin_ns = 1'000 * kSecond;
    const int64_t length_ns = 10 * kSecond;
    const SimulatedClock clock = AnyClock(begin_ns, length_ns, i % 2 == 0, random);
    Timeline timeline;
    timeline.Begin(begin_ns, 0, 500);
    const Network network;
    for (int64_t at_ns = begin_ns; at_ns < begin_ns + length_ns; at_ns += 100 * kMs) {
      AddProbe(network.Probe(clock, at_ns, random), timeline);
    }
    MomentMap map(timeline, 0, 0);
    EXPECT_TRUE(map.known());
    for (int64_t at_ns = begin_ns + 100 * kMs; at_ns < begin_ns + length_ns - 200 * kMs;
         at_ns += static_cast<int64_t>(random() % (3 * kMs))) {
      const MomentMap::Moment moment = map.Map(clock.At(at_ns));
      ASSERT_LE(std::abs(moment.timeline_ns - at_ns), moment.error_ns)
          << "seed " << kSeed << ", case " << i << ", at " << at_ns;
    }
  }
}

TEST(MomentMap, AgreesWithTheTimelineAndItsErrorIsLittleWider) {
  constexpr uint64_t kSeed = 6;
  std::mt19937_64 random(kSeed);
  const int64_t begin_ns = 1'000 * kSecond;
  const SimulatedClock clock = AnyClock(begin_ns, 10 * kSecond, false, random);
  Timeline timeline;
  timeline.Begin(begin_ns, 0, 500);
  const Network network;
  for (int64_t at_ns = begin_ns; at_ns < begin_ns + 10 * kSecond; at_ns += 100 * kMs) {
    AddProbe(network.Probe(clock, at_ns, random), timeline);
  }
  MomentMap map(timeline, 0, 0);
  for (int64_t at_ns = begin_ns + 100 * kMs; at_ns < begin_ns + 9 * kSecond; at_ns += 1 * kMs) {
    const int64_t agent_ns = clock.At(at_ns);
    const MomentMap::Moment moment = map.Map(agent_ns);
    const MappedMoment exact = *timeline.ToTimeline(0, agent_ns);
    ASSERT_LE(std::abs(moment.timeline_ns - exact.local_ns), 2'200);
    // The bound is that at the ends of the cell, and what the clocks can part by inside it.
    constexpr int64_t kCellNs = int64_t{1} << 22;
    const int64_t cell_ns = agent_ns / kCellNs * kCellNs;
    const int64_t widest_ns =
        std::max(timeline.ToTimeline(0, cell_ns)->error_ns, timeline.ToTimeline(0, cell_ns + kCellNs)->error_ns);
    ASSERT_LE(moment.error_ns, widest_ns + 5'000);
  }
}

TEST(MomentMap, GoesBackNowhereButAtAStep) {
  std::mt19937_64 random(7);
  const int64_t begin_ns = 1'000 * kSecond;
  const SimulatedClock clock = AnyClock(begin_ns, 10 * kSecond, false, random);
  Timeline timeline;
  timeline.Begin(begin_ns, 0, 500);
  const Network network;
  for (int64_t at_ns = begin_ns; at_ns < begin_ns + 10 * kSecond; at_ns += 100 * kMs) {
    AddProbe(network.Probe(clock, at_ns, random), timeline);
  }
  MomentMap map(timeline, 0, 0);
  int64_t last_ns = INT64_MIN;
  for (int64_t agent_ns = clock.At(begin_ns); agent_ns < clock.At(begin_ns + 9 * kSecond); agent_ns += 20'000) {
    const int64_t timeline_ns = map.Map(agent_ns).timeline_ns;
    ASSERT_GE(timeline_ns, last_ns);
    last_ns = timeline_ns;
  }
}

TEST(MomentMap, WithoutAProbePlacesByWhatWasBelievedAndSaysThatTheErrorIsNotKnown) {
  Timeline timeline;
  timeline.Begin(0, 0, 500);
  MomentMap map(timeline, 3, 5'000);
  EXPECT_FALSE(map.known());
  EXPECT_EQ(map.Map(7'000).timeline_ns, 2'000);
  EXPECT_EQ(map.Map(7'000).error_ns, -1);
}

}  // namespace
}  // namespace plimsoll
