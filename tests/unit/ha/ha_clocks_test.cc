// The clocks of hosts that a drill takes down: each boot has its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "common/units.h"
#include "controller/ha/ha_facts.h"
#include "controller/timeline/timeline.h"

namespace plimsoll::tests {
namespace {

// Probes of host 0, each 100 ms, whose clock is behind the timeline's.
void AddHostProbes(Timeline& timeline, int64_t from_ns, int64_t to_ns, int64_t behind_ns) {
  constexpr int64_t kOneWayNs = 50'000;
  v1::ProbeBatch batch;
  for (int64_t at_ns = from_ns; at_ns < to_ns; at_ns += 100 * kNsPerMs) {
    v1::ProbeResult& probe = *batch.add_probes();
    probe.set_sent_ns(at_ns);
    probe.set_agent_received_ns(at_ns + kOneWayNs - behind_ns);
    probe.set_agent_sent_ns(at_ns + kOneWayNs - behind_ns);
    probe.set_received_ns(at_ns + 2 * kOneWayNs);
  }
  timeline.AddProbes(batch);
}

void ExpectMoment(const Timeline& timeline, uint32_t clock, int64_t agent_ns, int64_t expected_ns) {
  const std::optional<MappedMoment> moment = timeline.ToTimeline(clock, agent_ns);
  ASSERT_TRUE(moment.has_value());
  EXPECT_LT(moment->error_ns, kNsPerMs);
  EXPECT_LE(std::abs(moment->local_ns - expected_ns), moment->error_ns);
}

TEST(HaClocks, AMomentThatAHostReachesAfterEachBootIsPlacedByTheBootItIsOf) {
  Timeline timeline;
  timeline.Begin(0, 0, 500);
  const uint32_t first = timeline.ClockOf(0);
  EXPECT_EQ(first, 0U) << "of a host that was never away, its number";
  AddHostProbes(timeline, 100 * kNsPerSecond, 120 * kNsPerSecond, 90 * kNsPerSecond);
  timeline.MayHaveRestarted(0);
  AddHostProbes(timeline, 150 * kNsPerSecond, 170 * kNsPerSecond, 140 * kNsPerSecond);
  const uint32_t second = timeline.ClockOf(0);
  timeline.MayHaveRestarted(0);
  AddHostProbes(timeline, 200 * kNsPerSecond, 220 * kNsPerSecond, 190 * kNsPerSecond);
  const uint32_t third = timeline.ClockOf(0);

  ExpectMoment(timeline, first, 15 * kNsPerSecond, 105 * kNsPerSecond);
  ExpectMoment(timeline, second, 15 * kNsPerSecond, 155 * kNsPerSecond);
  ExpectMoment(timeline, third, 15 * kNsPerSecond, 205 * kNsPerSecond);
  EXPECT_TRUE(timeline.MakeClockReport(0, 210 * kNsPerSecond).steps().empty()) << "a boot is no step of a clock";
  EXPECT_LT(timeline.ErrorAt(0, 210 * kNsPerSecond).value_or(INT64_MAX), kNsPerMs);
}

TEST(HaClocks, AHostThatDoesNotComeBackIsReportedByTheClockThatItHad) {
  Timeline timeline;
  timeline.Begin(0, 0, 500);
  AddHostProbes(timeline, 100 * kNsPerSecond, 120 * kNsPerSecond, 90 * kNsPerSecond);
  timeline.MayHaveRestarted(0);
  EXPECT_EQ(timeline.MakeClockReport(0, 110 * kNsPerSecond).probes(), 200U);
  EXPECT_TRUE(timeline.ErrorAt(0, 110 * kNsPerSecond).has_value());
}

TEST(HaClocks, AHostThatWasFrozenGoesOnWithItsClockWhateverThatDid) {
  // The clock of a virtual machine may stop while it is suspended; other clocks continue.
  for (const int64_t stalled_ns : {int64_t{0}, 60 * kNsPerSecond}) {
    Timeline timeline;
    timeline.Begin(0, 0, 500);
    AddHostProbes(timeline, 100 * kNsPerSecond, 120 * kNsPerSecond, 90 * kNsPerSecond);
    timeline.MayHaveRestarted(0);
    AddHostProbes(timeline, 180 * kNsPerSecond, 200 * kNsPerSecond, 90 * kNsPerSecond + stalled_ns);
    EXPECT_EQ(timeline.ClockOf(0), 0U) << stalled_ns;
    // The instance that was frozen completes its write right after: its moment is known, or known to be unknown.
    const int64_t resumed_ns = 181 * kNsPerSecond;
    const auto moment = timeline.ToTimeline(0, resumed_ns - 90 * kNsPerSecond - stalled_ns);
    ASSERT_TRUE(moment.has_value());
    EXPECT_LE(std::abs(moment->local_ns - resumed_ns), moment->error_ns) << stalled_ns;
  }
}

// CLOCK_MONOTONIC loses time where its machine is suspended, and never gains any: what it lost at one time is not made
// up at another, so that the two probes around a silence cannot agree although it was away from both in between.
TEST(HaClocks, AHostThatIsSuspendedSeveralTimesBetweenTwoProbesHasMomentsWithinTheBound) {
  Timeline timeline;
  timeline.Begin(0, 0, 500);
  AddHostProbes(timeline, 100 * kNsPerSecond, 120 * kNsPerSecond, 90 * kNsPerSecond);
  // Runs until 130 s, from 145 to 150 s, and from 170 s on. A probe is on its way over the first suspension.
  v1::ProbeBatch delayed;
  v1::ProbeResult& probe = *delayed.add_probes();
  probe.set_sent_ns(130 * kNsPerSecond - 1'000'000);
  probe.set_agent_received_ns(40 * kNsPerSecond + 1'000'000);
  probe.set_agent_sent_ns(40 * kNsPerSecond + 1'100'000);
  probe.set_received_ns(145 * kNsPerSecond + 2'000'000);
  timeline.AddProbes(delayed);
  AddHostProbes(timeline, 180 * kNsPerSecond, 200 * kNsPerSecond, 125 * kNsPerSecond);
  for (const auto& [at_s, behind_s] : {std::pair(125, 90), std::pair(129, 90), std::pair(147, 105), std::pair(149, 105),
                                       std::pair(171, 125), std::pair(179, 125)}) {
    const auto moment = timeline.ToTimeline(0, (at_s - behind_s) * kNsPerSecond);
    ASSERT_TRUE(moment.has_value());
    EXPECT_LE(std::abs(moment->local_ns - at_s * kNsPerSecond), moment->error_ns) << at_s;
  }
}

TEST(HaClocks, AnInstanceIsOfTheClockThatItsHostHadWhenItWasStarted) {
  Timeline timeline;
  timeline.Begin(0, 0, 500);
  HaFacts facts;
  const auto take = [&](const v1::JournalRecord& record) { ASSERT_TRUE(facts.Take(record, timeline).ok()); };
  const auto tell = [&take](uint32_t number) {
    v1::JournalRecord record;
    v1::HostHaEvents& from_host = *record.mutable_ha()->mutable_events();
    v1::HaEvent& event = *from_host.mutable_events()->add_events();
    event.set_instance(number);
    event.set_qm(1);
    event.mutable_started();
    take(record);
  };
  v1::JournalRecord joined;
  joined.mutable_host_joined()->set_host(0);
  take(joined);
  for (uint32_t number = 1; number <= 3; ++number) {
    v1::JournalRecord order;
    order.mutable_host_command()->mutable_command()->mutable_ha()->mutable_start()->set_instance(number);
    order.mutable_host_command()->mutable_command()->mutable_ha()->mutable_start()->set_qm(1);
    take(order);
  }
  AddHostProbes(timeline, 100 * kNsPerSecond, 120 * kNsPerSecond, 90 * kNsPerSecond);
  tell(1);
  timeline.MayHaveRestarted(0);
  tell(2);  // before the first probe since
  AddHostProbes(timeline, 150 * kNsPerSecond, 170 * kNsPerSecond, 140 * kNsPerSecond);
  tell(1);
  tell(2);
  tell(3);
  EXPECT_EQ(facts.Find(1)->clock, 0U);
  EXPECT_NE(timeline.ClockOf(0), 0U);
  EXPECT_EQ(facts.Find(2)->clock, timeline.ClockOf(0));
  EXPECT_EQ(facts.Find(3)->clock, timeline.ClockOf(0));
}

}  // namespace
}  // namespace plimsoll::tests
