// The judge of drills against storage that lies, and against storage that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/ha/drill_verdict.h"
#include "tests/unit/ha/sim_drill.h"

namespace plimsoll::tests {
namespace {

TEST(HaJudge, HonestStoragePassesWithEveryPhaseMeasured) {
  const v1::Report report = AnalyzeDrill({});
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << Reasons(report);
  ASSERT_EQ(report.ha().rounds_size(), 3);
  const v1::HaTakeoverReport& one = report.ha().rounds(1).takeovers(0);
  EXPECT_EQ(one.outcome(), v1::HA_TAKEOVER_OUTCOME_TAKEN);
  EXPECT_EQ(one.old_host(), "beta");
  EXPECT_EQ(one.new_host(), "alpha");
  // The planted times: granted 2 s after the fault, free 10 ms before, replayed after 20 ms, written after 23 ms.
  EXPECT_NEAR(static_cast<double>(one.to_granted().ns()), 2e9, 1e6);
  EXPECT_LE(std::abs(one.to_granted().ns() - 2 * kNsPerSecond), one.to_granted().error_ns());
  EXPECT_EQ(one.to_replayed().ns(), 20 * kNsPerMs);
  EXPECT_EQ(one.to_first_write().ns(), 3 * kNsPerMs);
  EXPECT_EQ(one.own().ns(), 5 * kNsPerMs) << "the grant to the first write, less 18 ms of replay";
  EXPECT_GT(one.gap().ns(), one.takeover().ns()) << "the last acknowledged write came before the fault";
  EXPECT_TRUE(report.ha().queue_managers(0).scanned());
  EXPECT_EQ(one.free_to_granted().ns(), 35 * kNsPerMs)
      << "the poller saw it held 60 ms before the grant, free 10 ms before";
  EXPECT_EQ(one.free_to_granted().error_ns(), 25 * kNsPerMs);
  EXPECT_EQ(report.ha().phases_size(), 8);
  EXPECT_EQ(report.ha().phases(0).count(), 3U);
}

TEST(HaJudge, TheWriteInFlightIsNeverAFault) {
  for (const InFlight in_flight : {InFlight::kAbsent, InFlight::kPresent, InFlight::kTorn}) {
    SimDrill drill;
    drill.in_flight = in_flight;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << static_cast<int>(in_flight) << Reasons(report);
    EXPECT_EQ(report.ha().findings().lost(), 0U) << static_cast<int>(in_flight);
    EXPECT_EQ(report.ha().findings().in_doubt_absent() + report.ha().findings().in_doubt_present(), 3U);
  }
}

// The write itself was acknowledged to nobody. The block that it destroyed was, by the new active instance.
TEST(HaJudge, ABlockThatAWriteInFlightDestroyedAfterTheTakeoverIsLost) {
  for (const v1::HaFence fence : {v1::HA_FENCE_EXTENTS, v1::HA_FENCE_NONE}) {
    SimDrill drill;
    drill.fault = v1::HA_FAULT_KIND_FREEZE;
    drill.fence = fence;
    drill.in_flight = InFlight::kLate;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
    EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_FAIL);
    EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_PASS);
    const v1::HaFindings& found = report.ha().findings();
    EXPECT_EQ(found.lost(), 1U);
    EXPECT_EQ(found.overwritten(), 1U);
    EXPECT_EQ(found.overwritten_in_flight(), 1U);
    EXPECT_EQ(found.in_doubt_late(), 1U) << "it stays in doubt";
    EXPECT_EQ(found.late_writers(), 0U);
    EXPECT_EQ(report.ha().rounds(2).takeovers(0).findings().lost(), 1U) << "the round shows what it cost";
    EXPECT_EQ(report.ha().rounds(1).takeovers(0).findings().lost(), 0U);
    EXPECT_THAT(
        Text(report),
        HasSubstr("acknowledged writes that are lost: 1 overwritten by an old active instance (1 of them by the "
                  "write that was in flight at the fault and landed after the takeover)"));
    EXPECT_THAT(Text(report),
                HasSubstr("round 3, qm1: instance 3 on alpha overwrote block 256, which instance 4 on beta "
                          "had acknowledged"));
    EXPECT_THAT(
        Text(report),
        HasSubstr(fence == v1::HA_FENCE_NONE
                      ? "; locks on the extents (--fence extents) let the storage refuse such a write"
                      : "; its extents were locked (--fence extents), and the storage or the host released the locks"));
  }
}

TEST(HaJudge, StorageThatDropsTheLastAcknowledgedWritesFailsByTheirNumber) {
  SimDrill drill;
  drill.dropped = 3;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_PASS);
  EXPECT_EQ(report.ha().findings().missing(), 3U);
  EXPECT_EQ(report.ha().rounds(2).takeovers(0).findings().lost(), 3U);
  EXPECT_EQ(report.ha().rounds(1).takeovers(0).findings().lost(), 0U);
}

TEST(HaJudge, WhatATakeoverDidNotFindCountsOnceAlthoughNobodyWritesItAgain) {
  SimDrill drill;
  // Two writes of each instance: of the four that are gone, from two instances, the last one writes two again.
  drill.writes = 2;
  drill.dropped = 4;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.ha().rounds(2).takeovers(0).findings().lost(), 4U);
  EXPECT_EQ(report.ha().findings().missing(), 4U) << Reasons(report);
  EXPECT_EQ(report.ha().findings().lost(), 4U);
}

TEST(HaJudge, StorageThatTearsAnAcknowledgedPageFails) {
  SimDrill drill;
  drill.torn = 4;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().torn(), 1U);
  EXPECT_EQ(report.ha().findings().lost(), 1U);
}

TEST(HaJudge, AnAcknowledgedWriteThatIsMissingBeforeLaterOnesBreaksTheOrder) {
  SimDrill drill;
  drill.hole = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().order_broken(), 1U);
  EXPECT_EQ(report.ha().findings().missing(), 1U);
}

TEST(HaJudge, ABlockThatIsGoneBeforeTheFinalScanFails) {
  SimDrill drill;
  drill.lost_before_scan = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().missing(), 1U);
  EXPECT_EQ(report.ha().findings().order_broken(), 1U);
}

// The place of the block is written again before any takeover or the final scan reads it.
TEST(HaJudge, AWriteThatWasLostBeforeACheckpointAndThatALaterLapOverwroteFails) {
  for (const uint64_t lost : {uint64_t{1}, uint64_t{20}, uint64_t{44}, uint64_t{60}}) {
    SimDrill drill;
    drill.never_done = {lost};
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << lost << Reasons(report);
    EXPECT_EQ(report.ha().findings().missing(), 1U) << lost;
    EXPECT_EQ(report.ha().findings().lost(), 1U) << lost;
    EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_PASS);
  }
}

TEST(HaJudge, ABlockThatWasWrittenAgainBeforeItWasReadBackGivesNoPass) {
  SimDrill drill;
  drill.keeps_readings_to_itself = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(Reasons(report), HasSubstr("block 1 of its log was written again before it was read back"));
}

TEST(HaJudge, AJournalOfBeforeBlocksWereReadBackKeepsItsVerdict) {
  SimDrill drill;
  drill.reads_back = false;
  EXPECT_EQ(AnalyzeDrill(drill).verdict().outcome(), v1::OUTCOME_PASS);
}

TEST(HaJudge, ALateWriteThatALaterLapOverwroteIsFoundByWhatWasReadBack) {
  SimDrill drill;
  drill.late_behind = 2;
  drill.late_round = 1;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
  EXPECT_EQ(report.ha().findings().overwritten(), 1U);
  EXPECT_EQ(report.ha().findings().late_writers(), 1U);
  EXPECT_EQ(report.ha().findings().missing(), 0U);
}

TEST(HaJudge, AFencedOldActiveInstanceWhoseWriteLandsFailsByContent) {
  SimDrill drill;
  drill.late_behind = 2;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().overwritten(), 1U);
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_FAIL);
}

TEST(HaJudge, AWriteThatStartedAfterTheGrantFailsByTime) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.late_by_ns = 5 * kNsPerSecond;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
  EXPECT_EQ(report.ha().findings().late_writers(), 1U);
  EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_FAIL);
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_PASS) << "what it wrote late was lost to nobody";
}

// A freeze may be shorter than any break that a slow write makes.
TEST(HaJudge, WhatAZombieWroteAfterAShortFreezeIsNotCountedAsLost) {
  // 513 entries are as many as are kept; those after the grant must find room.
  for (const uint64_t writes : {45U, 513U, 700U, 2'000U}) {
    SimDrill drill;
    drill.fault = writes == 700 ? v1::HA_FAULT_KIND_KILL : v1::HA_FAULT_KIND_FREEZE;
    drill.writes = writes;
    drill.takeover_ns = 30 * kNsPerMs;
    drill.zombie_writes = 1'000;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
    EXPECT_EQ(report.ha().findings().missing(), 0U) << "the zombie wrote them after the replay";
    EXPECT_EQ(report.ha().findings().late_writers(), 1U);
    EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_FAIL);
    const v1::HaTakeoverReport& last = report.ha().rounds(2).takeovers(0);
    EXPECT_GT(last.gap().ns(), 0) << "from the last write before the grant";
    EXPECT_EQ(last.acknowledged(), last.replayed());
  }
}

TEST(HaJudge, WritesThatWereDroppedBeforeAShortTakeoverCountInFull) {
  for (const v1::HaFaultKind fault : {v1::HA_FAULT_KIND_KILL, v1::HA_FAULT_KIND_FREEZE}) {
    SimDrill drill;
    drill.fault = fault;
    drill.takeover_ns = kNsPerMs;
    drill.dropped = 4;
    // The clocks do not tell the last writes from the grant by themselves.
    drill.round_trip_ns = fault == v1::HA_FAULT_KIND_KILL ? 60 * kNsPerMs : 80'000;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.ha().findings().missing(), 4U) << Reasons(report);
    EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_FAIL);
  }
}

TEST(HaJudge, WithoutAFenceALateWriteIsReportedAndDecidesNothingWhereItDestroysNothing) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.fence = v1::HA_FENCE_NONE;
  drill.late_by_ns = 5 * kNsPerSecond;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << Reasons(report);
  EXPECT_THAT(report.verdict().remark(), HasSubstr("unfenced writer"));
  EXPECT_EQ(report.ha().findings().late_writers(), 1U);
  EXPECT_THAT(RenderText(report), HasSubstr("Unfenced writer"));
}

TEST(HaJudge, WithoutAFenceAnAcknowledgedBlockThatALateWriteDestroysIsLost) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.fence = v1::HA_FENCE_NONE;
  drill.late_by_ns = 5 * kNsPerSecond;
  drill.late_behind = 2;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
  EXPECT_EQ(OutcomeOf(report, "split_brain==0"), v1::OUTCOME_PASS) << "without a fence the storage keeps nobody out";
  EXPECT_EQ(OutcomeOf(report, "lost==0"), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().overwritten(), 1U);
  EXPECT_EQ(report.ha().findings().overwritten_in_flight(), 0U);
  EXPECT_THAT(Text(report), HasSubstr("1 overwritten by an old active instance: round 3, qm1: instance 3 on alpha"));
  EXPECT_THAT(Text(report), HasSubstr("locks on the extents (--fence extents) let the storage refuse such a write"));
}

TEST(HaJudge, AWriteThatTheClocksCannotPlaceIsInconclusive) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_FREEZE;
  drill.late_by_ns = 60 * kNsPerMs;
  drill.round_trip_ns = 90 * kNsPerMs;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << Reasons(report);
  EXPECT_THAT(Reasons(report), HasSubstr("whether the old active instance wrote after the grant is undetermined"));
}

TEST(HaJudge, ALockThatIsGrantedTwiceIsASplitBrain) {
  for (const v1::HaFaultKind fault : {v1::HA_FAULT_KIND_KILL, v1::HA_FAULT_KIND_HANG}) {
    SimDrill drill;
    drill.fault = fault;
    drill.granted_early_ns = 12 * kNsPerMs;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
    EXPECT_EQ(report.ha().findings().split_brain(), 1U);
  }
}

// A stopped process releases no lock, even if it fails as soon as it resumes.
TEST(HaJudge, ALockThatIsGrantedDuringAHangIsASplitBrainAlsoIfTheOldInstanceEndsThen) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_HANG;
  drill.granted_in_hang = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
  EXPECT_EQ(report.ha().findings().split_brain(), 1U);
  EXPECT_EQ(report.ha().findings().missing(), 0U);
}

// As on a full disk: the standby instance takes over before the kill is ordered, and the storage has done nothing
// wrong.
TEST(HaJudge, AnInstanceThatEndedByItselfBeforeTheFaultIsNoSplitBrain) {
  SimDrill drill;
  drill.granted_early_ns = 8 * kNsPerMs;
  drill.ended_by_itself = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << Reasons(report);
  EXPECT_EQ(report.ha().findings().split_brain(), 0U);
  EXPECT_THAT(Reasons(report), HasSubstr("Round 3: qm1: the moment of the fault is not known"));
}

TEST(HaJudge, ATakeoverBeforeItsFaultHasNoTimes) {
  SimDrill drill;
  drill.rounds = 1;
  drill.granted_early_ns = 12 * kNsPerMs;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().rounds(0).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_UNWANTED);
  EXPECT_EQ(report.ha().phases_size(), 0);
  EXPECT_EQ(OutcomeOf(report, "takeover_max<60s"), v1::OUTCOME_INCONCLUSIVE) << "it would hold for a negative time";
}

TEST(HaJudge, ACriterionThatFailsNamesWhatFailedIt) {
  const auto text_of = [](const SimDrill& drill) { return RenderText(AnalyzeDrill(drill)); };
  SimDrill lost;
  lost.dropped = 3;
  EXPECT_THAT(text_of(lost), HasSubstr("lost==0: acknowledged writes that are lost: 3 missing"));
  SimDrill torn;
  torn.torn = 4;
  EXPECT_THAT(text_of(torn), HasSubstr("acknowledged writes that are lost: 1 torn"));
  SimDrill twice;
  twice.granted_early_ns = 12 * kNsPerMs;
  EXPECT_THAT(text_of(twice), HasSubstr("was granted the lock that instance"));
  SimDrill late;
  late.fault = v1::HA_FAULT_KIND_FREEZE;
  late.late_by_ns = 5 * kNsPerSecond;
  EXPECT_THAT(text_of(late), HasSubstr("split_brain==0: late write: qm1: instance 4 on beta was granted the lock"));
  SimDrill never;
  never.never_released = true;
  EXPECT_THAT(text_of(never), HasSubstr("takeover_max<60s: round 3: the lock of qm1 was never released within 1m"));
}

TEST(HaJudge, AGrantAsCloseToTheFaultAsTheClocksErrorIsInconclusive) {
  SimDrill drill;
  drill.granted_early_ns = kNsPerMs;
  drill.round_trip_ns = 20 * kNsPerMs;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << Reasons(report);
  EXPECT_EQ(report.ha().findings().split_brain(), 0U);
}

TEST(HaJudge, ALockThatIsNeverReleasedFailsTheTakeoverTime) {
  SimDrill drill;
  drill.never_released = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL) << Reasons(report);
  EXPECT_EQ(OutcomeOf(report, "takeover_max<60s"), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().not_released(), 1U);
  EXPECT_EQ(report.ha().rounds(2).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_NONE);
  EXPECT_THAT(RenderText(report), HasSubstr("NOT RELEASED"));
}

TEST(HaJudge, AHangThatNothingComesOfPasses) {
  SimDrill drill;
  drill.fault = v1::HA_FAULT_KIND_HANG;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS) << Reasons(report);
  EXPECT_EQ(report.ha().rounds(0).takeovers(0).outcome(), v1::HA_TAKEOVER_OUTCOME_KEPT);
}

TEST(HaJudge, WhatIsNotKnownIsInconclusive) {
  SimDrill begins_late;
  begins_late.ledger_begins_late = true;
  EXPECT_THAT(Reasons(AnalyzeDrill(begins_late)), HasSubstr("has a hole"));
  SimDrill fails;
  fails.fails_at_the_end = true;
  EXPECT_THAT(Reasons(AnalyzeDrill(fails)), HasSubstr("instance 4 ended by itself: No space left on device"));
  SimDrill same_epoch;
  same_epoch.epoch_not_raised = true;
  EXPECT_THAT(Reasons(AnalyzeDrill(same_epoch)), HasSubstr("the epoch was not raised"));
  SimDrill short_hang;
  short_hang.fault = v1::HA_FAULT_KIND_HANG;
  short_hang.hang_ns = kNsPerSecond;
  EXPECT_THAT(Reasons(AnalyzeDrill(short_hang)), HasSubstr("not seen to hang for long enough"));
  SimDrill no_scan;
  no_scan.no_scan = true;
  EXPECT_THAT(Reasons(AnalyzeDrill(no_scan)), HasSubstr("not scanned"));
  SimDrill hole;
  hole.ledger_hole = true;
  EXPECT_THAT(Reasons(AnalyzeDrill(hole)), HasSubstr("has a hole"));
  SimDrill command;
  command.fault = v1::HA_FAULT_KIND_FREEZE;
  command.command_fails = true;
  EXPECT_THAT(Reasons(AnalyzeDrill(command)), HasSubstr("exit code 1"));
  for (const SimDrill& drill : {no_scan, hole, command}) {
    EXPECT_EQ(AnalyzeDrill(drill).verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << Reasons(AnalyzeDrill(drill));
  }
}

TEST(HaJudge, ALockThatIsReleasedLateIsNamedWithItsTimeAndTheLimit) {
  SimDrill drill;
  drill.takeover_ns = 61 * kNsPerSecond;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(OutcomeOf(report, "takeover_max<60s"), v1::OUTCOME_FAIL);
  EXPECT_EQ(report.ha().findings().released_late(), 3U);
  EXPECT_THAT(RenderText(report), HasSubstr("takeover_max<60s: round 1: the lock of qm1 was released late: 60.96"));
  EXPECT_THAT(RenderText(report), ContainsRegex("takeover_max<60s +FAIL +6[0-9]\\.[0-9]{3} s"));
  // It was free in time, and the standby instance did not notice.
  drill.free_before_grant_ns = 2 * kNsPerSecond;
  EXPECT_EQ(AnalyzeDrill(drill).ha().findings().released_late(), 0U);
}

TEST(HaJudge, ARefusalOfDirectAccessIsNoted) {
  SimDrill drill;
  drill.direct_refused = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(RenderText(report), HasSubstr("beta: O_DIRECT was refused (Invalid argument)"));
  EXPECT_THAT(RenderText(AnalyzeDrill({})), Not(HasSubstr("O_DIRECT was refused")));
}

TEST(HaJudge, AnInstanceThatWasNeverOrderedIsAProtocolErrorAndCountsNowhere) {
  for (const uint32_t number : {0U, 77U, 4'000'000'000U}) {
    Analyzer analyzer;
    for (const v1::JournalRecord& record : MakeDrillJournal({})) {
      analyzer.Add(record);
      if (!record.ha().has_round_begin()) continue;
      v1::JournalRecord made_up;
      made_up.set_time_ns(record.time_ns());
      made_up.mutable_ha()->mutable_events()->set_host(1);
      v1::HaEvent& event = *made_up.mutable_ha()->mutable_events()->mutable_events()->add_events();
      event.set_instance(number);
      event.set_qm(1);
      event.set_at_ns(1);
      event.mutable_lock_granted()->set_lock(v1::HA_LOCK_ACTIVE);
      analyzer.Add(made_up);
    }
    const v1::Report report = analyzer.Finish();
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << number;
    EXPECT_EQ(report.ha().findings().split_brain(), 0U) << number;
    EXPECT_THAT(Reasons(report), HasSubstr("protocol error: host number 1 reports instance " + std::to_string(number)));
  }
}

TEST(HaJudge, AnInstanceOfAnotherHostThanWasOrderedIsAProtocolError) {
  Analyzer analyzer;
  for (v1::JournalRecord record : MakeDrillJournal({})) {
    // Beta reports what alpha's first instance wrote.
    if (record.ha().events().events().ledger_size() > 0 && record.ha().events().host() == 0) {
      record.mutable_ha()->mutable_events()->set_host(1);
    }
    analyzer.Add(record);
  }
  EXPECT_THAT(Reasons(analyzer.Finish()), HasSubstr("which it was not ordered to start"));
}

// After the server's restart it wrote again, so that it held its lock, or had lost it without knowing.
TEST(HaJudge, ALockGrantedEarlyAfterTheOldInstanceSurvivedACommandGivesNoPassAndNoProof) {
  SimDrill drill;
  drill.rounds = 2;
  drill.faults = {v1::HA_FAULT_KIND_SERVER_RESTART, v1::HA_FAULT_KIND_KILL};
  EXPECT_EQ(AnalyzeDrill(drill).verdict().outcome(), v1::OUTCOME_PASS) << Reasons(AnalyzeDrill(drill));
  drill.granted_early_ns = 12 * kNsPerMs;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE) << Reasons(report);
  EXPECT_EQ(report.ha().findings().split_brain(), 0U);
  EXPECT_THAT(Reasons(report), HasSubstr("the old active instance survived a fault"));
}

TEST(HaJudge, PercentilesNeedEnoughTakeovers) {
  const auto takeover = [](uint32_t rounds) {
    SimDrill drill;
    drill.rounds = rounds;
    drill.writes = 3;
    drill.takeover_ns = 50 * kNsPerMs;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.ha().phases(0).count(), rounds);
    return report.ha().phases(0);
  };
  EXPECT_EQ(takeover(99).p90_ns(), 0);
  const v1::HaPhaseReport hundred = takeover(100);
  EXPECT_GE(hundred.p90_ns(), hundred.median().ns());
  EXPECT_EQ(hundred.p99_ns(), 0);
  EXPECT_EQ(takeover(999).p99_ns(), 0);
  EXPECT_GT(takeover(1'000).p99_ns(), 0);
}

// The entries of the planted ledgers arrive 2 ms after the writes have completed; the clock's error comes on top.
TEST(HaJudge, TheInDoubtWindowIsTheLongestWayOfAnEntryToTheLedger) {
  const auto window = [](uint64_t sequence, int64_t late_ns, bool recovered) {
    Analyzer analyzer;
    for (v1::JournalRecord record : MakeDrillJournal({})) {
      const auto& ledger = record.ha().events().events().ledger();
      if (!ledger.empty() && ledger[0].first_sequence() == sequence) {
        record.mutable_ha()->mutable_events()->mutable_events()->mutable_ledger(0)->set_recovered(recovered);
        record.set_time_ns(record.time_ns() + late_ns);
      }
      analyzer.Add(record);
    }
    return analyzer.Finish().ha().max_in_doubt_window_ns();
  };
  const int64_t usual_ns = window(0, 0, false);
  EXPECT_GE(usual_ns, 2 * kNsPerMs);
  EXPECT_LT(usual_ns, 3 * kNsPerMs);
  EXPECT_GE(window(30, 7 * kNsPerMs, false), 9 * kNsPerMs);
  EXPECT_LT(window(30, 7 * kNsPerMs, false), 10 * kNsPerMs);
  // What was read after a death is late by nature.
  EXPECT_EQ(window(30, 7 * kNsPerMs, true), usual_ns);
}

TEST(HaJudge, AJournalThatEndsAnywhereGivesAReportAndNoPass) {
  const std::vector<v1::JournalRecord> records = MakeDrillJournal({});
  for (size_t end = 0; end < records.size(); end += 7) {
    Analyzer analyzer;
    for (size_t i = 0; i < end; ++i) analyzer.Add(records[i]);
    const v1::Report report = analyzer.Finish();
    EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_PASS) << end;
    EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_FAIL) << end << Reasons(report);
  }
}

TEST(HaJudge, EventsThatContradictThemselvesAreLeftOutAndGiveNoPass) {
  std::vector<v1::JournalRecord> records = MakeDrillJournal({});
  Analyzer analyzer;
  for (v1::JournalRecord& record : records) {
    if (record.ha().has_events()) {
      for (v1::HaEvent& event : *record.mutable_ha()->mutable_events()->mutable_events()->mutable_events()) {
        if (event.has_lock_free()) event.mutable_lock_free()->set_last_held_ns(INT64_MAX);
      }
    }
    analyzer.Add(record);
  }
  const v1::Report report = analyzer.Finish();
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(Reasons(report), HasSubstr("no clock shows"));
}

TEST(HaJudge, TheTextBeginsWithTheVerdictAndHasARowOfEachRound) {
  const std::string text = RenderText(AnalyzeDrill({}));
  EXPECT_EQ(text.rfind("Verdict   PASS", 0), 0U) << text;
  EXPECT_THAT(text, HasSubstr("Rounds, times in seconds"));
  EXPECT_THAT(text, HasSubstr("Takeovers over all rounds"));
}

}  // namespace
}  // namespace plimsoll::tests
