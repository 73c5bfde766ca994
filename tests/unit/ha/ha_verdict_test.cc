// The verdict of a drill: what it claims, what it leaves open, and what it says beside a PASS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/units.h"
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

TEST(HaVerdict, APassThatRestsOnLockedExtentsSaysSoAndNamesTheOtherHalfOfTheAnswer) {
  SimDrill drill;
  const v1::Report fenced = AnalyzeDrill(drill);
  EXPECT_THAT(Text(fenced),
              HasSubstr("Warning: the PASS rests on locks on the log's extents (--fence extents), and it is "
                        "not known whether MQ locks its extents; a drill with --fence none"));
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
