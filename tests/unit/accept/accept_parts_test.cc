// Drills and restart I/O as parts of an acceptance.
#include "controller/accept/accept_parts.h"

#include <gtest/gtest.h>

#include <string>

#include "controller/accept/accept_report.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/plan_defaults.h"
#include "tests/testing.h"
#include "tests/unit/accept/made_up_acceptance.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kPaired[] = "hosts: [node1, node2, node3, node4]\nworkload: {dir: /x, rate: 200}\n";

std::string WithParts(const std::string& parts, const std::string& more = "") {
  return absl::StrCat(kPaired, "accept: {runs: 1, parts: [", parts, "]", more, "}\n");
}

v1::TestPlan FilledAcceptance(const std::string& text) {
  v1::TestPlan plan = PlanOf(text);
  FillDefaults(plan);
  return plan;
}

v1::Report DrillReportOf(v1::HaFence fence, v1::Outcome outcome, const std::string& scope = "") {
  v1::Report report;
  report.mutable_plan()->mutable_ha()->set_fence(fence);
  report.mutable_ha()->add_rounds();
  report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
  v1::CriterionReport& criterion = *report.mutable_verdict()->add_criteria();
  criterion.set_criterion("lost==0");
  criterion.set_outcome(outcome);
  criterion.set_value_text(outcome == v1::OUTCOME_FAIL ? "3" : "0");
  report.mutable_verdict()->set_outcome(outcome);
  if (!scope.empty()) report.mutable_verdict()->set_scope(scope);
  return report;
}

// A drill that fails because an old active instance overwrote writes, as locks on the extents would have prevented.
v1::Report OverwrittenReportOf(v1::HaFence fence) {
  v1::Report report = DrillReportOf(fence, v1::OUTCOME_FAIL);
  report.mutable_ha()->mutable_findings()->set_lost(3);
  report.mutable_ha()->mutable_findings()->set_overwritten(3);
  return report;
}

v1::Report RestartReportOf(v1::Outcome outcome, double real_seconds = 0) {
  v1::Report report;
  report.mutable_plan()->mutable_restart_time();
  report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
  report.mutable_verdict()->set_outcome(outcome);
  v1::RestartRedoReport& redo = *report.mutable_restart_time()->add_sides()->add_redo();
  redo.set_way(v1::RESTART_REDO_WAY_COALESCED);
  redo.set_message_size_bytes(2048);
  redo.set_extended_seconds(4.2);
  redo.set_extended_error_seconds(0.31);
  if (real_seconds > 0) {
    v1::RealRestart& real = *report.mutable_restart_time()->add_real();
    real.set_queue_manager("QM1");
    real.set_seconds(real_seconds);
  }
  return report;
}

// An acceptance of the drills alone, with these outcomes.
v1::AcceptReport DrillsOf(const v1::Report& locked, const v1::Report& unlocked) {
  v1::AcceptReport report = PlannedAcceptance(FilledAcceptance(WithParts("ha")));
  TakeRun(locked, NextRun(report), report);
  TakeRun(unlocked, NextRun(report), report);
  JudgeAcceptance(report);
  return report;
}

TEST(AcceptPlanParts, DrillsTakeTheHostsTwoByTwoWithBothFences) {
  const v1::TestPlan plan = FilledAcceptance(WithParts("storage, ha"));
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  const v1::TestPlan locked = PlanOfRun(plan, v1::ACCEPT_PART_HA, 1);
  EXPECT_THAT(locked.ha().pairs(), ElementsAre("node1:7461+node2:7461", "node3:7461+node4:7461"));
  EXPECT_THAT(locked.ha().faults(), ElementsAre(v1::HA_FAULT_KIND_SWITCH, v1::HA_FAULT_KIND_KILL));
  EXPECT_EQ(locked.ha().fence(), v1::HA_FENCE_EXTENTS);
  EXPECT_EQ(PlanOfRun(plan, v1::ACCEPT_PART_HA, 2).ha().fence(), v1::HA_FENCE_NONE);
  EXPECT_THAT(locked.criteria(), ElementsAre("lost==0", "split_brain==0", "takeover_max<60s"));
  EXPECT_EQ(locked.ha().rounds(), 10U);
  EXPECT_GT(locked.lease_ns(), locked.ha().takeover_limit_ns()) << "the acceptance's own is too short for a takeover";
  EXPECT_EQ(plan.lease_ns(), 10 * kNsPerSecond);
  EXPECT_EQ(PlannedAcceptance(plan).runs_size(), 1 + 2);
  const v1::TestPlan shown = FilledAcceptance(WithParts("storage, ha", ", locks_extents: true"));
  EXPECT_EQ(PlannedAcceptance(shown).runs_size(), 1 + 1);
  EXPECT_THAT(PlannedAcceptance(shown).limits(), Contains(HasSubstr("with locks on the extents only")));
}

TEST(AcceptPlanParts, AHostWithoutAPartnerIsNamed) {
  const v1::TestPlan plan =
      FilledAcceptance("hosts: [node1, node2, node3]\nworkload: {dir: /x}\naccept: {parts: [storage, ha]}\n");
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  EXPECT_EQ(DrillPlanOf(plan, v1::HA_FENCE_NONE).hosts_size(), 2);
  EXPECT_THAT(PlannedAcceptance(plan).limits(), Contains("No drill was made with node3: no pair has it."));
}

TEST(AcceptPlanParts, EveryPairGetsEveryFault) {
  std::string hosts = "node1";
  for (int host = 2; host <= 24; ++host) absl::StrAppend(&hosts, ", node", host);
  const std::string text = absl::StrCat("hosts: [", hosts, "]\nworkload: {dir: /x}\naccept: {parts: [storage, ha]}\n");
  EXPECT_THAT(ProblemsOf(PlanOf(text)), IsEmpty()) << "without a rate nothing arrives at random";
  EXPECT_EQ(DrillPlanOf(FilledAcceptance(text), v1::HA_FENCE_NONE).ha().rounds(), 24U) << "12 pairs, 2 faults";
  const std::string given = "ha: {pairs: [node1+node2], faults: [kill, switch, hang], rounds: 2}\n";
  const std::string two = "hosts: [node1, node2]\nworkload: {dir: /x}\naccept: {parts: [storage, ha]}\n" + given;
  EXPECT_EQ(DrillPlanOf(FilledAcceptance(two), v1::HA_FENCE_NONE).ha().rounds(), 3U);
}

TEST(AcceptPlanParts, RestartTakesTheFirstHostAndTheSizeOfTheLog) {
  const v1::TestPlan plan = FilledAcceptance(WithParts("storage, restart-time") + "restart_time: {records: [5, 9]}\n");
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  const v1::TestPlan restart = PlanOfRun(plan, v1::ACCEPT_PART_RESTART_TIME, 1);
  ASSERT_EQ(restart.hosts_size(), 1);
  EXPECT_EQ(restart.hosts(0).address(), "node1:7461");
  EXPECT_EQ(restart.workload().dir(), "/x");
  EXPECT_THAT(restart.restart_time().records(), ElementsAre(5U, 9U));
  EXPECT_THAT(restart.criteria(), IsEmpty());
  EXPECT_EQ(restart.workload().rate_per_second(), 0);
}

TEST(AcceptPlanParts, WhatCannotBeDoneIsRefusedByName) {
  EXPECT_THAT(ProblemsOf(PlanOf(WithParts("restart-time"))), Contains(HasSubstr("informs and decides nothing")));
  EXPECT_THAT(ProblemsOf(PlanOf(WithParts("storage") + "ha: {pairs: [node1+node2]}\n")),
              Contains(HasSubstr("has no part for it: add ha")));
  EXPECT_THAT(ProblemsOf(PlanOf(WithParts("storage, ha") + "end_by: \"04:30\"\n")),
              Contains(HasSubstr("the parts ha and restart-time have no guard")));
  EXPECT_THAT(ProblemsOf(PlanOf("workload: {dir: /x}\naccept: {parts: [storage, ha]}\n")),
              Contains(HasSubstr("ha needs two")));
  EXPECT_THAT(ProblemsOf(PlanOf(WithParts("storage, load, restart-time") + "criteria: [restart<60s]\n")),
              Contains(HasSubstr("an acceptance needs a limit to accept by")));
  EXPECT_THAT(ProblemsOf(PlanOf("workload: {dir: /x}\ncriteria: [restart<60s]\naccept: {parts: [storage]}\n")),
              Contains(HasSubstr("add restart-time to")));
}

TEST(AcceptPlanParts, CriteriaThatNoPartTestsAreNamedBesideTheVerdict) {
  const v1::TestPlan plan = FilledAcceptance(WithParts("storage, ha") + "criteria: [p99<10ms]\n");
  EXPECT_THAT(PlannedAcceptance(plan).limits(), Contains("Not tested, since load and limit are left out: p99<10ms."));
}

TEST(AcceptDrills, PassWhereBothFencesPass) {
  const v1::AcceptReport report = DrillsOf(DrillReportOf(v1::HA_FENCE_EXTENTS, v1::OUTCOME_PASS),
                                           DrillReportOf(v1::HA_FENCE_NONE, v1::OUTCOME_PASS));
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS) << RenderAcceptText(report);
}

TEST(AcceptDrills, AFailureWithoutLocksOnTheExtentsLeavesItOpenWhetherMqLocksThem) {
  const v1::AcceptReport report =
      DrillsOf(DrillReportOf(v1::HA_FENCE_EXTENTS, v1::OUTCOME_PASS), OverwrittenReportOf(v1::HA_FENCE_NONE));
  EXPECT_EQ(report.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.reasons(), ElementsAre(HasSubstr("PASS only if MQ locks its extents")));
}

// What no lock keeps out fails with any fence: lost writes, and takeovers that take too long.
TEST(AcceptDrills, AFailureThatLocksOnTheExtentsWouldNotPreventFails) {
  v1::Report lost = OverwrittenReportOf(v1::HA_FENCE_NONE);
  lost.mutable_ha()->mutable_findings()->set_lost(4);
  v1::Report late = OverwrittenReportOf(v1::HA_FENCE_NONE);
  v1::CriterionReport& takeover = *late.mutable_verdict()->add_criteria();
  takeover.set_criterion("takeover_max<60s");
  takeover.set_outcome(v1::OUTCOME_FAIL);
  for (const v1::Report& unlocked : {lost, late, DrillReportOf(v1::HA_FENCE_NONE, v1::OUTCOME_FAIL)}) {
    EXPECT_EQ(DrillsOf(DrillReportOf(v1::HA_FENCE_EXTENTS, v1::OUTCOME_PASS), unlocked).outcome(), v1::OUTCOME_FAIL);
  }
}

TEST(AcceptDrills, AFailureWithLocksOnTheExtentsFails) {
  const v1::AcceptReport report = DrillsOf(DrillReportOf(v1::HA_FENCE_EXTENTS, v1::OUTCOME_FAIL),
                                           DrillReportOf(v1::HA_FENCE_NONE, v1::OUTCOME_PASS));
  EXPECT_EQ(report.outcome(), v1::OUTCOME_FAIL);
}

TEST(AcceptDrills, APassOnOneKernelIsNone) {
  const v1::AcceptReport report =
      DrillsOf(DrillReportOf(v1::HA_FENCE_EXTENTS, v1::OUTCOME_PASS, "on one kernel; locks between hosts not tested"),
               DrillReportOf(v1::HA_FENCE_NONE, v1::OUTCOME_PASS));
  EXPECT_EQ(report.outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.reasons(), ElementsAre(HasSubstr("on one kernel")));
}

TEST(AcceptDrills, AWatchShowsLocksOnExtentsOnlyWhereEveryHostHeldOneForWriting) {
  const auto watched = [](const std::vector<std::string>& locks, v1::WatchReport watch = {}) {
    v1::WatchHostReport& host = *watch.add_hosts();
    host.add_writers();
    for (const std::string& lock : locks) host.mutable_counts()->mutable_profile()->add_locks(lock);
    return watch;
  };
  const std::string master = "master: POSIX write, pid 4711, held";
  const std::string held = "S0000001.LOG: POSIX write, pid 4711, held";
  EXPECT_TRUE(ShowsExtentLocks(watched({master, held})));
  EXPECT_FALSE(ShowsExtentLocks(watched({master})));
  EXPECT_FALSE(ShowsExtentLocks(watched({"S0000001.LOG: POSIX write, pid 4711, waiting"})));
  EXPECT_FALSE(ShowsExtentLocks(watched({"S0000001.LOG: POSIX read, pid 4711, held"})));
  EXPECT_FALSE(ShowsExtentLocks(watched({master}, watched({held}))));
  EXPECT_FALSE(ShowsExtentLocks(v1::WatchReport()));
}

v1::AcceptReport RestartOf(const v1::Report& restart, const std::string& criteria) {
  v1::TestPlan plan = PlanOf(WithParts("storage, restart-time"));
  plan.clear_criteria();
  if (!criteria.empty()) plan.add_criteria(criteria);
  FillDefaults(plan);
  v1::AcceptReport report = PlannedAcceptance(plan);
  TakeStorage(NfsHosts(), 4096, NextRun(report), report);
  TakeRun(restart, NextRun(report), report);
  JudgeAcceptance(report);
  return report;
}

TEST(AcceptRestart, InformsAndDecidesNothing) {
  const v1::AcceptReport report = RestartOf(RestartReportOf(v1::OUTCOME_DONE), "");
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS) << RenderAcceptText(report);
  EXPECT_THAT(report.runs(1).result(), HasSubstr("coalesced, 2k messages: 4.2 +- 0.31 s for 60,000 records"));
  EXPECT_THAT(RenderAcceptJUnit(report), Not(HasSubstr("<error")));
  // What could not be measured is no part that was done.
  EXPECT_EQ(RestartOf(RestartReportOf(v1::OUTCOME_INCONCLUSIVE), "").outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(AcceptRestart, TheLongestRealRestartDecidesACriterionAboutIt) {
  EXPECT_EQ(RestartOf(RestartReportOf(v1::OUTCOME_DONE, 59.9), "restart<60s").outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(RestartOf(RestartReportOf(v1::OUTCOME_DONE, 60), "restart<=60s").outcome(), v1::OUTCOME_PASS);
  const v1::AcceptReport late = RestartOf(RestartReportOf(v1::OUTCOME_DONE, 60), "restart<60s");
  EXPECT_EQ(late.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(late.reasons(), ElementsAre(HasSubstr("restart<60s FAIL: 60.000 s")));
  EXPECT_EQ(RestartOf(RestartReportOf(v1::OUTCOME_DONE), "restart<60s").outcome(), v1::OUTCOME_INCONCLUSIVE)
      << "no restart was given";
}

}  // namespace
}  // namespace plimsoll
