// A verdict as JUnit XML and as Markdown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "controller/render/junit_xml.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// A host with these criteria, 20 ms writes for a second.
v1::Report Judged(const std::vector<std::string>& criteria, const std::string& label = "alpha") {
  SimRun run;
  run.criteria = criteria;
  SimHost host;
  host.label = label;
  host.steps = {{tests::Steady(run.duration_ns, 20 * kNsPerMs)}};
  run.hosts.push_back(host);
  return tests::Analyze(tests::MakeJournal(run));
}

size_t Occurrences(const std::string& text, const std::string& of) {
  size_t count = 0;
  for (size_t at = text.find(of); at != std::string::npos; at = text.find(of, at + of.size())) ++count;
  return count;
}

bool Green(const std::string& xml) {
  return Occurrences(xml, "<failure") + Occurrences(xml, "<error") + Occurrences(xml, "<skipped") == 0 &&
         Occurrences(xml, "<testcase") > 0;
}

TEST(ReportJUnit, EachCriterionAndStepIsACase) {
  const v1::Report report = Judged({"max<1s", "iops>=1"});
  ASSERT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  const std::string xml = RenderReportJUnit(report);
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"run.step 1 (4 KiB)\" name=\"max&lt;1s\" time=\"1.000\">\n"
                             "    <system-out>worst 20.000 ms, alpha/qm1\n</system-out>"));
  EXPECT_THAT(xml, HasSubstr("<property name=\"verdict\" value=\"PASS\"/>"));
  EXPECT_TRUE(Green(xml)) << xml;
}

TEST(ReportJUnit, AFailedCriterionIsAFailure) {
  const std::string xml = RenderReportJUnit(Judged({"max<1ms", "iops>=1"}));
  EXPECT_THAT(xml, HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(xml, HasSubstr("    <failure message=\"FAIL: worst 20.000 ms, alpha/qm1"));
}

// A drill of which the second criterion came out so.
v1::Report Drilled(v1::Outcome outcome, const std::string& reason) {
  v1::Report report;
  report.mutable_ha();
  report.mutable_verdict()->set_outcome(outcome);
  v1::CriterionReport& lost = *report.mutable_verdict()->add_criteria();
  lost.set_criterion("lost==0");
  lost.set_outcome(v1::OUTCOME_PASS);
  lost.set_value_text("0");
  v1::CriterionReport& longest = *report.mutable_verdict()->add_criteria();
  longest.set_criterion("takeover_max<1s");
  longest.set_outcome(outcome);
  longest.set_value_text("2013ms");
  longest.set_reason(reason);
  return report;
}

TEST(ReportJUnit, ACriterionOfADrillIsOneCase) {
  const std::string pass = RenderReportJUnit(Drilled(v1::OUTCOME_PASS, ""));
  EXPECT_THAT(pass, HasSubstr("tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"0\""));
  EXPECT_THAT(pass, HasSubstr("<testcase classname=\"run.drill\" name=\"takeover_max&lt;1s\" time=\"0.000\">\n"
                              "    <system-out>2013ms\n</system-out>"));
  const std::string fail = RenderReportJUnit(Drilled(v1::OUTCOME_FAIL, "round 1: the lock of qm1 was released late"));
  EXPECT_THAT(fail, HasSubstr("tests=\"3\" failures=\"1\" errors=\"0\""));
  EXPECT_THAT(fail, HasSubstr("<failure message=\"FAIL: 2013ms; round 1: the lock of qm1 was released late\""));
  const std::string open = RenderReportJUnit(Drilled(v1::OUTCOME_INCONCLUSIVE, "a scan is missing"));
  EXPECT_THAT(open, HasSubstr("tests=\"3\" failures=\"0\" errors=\"1\""));
  EXPECT_FALSE(Green(open));
  EXPECT_THAT(RenderMarkdown(Drilled(v1::OUTCOME_FAIL, ""), ""),
              HasSubstr("| <code>takeover&#95;max&#60;1s</code> | FAIL | cluster | run | – | 2013ms |\n"));
}

TEST(ReportJUnit, WhatIsInconclusiveIsAnErrorAndNeverGreen) {
  // Fifty writes are too few for this.
  const std::string thin = RenderReportJUnit(Judged({"p99.99<1s"}));
  EXPECT_THAT(thin, HasSubstr("failures=\"0\" errors=\"1\""));
  EXPECT_THAT(thin, HasSubstr("<error message=\"INCONCLUSIVE"));
  EXPECT_FALSE(Green(thin));
  // All criteria pass, and the run is in doubt for another reason.
  v1::Report doubted = Judged({"max<1s"});
  doubted.mutable_verdict()->set_outcome(v1::OUTCOME_INCONCLUSIVE);
  doubted.mutable_verdict()->add_reasons("host beta was lost");
  const std::string xml = RenderReportJUnit(doubted);
  EXPECT_THAT(
      xml, HasSubstr("name=\"conclusive\" time=\"0.000\">\n    <error message=\"INCONCLUSIVE: host beta was lost\"/>"));
  EXPECT_THAT(xml, HasSubstr("tests=\"2\" failures=\"0\" errors=\"1\""));
}

TEST(ReportJUnit, WithoutCriteriaNothingIsGreenAndTheSuiteSaysSo) {
  const v1::Report report = Judged({});
  ASSERT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
  const std::string xml = RenderReportJUnit(report);
  EXPECT_THAT(xml, HasSubstr("tests=\"1\" failures=\"0\" errors=\"1\""));
  EXPECT_THAT(xml, HasSubstr("<error message=\"no criteria: the plan requires nothing, so nothing has passed; add "
                             "criteria or pass --require\"/>"));
}

TEST(ReportJUnit, WhatWasNotHeldAgainstAnyStepIsNotGreen) {
  v1::Report report = Judged({"max<1s"});
  for (const v1::Outcome outcome : {v1::OUTCOME_INCONCLUSIVE, v1::OUTCOME_PASS, v1::OUTCOME_UNSPECIFIED}) {
    report.mutable_verdict()->mutable_criteria(0)->clear_steps();
    report.mutable_verdict()->mutable_criteria(0)->set_outcome(outcome);
    EXPECT_THAT(RenderReportJUnit(report), HasSubstr("no step was tested against it\"/>"));
  }
}

// Whatever a report says: green and PASS are one.
TEST(ReportJUnit, ASuiteIsGreenOnlyWhereTheVerdictIsPass) {
  const std::vector<v1::Outcome> outcomes = {v1::OUTCOME_UNSPECIFIED, v1::OUTCOME_PASS, v1::OUTCOME_FAIL,
                                             v1::OUTCOME_INCONCLUSIVE, v1::OUTCOME_DONE};
  v1::Report report = Judged({"max<1s"});
  for (const v1::Outcome verdict : outcomes) {
    for (const v1::Outcome criterion : outcomes) {
      for (const v1::Outcome step : outcomes) {
        report.mutable_verdict()->set_outcome(verdict);
        report.mutable_verdict()->mutable_criteria(0)->set_outcome(criterion);
        report.mutable_verdict()->mutable_criteria(0)->mutable_steps(0)->set_outcome(step);
        const bool all_pass = verdict == v1::OUTCOME_PASS && criterion == v1::OUTCOME_PASS && step == v1::OUTCOME_PASS;
        EXPECT_EQ(Green(RenderReportJUnit(report)), all_pass) << verdict << criterion << step;
      }
    }
  }
  EXPECT_FALSE(Green(RenderReportJUnit(v1::Report())));
  EXPECT_FALSE(Green(RenderUnfinishedJUnit()));
}

TEST(ReportJUnit, HostileNamesStayText) {
  v1::Report report = Judged({"max<1ms"}, "a\"><failure/>\x1b[31m&\xef\xbf\xbf\xff");
  report.mutable_run()->set_name("]]></testsuite>\n<script>");
  const std::string xml = RenderReportJUnit(report);
  EXPECT_THAT(xml, HasSubstr("a&quot;&gt;&lt;failure/&gt;\xef\xbf\xbd[31m&amp;\xef\xbf\xbd\xef\xbf\xbd/qm1"));
  EXPECT_EQ(Occurrences(xml, "<failure"), 1U);
  EXPECT_EQ(Occurrences(xml, "</testsuite>"), 1U);
  EXPECT_THAT(xml, Not(HasSubstr("<script")));
}

TEST(Markdown, VerdictCriteriaFiguresAndWhereTheResultsAre) {
  const std::string md = RenderMarkdown(Judged({"max<1ms", "iops>=1"}), "plimsoll-results/x");
  EXPECT_THAT(md, ::testing::StartsWith("### Plimsoll: FAIL\n\n"));
  EXPECT_THAT(md, HasSubstr("| <code>max&#60;1ms</code> | FAIL | <code>alpha/qm1</code> | 1 | 4 KiB | 20.000 ms |\n"));
  EXPECT_THAT(md, HasSubstr("| <code>iops&#62;=1</code> | PASS | cluster | 1 | 4 KiB |"));
  EXPECT_THAT(
      md,
      HasSubstr(
          "\nAll hosts, service time in ms:\n\n| step | block | IO/s | MB/s | p50 | p99 | p99.9 | max | stalls |\n"));
  EXPECT_THAT(md, HasSubstr("\nResults: <code>plimsoll-results/x</code>, run <code>"));
}

TEST(Markdown, WritersOnNamedFilesAreThreads) {
  v1::Report report = Judged({});
  EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr("\n1 host, 1 queue manager"));
  report.mutable_plan()->mutable_workload()->add_files("/data/a");
  EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr("\n1 host, 1 thread"));
}

TEST(Markdown, DoubtsAreListed) {
  v1::Report report = Judged({"p99.99<1s"});
  report.mutable_verdict()->add_reasons("host beta was lost");
  report.add_notes("a note");
  const std::string md = RenderMarkdown(report, "");
  EXPECT_THAT(md, HasSubstr("\n**host beta was lost**\n"));
  EXPECT_THAT(md, HasSubstr("\nCaveats and notes:\n\n- <code>p99.99&#60;1s</code>: "));
  EXPECT_THAT(md, HasSubstr("\n- a note\n"));
  EXPECT_THAT(md, Not(HasSubstr("Results:")));
  EXPECT_THAT(RenderMarkdown(Judged({}), "x"), ::testing::StartsWith("### Plimsoll: COMPLETED (no criteria)\n"));
}

TEST(Markdown, TablesStayShortWithWhatFailedFirst) {
  v1::Report report = Judged({"max<1s"});
  v1::CriterionReport& criterion = *report.mutable_verdict()->mutable_criteria(0);
  const v1::CriterionStepReport one = criterion.steps(0);
  for (int i = 0; i < 200; ++i) *criterion.add_steps() = one;
  criterion.mutable_steps(200)->set_outcome(v1::OUTCOME_FAIL);
  const v1::StepReport step = report.steps(0);
  for (int i = 0; i < 200; ++i) *report.add_steps() = step;
  for (int i = 0; i < 200; ++i) report.add_notes("a note");
  const std::string md = RenderMarkdown(report, "x");
  EXPECT_LT(Occurrences(md, "\n"), 90U);
  EXPECT_LT(md.find(" FAIL "), md.find(" PASS "));
  EXPECT_THAT(md, HasSubstr("20 of 201 results, those that failed or are undecided first."));
  EXPECT_THAT(md, HasSubstr("The first 20 of 201 steps."));
  EXPECT_THAT(md, HasSubstr(" more in the report\n"));
}

TEST(Markdown, HostileNamesAreNeitherMarkupNorCells) {
  const std::string name = "@all |`*_[x](http://y)<b>\n# h\n~~!#1\x1b[31m\\";
  v1::Report report = Judged({"max<1ms"}, name);
  report.mutable_run()->set_name(name);
  report.add_notes(name);
  report.mutable_verdict()->add_reasons(name);
  // Only the cause is in bold, and that by marks of our own.
  const std::string md = absl::StrReplaceAll(RenderMarkdown(report, name), {{"\n**", "\n"}, {"**\n", "\n"}});
  for (const char* markup : {"@all", "`", "*", "_", "[", "]", "http:", "<b", "~", "\x1b", "\\", "\n# "}) {
    EXPECT_THAT(md, Not(HasSubstr(markup)));
  }
  // Every row of a table has the cells of its headings.
  size_t cells = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(md, '\n'))) {
    if (line.empty() || line.front() != '|') {
      cells = 0;
      continue;
    }
    const size_t here = Occurrences(line, "|");
    if (cells != 0) {
      EXPECT_EQ(here, cells) << line;
    }
    cells = here;
  }
}

}  // namespace
}  // namespace plimsoll
