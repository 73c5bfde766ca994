// The verdict of a drill: what it claims, what it leaves open, and what it says beside a PASS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/render/junit_xml.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/ha/drill_verdict.h"
#include "tests/unit/ha/sim_drill.h"

namespace plimsoll::tests {
namespace {

// What nobody looked for cannot be known to be there.
TEST(HaVerdict, ACountThatWasNotLookedForHasNoValueAndDecidesNothing) {
  SimDrill no_scan;
  no_scan.no_scan = true;
  SimDrill hole;
  hole.ledger_hole = true;
  SimDrill unread;
  unread.keeps_readings_to_itself = true;
  for (SimDrill drill : {no_scan, hole, unread}) {
    drill.criteria = {"lost==0", "torn==0", "misplaced==0", "overwritten==0", "order_broken==0", "split_brain==0"};
    const v1::Report report = AnalyzeDrill(drill);
    ASSERT_EQ(report.verdict().criteria_size(), 6);
    for (const v1::CriterionReport& line : report.verdict().criteria()) {
      EXPECT_EQ(line.outcome(), v1::OUTCOME_INCONCLUSIVE) << line.criterion();
      EXPECT_EQ(line.value_text(), "") << line.criterion();
      EXPECT_THAT(line.reason(), HasSubstr("qm1: ")) << line.criterion();
    }
  }
  // What was found is there, whatever else was not looked for.
  no_scan.dropped = 3;
  const v1::Report report = AnalyzeDrill(no_scan);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(Text(report), HasSubstr("lost==0 FAIL at least 3"));
}

// Whether the lock would have been released in time is not known then; that it took longer than a second is.
TEST(HaVerdict, ARoundThatWasCutShortDoesNotFailForALockThatMayStillHaveBeenReleased) {
  SimDrill drill;
  drill.never_released = true;
  drill.interrupted_after_ns = 3'100 * kNsPerMs;
  drill.criteria = {"not_released==0", "takeover_max<60s", "grant_max<1s", "gap_median<60s"};
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(OutcomeOf(report, "not_released==0"), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeOf(report, "takeover_max<60s"), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_EQ(OutcomeOf(report, "gap_median<60s"), v1::OUTCOME_PASS) << "of two rounds of three it is known";
  EXPECT_EQ(OutcomeOf(report, "grant_max<1s"), v1::OUTCOME_FAIL);
  EXPECT_THAT(Text(report), HasSubstr("round 3: the lock of qm1 was not released by the round's end, 3089 ms after"));
  EXPECT_EQ(report.ha().findings().not_released(), 0U);
}

TEST(HaVerdict, WhereARoundDidNotEndNoTakeoverAndNoReleaseIsVouchedFor) {
  SimDrill drill;
  std::vector<v1::JournalRecord> records = MakeDrillJournal(drill);
  const auto cut = std::find_if(records.begin(), records.end(), [](const v1::JournalRecord& record) {
    return record.ha().has_round_begin() && record.ha().round_begin().round() == 3;
  });
  ASSERT_NE(cut, records.end());
  for (const auto& end : {cut, cut + 1}) {
    Analyzer analyzer;
    records.front().mutable_run_begin()->mutable_plan()->clear_criteria();
    for (const char* criterion : {"not_released==0", "takeover_max<60s", "gap_max<60s", "grant_max<60s"}) {
      records.front().mutable_run_begin()->mutable_plan()->add_criteria(criterion);
    }
    for (auto record = records.begin(); record != end; ++record) analyzer.Add(*record);
    const v1::Report report = analyzer.Finish();
    // Of the rounds that there were something is known.
    const v1::Outcome expected = end == cut ? v1::OUTCOME_PASS : v1::OUTCOME_INCONCLUSIVE;
    for (const v1::CriterionReport& line : report.verdict().criteria()) {
      EXPECT_EQ(line.outcome(), expected) << line.criterion();
    }
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  }
  Analyzer nothing;
  nothing.Add(records.front());
  const v1::Report begun = nothing.Finish();
  for (const v1::CriterionReport& line : begun.verdict().criteria()) {
    EXPECT_EQ(line.outcome(), v1::OUTCOME_INCONCLUSIVE) << line.criterion();
  }
}

TEST(HaVerdict, TimesOfAClockAtTheWrongSpeedPassNothingAndFailNothing) {
  SimDrill drill;
  drill.clock_speed = 0.5;
  drill.criteria = {"lost==0",          "split_brain==0", "late_writers==0", "not_released==0",
                    "takeover_max<60s", "gap_max<1ms",    "replay_max<60s",  "own_max<60s"};
  const v1::Report report = AnalyzeDrill(drill);
  for (const v1::CriterionReport& line : report.verdict().criteria()) {
    if (line.criterion() == "lost==0") continue;
    EXPECT_EQ(line.outcome(), v1::OUTCOME_INCONCLUSIVE) << line.criterion();
    EXPECT_EQ(line.reason(), "beta's clock runs at 0.50x the controller's") << line.criterion();
  }
  EXPECT_NE(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_NEAR(report.hosts(1).clock().drift_ppm(), -500'000, 5'000);
}

TEST(HaVerdict, HostsOfAPairThatShareAKernelGiveNoPassAsTheirLocksWereNotTestedBetweenHosts) {
  SimDrill drill;
  drill.boot_ids = {"one", "one"};
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(Text(report), HasSubstr("alpha and beta share one kernel: locks between hosts were not tested"));
  EXPECT_THAT(Text(report), HasSubstr("--one-kernel"));
  // FAIL stays FAIL.
  drill.dropped = 3;
  EXPECT_EQ(AnalyzeDrill(drill).verdict().outcome(), v1::OUTCOME_FAIL);
}

TEST(HaVerdict, HostsWhoseKernelIsNotKnownAreNotTakenForTwo) {
  for (const std::vector<std::string>& boot_ids :
       {std::vector<std::string>{"", ""}, std::vector<std::string>{"one", ""}, std::vector<std::string>{"", "one"}}) {
    SimDrill drill;
    drill.boot_ids = boot_ids;
    const v1::Report report = AnalyzeDrill(drill);
    EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_THAT(Reasons(report), HasSubstr("alpha and beta may share one kernel"));
  }
}

TEST(HaVerdict, OnOneKernelThatWasAskedForAPassSaysWhatWasNotTested) {
  SimDrill drill;
  drill.boot_ids = {"one", "one"};
  drill.one_kernel = true;
  const v1::Report report = AnalyzeDrill(drill);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(RenderText(report).rfind("Verdict   PASS on one kernel; locks between hosts not tested\n", 0), 0U)
      << RenderText(report);
  EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr("PASS on one kernel; locks between hosts not tested"));
  drill.dropped = 3;
  EXPECT_EQ(RenderText(AnalyzeDrill(drill)).rfind("Verdict   FAIL", 0), 0U);
  // Two kernels are two, whatever was asked for.
  drill = {};
  drill.one_kernel = true;
  EXPECT_EQ(AnalyzeDrill(drill).verdict().scope(), "");
}

TEST(HaVerdict, APassThatRestsOnLockedExtentsSaysSoAndNamesTheDrillWithoutThem) {
  SimDrill drill;
  const v1::Report fenced = AnalyzeDrill(drill);
  EXPECT_THAT(
      Text(fenced),
      HasSubstr("Warning: the PASS rests on locks on the log's extents (--fence extents), and it is "
                "not known whether MQ locks its extents; to test without those locks, run a drill with --fence none"));
  EXPECT_THAT(RenderMarkdown(fenced, ""), HasSubstr("**Warning:** the PASS rests on locks on the log"));
  EXPECT_THAT(RenderReportJUnit(fenced), HasSubstr("<property name=\"warning\" value=\"the PASS rests on locks on"));
  drill.fence = v1::HA_FENCE_NONE;
  EXPECT_EQ(AnalyzeDrill(drill).verdict().warnings_size(), 0);
  drill = {};
  drill.dropped = 1;
  EXPECT_EQ(AnalyzeDrill(drill).verdict().warnings_size(), 0) << "a FAIL rests on nothing";
}

// The standby instance is granted the lock 20 ms after the fault; the poller had last seen it held 60 ms before that.
TEST(HaVerdict, ATimeThatMayBeNegativeWithinItsErrorIsPrintedAsABound) {
  SimDrill drill;
  drill.takeover_ns = 20 * kNsPerMs;
  const v1::Report report = AnalyzeDrill(drill);
  const v1::HaSpan& free = report.ha().rounds(0).takeovers(0).to_free();
  ASSERT_LT(free.ns(), 0);
  ASSERT_GT(free.ns() + free.error_ns(), 0);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, ContainsRegex("1 +kill +alpha +1 +taken over \\| +[0-9.]+ +≤0\\.011 +0\\.020"));
  EXPECT_THAT(text, ContainsRegex("to free +3 \\| +≤0\\.011 +≤0\\.011 +≤0\\.011"));
  EXPECT_THAT(text, Not(ContainsRegex("[ |]-[0-9]")));
}

}  // namespace
}  // namespace plimsoll::tests
