// The load under disturbances as a part of an acceptance, MQ's own limit, and what is signed of outages.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/accept/accept_report.h"
#include "controller/accept/accept_summary.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/plan_defaults.h"
#include "tests/testing.h"
#include "tests/unit/accept/made_up_acceptance.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kDisturbances[] =
    "disturb: [{name: takeover, at: 10s, hold: 10s, do: [takeover], undo: [giveback]}, {name: cut, at: 40s, do: "
    "[cut]}]\n";

std::string DisturbedText(const std::string& parts, const std::string& more) {
  return absl::StrCat(
      "hosts: [node1, node2]\nworkload: {dir: /x, rate: 200, file_size: 128m}\nduration: 90s\naccept: {runs: 1, parts: "
      "[",
      parts, "]}\n", more);
}

v1::TestPlan DisturbedAcceptance(const std::string& more, const std::string& parts = "load, limit, ha, disturb") {
  v1::TestPlan plan = PlanOf(DisturbedText(parts, kDisturbances + more));
  FillDefaults(plan);
  return plan;
}

TEST(AcceptDisturb, OnlyItsOwnPartHasTheCommandsAndIsJudgedByPausesAlone) {
  const v1::TestPlan plan = DisturbedAcceptance("criteria: [p99<10ms, max<5s, stalls==0]\nblock_size: 16k\n");
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  const v1::TestPlan disturbed = PlanOfRun(plan, v1::ACCEPT_PART_DISTURB, 1);
  EXPECT_EQ(disturbed.disturb_size(), 2);
  EXPECT_EQ(disturbed.disturb(0).name(), "takeover");
  EXPECT_THAT(disturbed.criteria(), ElementsAre("max<5s"));
  EXPECT_EQ(disturbed.duration_ns(), plan.duration_ns());
  EXPECT_EQ(disturbed.workload().rate_per_second(), 200);
  EXPECT_FALSE(disturbed.has_accept());
  for (const v1::AcceptPart part : {v1::ACCEPT_PART_LOAD, v1::ACCEPT_PART_LIMIT, v1::ACCEPT_PART_HA}) {
    EXPECT_EQ(PlanOfRun(plan, part, 1).disturb_size(), 0) << part;
  }
  EXPECT_EQ(RestartPlanOf(plan).disturb_size(), 0);
  // Once, and after all others.
  const v1::AcceptReport planned = PlannedAcceptance(plan);
  EXPECT_EQ(planned.runs_size(), 1 + 1 + 2 + 1);
  EXPECT_EQ(RunName(planned.runs(4)), "disturb");
  EXPECT_EQ(DirectoryOf(planned.runs(4)), "disturb");
}

TEST(AcceptDisturb, HasOneStepWhateverTheLoadHas) {
  const v1::TestPlan plan = DisturbedAcceptance("criteria: [p99<10ms]\nuntil_steady: 10m\n", "load, disturb");
  EXPECT_EQ(MostRounds(LoadPlanOf(plan)), 6U);
  EXPECT_EQ(MostRounds(DisturbPlanOf(plan)), 1U);
  const v1::TestPlan repeated = DisturbedAcceptance("criteria: [p99<10ms]\nrepeat: 2\n", "load, disturb");
  EXPECT_EQ(ExpandSteps(LoadPlanOf(repeated)).size(), 2U);
  EXPECT_EQ(ExpandSteps(DisturbPlanOf(repeated)).size(), 1U);
}

TEST(AcceptDisturb, WithoutALimitForWholeWritesItHasThatOfMq) {
  for (const char* criteria : {"p99<10ms", "p99<10ms, max@4k<1s", "sync_max<1s, p99<10ms"}) {
    const v1::TestPlan plan =
        DisturbedAcceptance(absl::StrCat("block_size: 16k\ncriteria: [", criteria, "]\n"), "load, disturb");
    EXPECT_THAT(DisturbPlanOf(plan).criteria(), Contains(kLongestPauseCriterion)) << criteria;
    EXPECT_THAT(LoadPlanOf(plan).criteria(), Not(Contains(kLongestPauseCriterion))) << criteria;
  }
}

TEST(AcceptDisturb, WhatCannotBeDoneIsRefusedByName) {
  EXPECT_THAT(ProblemsOf(PlanOf(DisturbedText("load, disturb", "criteria: [p99<10ms]\n"))),
              Contains(HasSubstr("disturb needs commands that disturb the storage")));
  EXPECT_THAT(ProblemsOf(PlanOf(DisturbedText("load", absl::StrCat(kDisturbances, "criteria: [p99<10ms]\n")))),
              Contains(HasSubstr("has no part for it: add disturb")));
  const std::string placement = "placement: [{qm: A, home: node1, standby: node2}]\ncriteria: [p99<10ms]\n";
  EXPECT_THAT(ProblemsOf(PlanOf(DisturbedText("load, disturb", kDisturbances + placement))),
              Contains(HasSubstr("disturb takes no")));
  EXPECT_THAT(ProblemsOf(PlanOf(DisturbedText(
                  "load, disturb", absl::StrCat(kDisturbances, "criteria: [p99<10ms]\nblock_size: [4k, 8k]\n")))),
              Contains(HasSubstr("disturb takes one block size")));
}

TEST(AcceptPairs, HaveMqsOwnLimitWhereThePlanNamesNone) {
  const auto criteria = [](const std::string& more, const std::string& parts) {
    v1::TestPlan plan = PlanOf(DisturbedText(parts, more));
    FillDefaults(plan);
    EXPECT_THAT(ProblemsOf(plan), IsEmpty());
    return std::vector<std::string>(plan.criteria().begin(), plan.criteria().end());
  };
  const std::string pairs = "ha: {pairs: [node1+node2]}\n";
  EXPECT_THAT(criteria(pairs, "storage, load, limit, ha"), ElementsAre("max<20s"));
  EXPECT_THAT(criteria(pairs + "criteria: [p99<10ms]\n", "storage, load, ha"), ElementsAre("p99<10ms"));
  EXPECT_THAT(criteria(pairs, "storage, ha"), IsEmpty()) << "drills have criteria of their own";
  EXPECT_THAT(ProblemsOf(PlanOf(DisturbedText("storage, load, ha", ""))), Contains(HasSubstr("is missing")));
}

TEST(AcceptPairs, TheReportNamesTheSourceOfMqsLimit) {
  const auto source = [](const v1::TestPlan& plan) -> std::string {
    for (const auto& [name, text] : AcceptConfiguration(PlannedAcceptance(plan))) {
      if (name == "Source") return text;
    }
    return "";
  };
  EXPECT_THAT(source(DisturbedAcceptance("criteria: [p99<10ms]\n", "load, disturb")),
              HasSubstr("FileLockHeartBeatLen"));
  EXPECT_EQ(source(DisturbedAcceptance("criteria: [p99<10ms, max<1s]\n", "load, disturb")), "");
}

// A load of one host under both disturbances, each with a pause; nothing was lost.
v1::Report DisturbReportOf() {
  v1::Report found = LoadReportOf(3);
  found.add_hosts()->set_label("node1");
  *found.mutable_plan() = DisturbPlanOf(DisturbedAcceptance("", "load, disturb"));
  found.mutable_verdict()->mutable_criteria(0)->set_criterion("max<20s");
  v1::DisturbReport& disturb = *found.mutable_disturb();
  for (const auto& [name, pause_ms] : {std::pair("takeover", 8'214), std::pair("cut", 2'012)}) {
    v1::DisturbanceReport& one = *disturb.add_disturbances();
    one.set_name(name);
    one.mutable_do_();
    one.set_longest_pause_ns(pause_ms * kNsPerMs);
    one.set_recovery_ns(11'400 * kNsPerMs);
    one.set_observed_ns(30 * kNsPerSecond);
  }
  disturb.mutable_disturbances(0)->mutable_undo();
  disturb.set_acknowledged_writes(48'211);
  disturb.set_looked_for_writes(48'211);
  disturb.add_read_back()->add_writers()->set_acknowledged_writes(48'211);
  return found;
}

v1::AcceptReport Disturbed(const v1::Report& found) {
  v1::AcceptReport report = PlannedAcceptance(DisturbedAcceptance("", "disturb"));
  TakeRun(found, NextRun(report), report);
  JudgeAcceptance(report);
  return report;
}

TEST(AcceptDisturb, ShowsPausesRecoveryAndLostWrites) {
  const v1::AcceptReport report = Disturbed(DisturbReportOf());
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS) << RenderAcceptText(report);
  EXPECT_EQ(
      report.runs(0).result(),
      "0 of 48,211 acknowledged writes lost; takeover: longest pause 8.214 s, as before after 11.4 s; cut: longest "
      "pause 2.012 s, as before after 11.4 s");
  ASSERT_EQ(report.figures_size(), 4);
  EXPECT_EQ(report.figures(0).name(), "longest pause, takeover");
  EXPECT_DOUBLE_EQ(report.figures(0).most(), 8.214);
  v1::Report calm = DisturbReportOf();
  calm.mutable_disturb()->mutable_disturbances(0)->set_recovery_ns(0);
  calm.mutable_disturb()->mutable_disturbances(1)->clear_recovery_ns();
  EXPECT_THAT(Disturbed(calm).runs(0).result(),
              HasSubstr("8.214 s, as before all the time; cut: longest pause 2.012 s, "
                        "not as before within 30.0 s"));
  calm.mutable_disturb()->mutable_disturbances(1)->set_recovery_unknown("observed for 2.0 s");
  const v1::AcceptReport unknown = Disturbed(calm);
  EXPECT_THAT(unknown.runs(0).result(),
              HasSubstr("cut: longest pause 2.012 s, when the load was as before is not known"));
  EXPECT_THAT(AcceptAnswers(unknown).at(0).text,
              HasSubstr("cut: at most 2.012 s, when the load was as before is not known"));
  const std::vector<AcceptAnswer> answers = AcceptAnswers(report);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(
      answers[0].text,
      "takeover: at most 8.214 s, as before after 11.4 s; cut: at most 2.012 s, as before after 11.4 s; 0 of 48,211 "
      "acknowledged writes lost");
  EXPECT_THAT(RenderAcceptMarkdown(report, ""), HasSubstr("Longest wait for a write, by disturbance"));
}

TEST(AcceptDisturb, WritesThatWereOverwrittenBeforeAreNotCalledThere) {
  v1::Report found = DisturbReportOf();
  found.mutable_disturb()->set_looked_for_writes(12'288);
  const v1::AcceptReport report = Disturbed(found);
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(report.runs(0).result(), StartsWith("0 of the last 12,288 of 48,211 acknowledged writes lost; "));
  EXPECT_THAT(AcceptAnswers(report)[0].text, EndsWith("; 0 of the last 12,288 of 48,211 acknowledged writes lost"));
}

TEST(AcceptDisturb, WhatWasNotReadBackIsNoNumberUnlessSomethingWasLost) {
  v1::Report found = DisturbReportOf();
  found.mutable_disturb()->mutable_read_back(0)->set_error("it was lost");
  v1::AcceptReport report = Disturbed(found);
  EXPECT_FALSE(report.runs(0).has_lost_writes());
  EXPECT_FALSE(report.runs(0).has_acknowledged_writes());
  EXPECT_THAT(report.runs(0).result(), StartsWith("acknowledged writes not all read back; takeover: "));
  EXPECT_THAT(AcceptAnswers(report)[0].text, EndsWith("; acknowledged writes not all read back"));
  found.mutable_disturb()->mutable_read_back(0)->mutable_writers(0)->set_lost(2);
  report = Disturbed(found);
  EXPECT_THAT(report.runs(0).result(), StartsWith("2 of 48,211 acknowledged writes lost"));
}

TEST(AcceptDisturb, ADisturbanceThatWasNotStartedHasNoFigures) {
  v1::Report found = DisturbReportOf();
  v1::DisturbanceReport& cut = *found.mutable_disturb()->mutable_disturbances(1);
  cut.Clear();
  cut.set_name("cut");
  const v1::AcceptReport report = Disturbed(found);
  EXPECT_THAT(report.runs(0).result(), EndsWith("; cut: was not started"));
  ASSERT_EQ(report.runs(0).outages_size(), 2);
  EXPECT_FALSE(report.runs(0).outages(1).has_longest_seconds());
  EXPECT_EQ(report.figures_size(), 2) << "of the other one";
  EXPECT_THAT(AcceptAnswers(report)[0].text, HasSubstr("; cut: was not started; 0 of"));
}

TEST(AcceptDisturb, ALostWriteFailsItWhateverTheRunSays) {
  for (const auto& lose : {+[](v1::WriterReadBack& writer) { writer.set_lost(1); },
                           +[](v1::WriterReadBack& writer) { writer.set_torn(1); },
                           +[](v1::WriterReadBack& writer) { writer.set_foreign(1); }}) {
    v1::Report found = DisturbReportOf();
    lose(*found.mutable_disturb()->mutable_read_back(0)->mutable_writers(0));
    const v1::AcceptReport report = Disturbed(found);
    EXPECT_EQ(report.outcome(), v1::OUTCOME_FAIL);
    EXPECT_THAT(report.reasons(), ElementsAre(HasSubstr("1 acknowledged write lost")));
  }
}

TEST(AcceptDisturb, PassesOnlyWhereEverythingWasDoneAndReadBack) {
  const auto reason_after = [](const std::function<void(v1::DisturbReport & disturb)>& change) {
    v1::Report found = DisturbReportOf();
    change(*found.mutable_disturb());
    const v1::AcceptReport report = Disturbed(found);
    EXPECT_EQ(report.outcome(), v1::OUTCOME_INCONCLUSIVE) << RenderAcceptText(report);
    return report.runs(0).reasons().empty() ? std::string() : report.runs(0).reasons(0);
  };
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.mutable_disturbances(1)->clear_do_(); }),
              HasSubstr("only 1 of 2 disturbances"));
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.mutable_disturbances(0)->clear_undo(); }),
              "takeover was not undone");
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.clear_disturbances(); }), HasSubstr("only 0 of 2"));
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) {
                disturb.mutable_disturbances(0)->mutable_undo()->set_error("exit code 3");
              }),
              "takeover: undo: exit code 3");
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) {
                disturb.mutable_disturbances(1)->mutable_do_()->set_error("exit code 3");
              }),
              "cut: do: exit code 3");
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.mutable_disturbances(0)->set_pause_open(true); }),
              HasSubstr("the longest pause is at least 8.214 s"));
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.mutable_disturbances(0)->set_failed_writers(1); }),
              HasSubstr("1 queue manager ended with an error"));
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.clear_read_back(); }),
              HasSubstr("read back on 0 of 1 host"));
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) { disturb.mutable_read_back(0)->set_error("timed out"); }),
              HasSubstr("not all read back: timed out"));
  EXPECT_THAT(reason_after([](v1::DisturbReport& disturb) {
                disturb.mutable_read_back(0)->mutable_writers(0)->set_unreadable(2);
              }),
              HasSubstr("2 blocks of the logs"));
}

TEST(AcceptDisturb, WhatThePlanDoesNotListIsNotTested) {
  const auto limits = [](const std::string& parts) {
    const v1::AcceptReport planned = PlannedAcceptance(DisturbedAcceptance("criteria: [p99<10ms]\n", parts));
    return absl::StrJoin(planned.limits(), "\n");
  };
  EXPECT_THAT(limits("load"), HasSubstr("takeovers of queue managers (ha), the storage's share of a restart "
                                        "(restart-time), disturbances of the storage under load (disturb)"));
  EXPECT_THAT(limits("load, ha, restart-time, disturb"), Not(HasSubstr("does not list")));
  EXPECT_THAT(limits("disturb"), HasSubstr("Not tested, since load and limit are left out: p99<10ms."));
}

TEST(AcceptSummary, OutagesAreTheLongestOfEachFaultWithLocksAndWithout) {
  v1::AcceptReport report = PlannedAcceptance(DisturbedAcceptance("", "ha, disturb"));
  for (const auto& [fence, gap_ms] : {std::pair(v1::HA_FENCE_EXTENTS, 3'000), std::pair(v1::HA_FENCE_NONE, 4'500)}) {
    v1::Report found;
    found.mutable_plan()->mutable_ha()->set_fence(fence);
    found.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
    found.mutable_verdict()->set_outcome(v1::OUTCOME_PASS);
    for (const v1::HaFaultKind fault : {v1::HA_FAULT_KIND_KILL, v1::HA_FAULT_KIND_SWITCH}) {
      v1::HaRoundReport& round = *found.mutable_ha()->add_rounds();
      round.set_fault(fault);
      v1::HaTakeoverReport& takeover = *round.add_takeovers();
      takeover.set_outcome(v1::HA_TAKEOVER_OUTCOME_TAKEN);
      takeover.mutable_gap()->set_ns((fault == v1::HA_FAULT_KIND_KILL ? 2 : 1) * gap_ms * kNsPerMs);
      takeover.mutable_gap()->set_error_ns(kNsPerMs);
    }
    v1::HaQueueManagerReport& queue_manager = *found.mutable_ha()->add_queue_managers();
    queue_manager.set_scanned(true);
    queue_manager.set_acknowledged(1'000);
    TakeRun(found, NextRun(report), report);
  }
  EXPECT_EQ(
      AcceptAnswers(report)[0].text,
      "switch: at most 4.501 s (2 takeovers); kill: at most 9.001 s (2 takeovers); 0 of 2,000 acknowledged writes "
      "lost");
  report.mutable_runs(0)->mutable_outages(1)->set_open(true);
  EXPECT_THAT(AcceptAnswers(report)[0].text, HasSubstr("kill: a takeover was not made in time"));
}

TEST(AcceptSummary, TheLimitIsThatOfAllRunsAndTheWorstRunOfACriterionIsNamed) {
  const v1::AcceptReport report = WholeAcceptance({3.1, 14.2, 3.2});
  EXPECT_EQ(AcceptAnswers(report)[0].text, "480 to 500 writes/s per queue manager; at least 2.40 times the load");
  const std::vector<WorstCriterion> criteria = WorstCriteria(report);
  ASSERT_EQ(criteria.size(), 1U);
  EXPECT_EQ(RunName(*criteria[0].run), "load, run 2");
  EXPECT_EQ(criteria[0].criterion->outcome(), v1::OUTCOME_FAIL);
}

}  // namespace
}  // namespace plimsoll
