// When a fault happened, and whether an old active instance wrote after the grant, as far as the clocks tell.
#include "controller/ha/ha_takeover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "tests/testing.h"
#include "tests/unit/ha/sim_drill.h"

namespace plimsoll::tests {
namespace {

// More than the planted clocks' error, less than any planted time.
constexpr int64_t kNearNs = kNsPerMs / 2;

// The fault of the only round of a drill, on the timeline; and when its command began, and its lock was granted.
struct PlacedFault {
  std::optional<HaMoment> fault;
  int64_t command_ns = 0;
};

PlacedFault PlaceFault(SimDrill drill) {
  drill.rounds = 1;
  Timeline timeline;
  HaFacts facts;
  for (const v1::JournalRecord& record : MakeDrillJournal(drill)) {
    EXPECT_TRUE(facts.Take(record, timeline).ok());
    if (record.has_run_begin()) timeline.Begin(record.time_ns(), 0, 500);
    if (record.has_probes()) timeline.AddProbes(record.probes());
    if (record.ha().has_host_away()) timeline.MayHaveRestarted(record.ha().host_away().host());
  }
  const HaRoundFacts& round = facts.rounds().at(0);
  std::set<uint64_t> known;
  return {JudgeTakeover(timeline, facts, round, round.begin.queue_managers(0), 0, known).moments.fault,
          round.command_ns};
}

void ExpectFault(const PlacedFault& placed, int64_t low_ns, int64_t high_ns) {
  ASSERT_TRUE(placed.fault.has_value());
  EXPECT_LE(std::abs(placed.fault->low_ns - placed.command_ns - low_ns), kNearNs);
  EXPECT_LE(std::abs(placed.fault->high_ns - placed.command_ns - high_ns), kNearNs);
}

TEST(HaFaultMoment, BeginsWithTheCommandOrTheLastAcknowledgedWriteWhicheverIsLater) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.command_ns = 400 * kNsPerMs;
  ExpectFault(PlaceFault(drill), 0, 400 * kNsPerMs);
  drill.writes_during_command = 100;
  ExpectFault(PlaceFault(drill), 100 * kNsPerMs, 400 * kNsPerMs);
}

TEST(HaFaultMoment, EndsWithTheCommandTheLossOfContactOrTheGrantWhicheverIsFirst) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_POWEROFF;
  drill.command_ns = 400 * kNsPerMs;
  drill.away_after_ns = 150 * kNsPerMs;
  ExpectFault(PlaceFault(drill), 0, 150 * kNsPerMs);
  drill.away_after_ns = 0;
  drill.command_ns = 3 * kNsPerSecond;
  ExpectFault(PlaceFault(drill), 0, drill.takeover_ns);
}

TEST(HaFaultMoment, OfAKillIsTheSignals) {
  SimDrill drill;
  drill.rounds = 1;
  int64_t began_ns = 0;
  int64_t at_ns = 0;
  for (const v1::JournalRecord& record : MakeDrillJournal(drill)) {
    for (const v1::HaEvent& event : record.ha().events().events().events()) {
      if (!event.has_signalled()) continue;
      began_ns = event.signalled().began_ns();
      at_ns = event.at_ns();
    }
  }
  const PlacedFault placed = PlaceFault(drill);
  ASSERT_TRUE(placed.fault.has_value());
  EXPECT_LE(placed.fault->low_ns, began_ns);
  EXPECT_GE(placed.fault->low_ns, began_ns - kNearNs);
  EXPECT_GE(placed.fault->high_ns, at_ns);
  EXPECT_LE(placed.fault->high_ns, at_ns + kNearNs);
}

// The first host was frozen at the fault, two seconds before the grant, and resumed half a second after the grant; it
// is probed again `probe_ns` after the grant, and starts a write `late_by_ns` after it. Its clock, which is the
// timeline's before, stands still meanwhile, or does not.
v1::Report AnalyzeFreeze(bool stands, int64_t probe_ns, int64_t late_by_ns) {
  SimDrill drill;
  drill.rounds = 1;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.late_by_ns = late_by_ns;
  const std::vector<v1::JournalRecord> records = MakeDrillJournal(drill);
  int64_t fault_ns = 0;
  for (const v1::JournalRecord& record : records) {
    if (record.ha().has_fault_command()) fault_ns = record.time_ns();
  }
  const int64_t granted_ns = fault_ns + drill.takeover_ns;
  const int64_t resumed_ns = granted_ns + 500 * kNsPerMs;
  const int64_t stalled_ns = stands ? resumed_ns - fault_ns : 0;
  Analyzer analyzer;
  for (v1::JournalRecord record : records) {
    if (record.has_probes() && record.probes().host() == 0) {
      v1::ProbeResult& probe = *record.mutable_probes()->mutable_probes(0);
      if (probe.sent_ns() >= fault_ns && probe.sent_ns() < granted_ns + probe_ns) continue;
      if (probe.sent_ns() > resumed_ns) {
        probe.set_agent_received_ns(probe.agent_received_ns() - stalled_ns);
        probe.set_agent_sent_ns(probe.agent_sent_ns() - stalled_ns);
      }
    }
    if (record.ha().events().host() == 0 && record.ha().events().events().ledger_size() > 0) {
      v1::HaLedgerEntry& entry = *record.mutable_ha()->mutable_events()->mutable_events()->mutable_ledger(0);
      if (entry.last_start_ns() > resumed_ns) {
        entry.set_last_start_ns(entry.last_start_ns() - stalled_ns);
        entry.set_last_end_ns(entry.last_end_ns() - stalled_ns);
      }
    }
    analyzer.Add(record);
  }
  return analyzer.Finish();
}

TEST(HaLateWrite, IsProvedByItsStartWhereAProbeAfterTheResumeShowsTheClock) {
  for (const bool stands : {false, true}) {
    const v1::Report report = AnalyzeFreeze(stands, 520 * kNsPerMs, 4 * kNsPerSecond);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << stands;
    EXPECT_EQ(report.ha().findings().late_writers(), 1U) << stands;
    EXPECT_EQ(report.ha().findings().lost(), 0U) << stands;
  }
}

// Neither before the first probe since the resume, nor until the clock has made up for the time: it may have shown the
// same before the grant.
TEST(HaLateWrite, IsNotProvedWhereTheClockStoppedAndMayHaveShownTheMomentBefore) {
  EXPECT_EQ(AnalyzeFreeze(true, 520 * kNsPerMs, 800 * kNsPerMs).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  const v1::Report stood = AnalyzeFreeze(true, 900 * kNsPerMs, 800 * kNsPerMs);
  EXPECT_EQ(stood.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(stood.ha().findings().late_writers(), 0U);
  EXPECT_THAT(
      absl::StrJoin(stood.verdict().reasons(), "\n"),
      HasSubstr("whether the old active instance wrote after the grant is undetermined within the clock error"));
  // One that did not stand still is known on both sides of the freeze.
  EXPECT_EQ(AnalyzeFreeze(false, 900 * kNsPerMs, 800 * kNsPerMs).ha().findings().late_writers(), 1U);
}

}  // namespace
}  // namespace plimsoll::tests
