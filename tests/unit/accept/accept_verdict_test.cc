// The verdict over the parts of an acceptance: nothing but whole parts that passed makes a PASS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/accept/accept_report.h"
#include "tests/testing.h"
#include "tests/unit/accept/made_up_acceptance.h"

namespace plimsoll {
namespace {

TEST(AcceptVerdict, PassesWhereEveryRunOfEveryPartIsWholeAndPassed) {
  const v1::AcceptReport report = WholeAcceptance();
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS) << RenderAcceptText(report);
  EXPECT_THAT(report.reasons(), IsEmpty());
  EXPECT_EQ(report.runs_size(), 1 + 3 + 3 + 3);
}

// Each run spoils the verdict alone, whatever it is that it did not do.
TEST(AcceptVerdict, NoRunThatIsNotWholeAndPassedLeavesAPass) {
  const v1::AcceptReport whole = WholeAcceptance();
  for (int i = 0; i < whole.runs_size(); ++i) {
    const auto outcome = [&](const auto& spoil) {
      v1::AcceptReport report = whole;
      spoil(*report.mutable_runs(i));
      JudgeAcceptance(report);
      EXPECT_FALSE(report.reasons().empty()) << i;
      return report.outcome();
    };
    EXPECT_EQ(outcome([](v1::AcceptRun& run) { run.set_outcome(v1::OUTCOME_INCONCLUSIVE); }), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(outcome([](v1::AcceptRun& run) { run.set_outcome(v1::OUTCOME_DONE); }), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(outcome([](v1::AcceptRun& run) { run.set_outcome(v1::OUTCOME_UNSPECIFIED); }), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(outcome([](v1::AcceptRun& run) { run.set_complete(false); }), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(outcome([](v1::AcceptRun& run) {
                run.set_began(false);
                run.set_complete(false);
                run.clear_outcome();
              }),
              v1::OUTCOME_INCONCLUSIVE);
    EXPECT_EQ(outcome([](v1::AcceptRun& run) { run.set_outcome(v1::OUTCOME_FAIL); }), v1::OUTCOME_FAIL);
  }
}

TEST(AcceptVerdict, AFailureStandsWhateverIsMissingBesides) {
  v1::AcceptReport report = WholeAcceptance({3.1, 14.2});
  EXPECT_EQ(report.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(report.reasons(), ElementsAre("load, run 2: FAIL: p99<10ms: 14.200 ms, step 1, beta/qm1"));
  v1::AcceptRun& last = *report.mutable_runs()->rbegin();
  last.set_began(false);
  last.set_complete(false);
  last.clear_outcome();
  report.set_cut_short("interrupted");
  JudgeAcceptance(report);
  EXPECT_EQ(report.outcome(), v1::OUTCOME_FAIL);
  EXPECT_THAT(report.reasons(), Contains("Did not run: limit, run 2: interrupted"));
}

TEST(AcceptVerdict, ResultsThatDifferFromTheRecordLeaveNoPassAndAreNamedEverywhere) {
  for (const bool of_a_run : {true, false}) {
    v1::AcceptReport report = WholeAcceptance();
    if (of_a_run) {
      TakeDifference("load-1 is missing", *report.mutable_runs(4));
    } else {
      report.add_altered("load-1 is missing");
    }
    JudgeAcceptance(report);
    EXPECT_EQ(report.outcome(), v1::OUTCOME_INCONCLUSIVE);
    EXPECT_THAT(report.reasons(),
                ElementsAre(of_a_run ? "load, run 1: INCONCLUSIVE: load-1 is missing" : "load-1 is missing"));
    EXPECT_THAT(RenderAcceptText(report), HasSubstr("load-1 is missing"));
    EXPECT_THAT(RenderAcceptMarkdown(report, ""), HasSubstr("load-1 is missing"));
    EXPECT_THAT(RenderAcceptJUnit(report), HasSubstr("load-1 is missing"));
    EXPECT_THAT(RenderAcceptJUnit(report), HasSubstr("errors=\"1\""));
    EXPECT_THAT(RenderAcceptPage(report), HasSubstr("load-1 is missing"));
  }
  v1::AcceptReport failed = WholeAcceptance({3.1, 14.2, 3.2});
  failed.add_altered("load-9 is not one of the parts");
  JudgeAcceptance(failed);
  EXPECT_EQ(failed.outcome(), v1::OUTCOME_FAIL) << "what failed has failed";
}

TEST(AcceptVerdict, EachReasonIsOneClauseAndAnItemOfAList) {
  v1::AcceptReport report = WholeAcceptance();
  v1::AcceptRun& run = *report.mutable_runs()->rbegin();
  run.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  for (const char* reason : {"The limit is the load generator, not the storage; the storage may carry more.", "second"})
    run.add_reasons(reason);
  JudgeAcceptance(report);
  EXPECT_THAT(report.reasons(),
              ElementsAre("limit, run 3: INCONCLUSIVE: the limit is the load generator, not the storage"));
  EXPECT_THAT(RenderAcceptText(report),
              HasSubstr("Verdict   INCONCLUSIVE\n"
                        "          - limit, run 3: INCONCLUSIVE: the limit is the load generator, not the\n"
                        "            storage\n"));
}

TEST(AcceptVerdict, TheReasonOfARunIsThePrimaryCauseOfItsVerdict) {
  v1::Report found = LoadReportOf(3);
  found.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  v1::CriterionReport& steady = *found.mutable_verdict()->add_criteria();
  steady.set_criterion("steady");
  steady.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  steady.set_value_text("no");
  steady.set_step(1);
  steady.set_reason("step 1: the load generator may be CPU-bound");
  v1::AcceptReport report = WholeAcceptance();
  v1::AcceptRun& load = *report.mutable_runs(4);
  load.clear_reasons();
  TakeRun(found, load, report);
  JudgeAcceptance(report);
  EXPECT_THAT(report.reasons(),
              ElementsAre("load, run 1: INCONCLUSIVE: steady: step 1: the load generator may be CPU-bound"));
}

TEST(AcceptVerdict, WhatAVerdictDoesNotSayStandsBesideItEverywhere) {
  v1::Report found = LoadReportOf(3);
  const std::string warning =
      "1 stall of up to 2.500 s in step 1: in a closed loop a stall is one slow write among many";
  found.mutable_verdict()->add_warnings(warning);
  v1::AcceptReport report = WholeAcceptance();
  for (const int run : {4, 5}) TakeRun(found, *report.mutable_runs(run), report);
  JudgeAcceptance(report);
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(report.runs(4).notes(), Contains("Warning: " + warning));
  EXPECT_THAT(AcceptWarnings(report), ElementsAre("load, run 1; load, run 2: " + warning));
  for (const std::string& text : {RenderAcceptText(report), RenderAcceptBrief(report, "out/acc")}) {
    EXPECT_EQ(text.rfind("Verdict   PASS\n          Warning: load, run 1; load, run 2: 1 stall of up to 2.500 s", 0),
              0U)
        << text;
  }
  EXPECT_THAT(RenderAcceptMarkdown(report, ""), HasSubstr("**Warning:** load, run 1; load, run 2: 1 stall of up to"));
  EXPECT_THAT(RenderAcceptJUnit(report),
              HasSubstr("<property name=\"warning\" value=\"load, run 1; load, run 2: 1 stall"));
  EXPECT_THAT(RenderAcceptPage(report), HasSubstr("load, run 1; load, run 2: 1 stall of up to"));
}

std::vector<std::string> LinesOf(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

TEST(AcceptBrief, HasAtMostFortyLinesAndEndsWithVerdictAndDirectory) {
  for (const size_t runs : {size_t{3}, size_t{40}}) {
    v1::AcceptReport report = WholeAcceptance(std::vector<double>(runs, 14.2));
    for (v1::AcceptRun& run : *report.mutable_runs()) {
      for (int i = 0; i < 60; ++i) {
        run.add_notes(absl::StrCat("note ", std::string(static_cast<size_t>(i) % 26 + 1, 'x'), " about this run"));
      }
    }
    const std::string text = RenderAcceptBrief(report, "out/acc");
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << text;
    EXPECT_EQ(LinesOf(text).front(), "Verdict   FAIL");
    EXPECT_EQ(LinesOf(text).back(), "FAIL   Results in out/acc");
    EXPECT_THAT(text, HasSubstr("\n  load, run 1 "));
    EXPECT_THAT(text, HasSubstr("\nCriteria, worst run\n"));
    EXPECT_THAT(text, HasSubstr("\nFigures by run"));
    EXPECT_THAT(text, HasSubstr("more lines (accept.txt)"));
    EXPECT_THAT(text, HasSubstr("--full prints it"));
    const std::string digest = absl::StrCat("sha256:", std::string(64, 'f'));
    const std::string sealed = RenderAcceptBrief(report, "out/acc", digest);
    EXPECT_LE(std::count(sealed.begin(), sealed.end(), '\n'), 40) << sealed;
    EXPECT_THAT(sealed, EndsWith(absl::StrCat("\nDigest  ", digest, "\nFAIL   Results in out/acc\n")));
    EXPECT_THAT(RenderAcceptMarkdown(report, "out/acc", digest), HasSubstr("\nDigest: `" + digest + "`\n"));
    EXPECT_THAT(RenderAcceptPage(report, digest), HasSubstr("\"digest\":\"" + digest + "\""));
  }
}

TEST(AcceptBrief, MergesNotesOfHostsAndShowsTheWorstRunOfACriterion) {
  v1::AcceptReport report = WholeAcceptance({3.1, 4.2, 3.2});
  for (const int run : {4, 5}) {
    for (const char* host : {"alpha", "beta"}) {
      report.mutable_runs(run)->add_notes(absl::StrCat(host, ", step ", run, ": its clock stepped."));
    }
  }
  report.mutable_runs(5)->mutable_criteria(0)->set_value(4.2e6);
  const std::string text = RenderAcceptBrief(report, "out/acc");
  EXPECT_THAT(text, HasSubstr("its clock stepped."));
  EXPECT_EQ(text.find("its clock stepped."), text.rfind("its clock stepped.")) << text;
  EXPECT_THAT(text, ::testing::ContainsRegex("load +p99<10ms +PASS +2 .* 4.200 ms"));
}

TEST(AcceptVerdict, WhatMakesARunInconclusiveComesBeforeACriterionThatItExceeded) {
  v1::Report found = LoadReportOf(14);
  found.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  found.mutable_verdict()->add_reasons("beta was suspended for 1.5 s");
  v1::AcceptReport report = PlannedAcceptance(AcceptPlanOf());
  v1::AcceptRun& run = NextRun(report);
  TakeRun(found, run, report);
  EXPECT_THAT(run.reasons(), ElementsAre("beta was suspended for 1.5 s", HasSubstr("p99<10ms FAIL")));
}

TEST(AcceptVerdict, NothingDoneIsNoPass) {
  v1::AcceptReport planned = PlannedAcceptance(AcceptPlanOf());
  EXPECT_EQ(planned.outcome(), v1::OUTCOME_INCONCLUSIVE);
  planned.clear_runs();
  JudgeAcceptance(planned);
  EXPECT_EQ(planned.outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(AcceptVerdict, PartsThatThePlanLeavesOutAreNamed) {
  v1::TestPlan plan = AcceptPlanOf();
  plan.mutable_accept()->clear_parts();
  plan.mutable_accept()->add_parts(v1::ACCEPT_PART_LOAD);
  v1::AcceptReport report = PlannedAcceptance(plan);
  for (int i = 0; i < 3; ++i) TakeRun(LoadReportOf(3), NextRun(report), report);
  JudgeAcceptance(report);
  EXPECT_EQ(report.outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(report.limits(), Contains("The plan leaves out storage, fsck, limit."));
}

}  // namespace
}  // namespace plimsoll
