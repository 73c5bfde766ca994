// What reports show of the steps of a sweep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "controller/render/csv.h"
#include "controller/render/junit_xml.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// The first two steps of four: a closed loop of one queue manager, then of two, with writes of 20 ms.
v1::Report SweptReport(const std::vector<std::string>& criteria = {}) {
  SimRun run;
  run.block_sizes = {4096, 4096};
  run.criteria = criteria;
  const SimWriter writer = tests::Steady(run.duration_ns, 20 * kNsPerMs);
  SimHost host;
  host.label = "alpha";
  host.steps = {{writer}, {writer, writer}};
  run.hosts.push_back(host);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (record.has_host_joined()) {
      record.mutable_host_joined()->mutable_plan()->mutable_log()->mutable_workload()->set_qm(2);
    }
    if (!record.has_run_begin()) continue;
    v1::RunBegin& begin = *record.mutable_run_begin();
    begin.mutable_plan()->clear_block_size_bytes();
    begin.mutable_plan()->add_block_size_bytes(4096);
    v1::Sweep& sweep = *begin.mutable_plan()->mutable_sweep();
    for (const double rate : {0, 1500}) sweep.add_rate_per_second(rate);
    for (uint32_t qm = 1; qm <= 2; ++qm) {
      sweep.add_qm(qm);
      begin.mutable_steps(static_cast<int>(qm) - 1)->set_qm(qm);
      begin.mutable_steps(static_cast<int>(qm) - 1)->set_rate_per_second(0);
    }
  }
  return tests::Analyze(records);
}

TEST(SweepReport, EachStepHasTheQueueManagersAndTheRateThatTheSweepGivesToIt) {
  const v1::Report report = SweptReport();
  ASSERT_EQ(report.steps_size(), 2);
  EXPECT_EQ(report.steps(0).queue_managers(), 1U);
  EXPECT_EQ(report.steps(1).queue_managers(), 2U);
  EXPECT_TRUE(report.steps(1).has_rate_per_second());
  EXPECT_THAT(report.notes(), IsEmpty()) << "the writer that waits is not missed";
}

TEST(SweepReport, TheTextNamesTheLoadInTitlesSummaryAndConfiguration) {
  const std::string text = RenderText(SweptReport());
  EXPECT_THAT(text, HasSubstr("\nStep 1 of 4   4 KiB   closed loop   1 QM per host "));
  EXPECT_THAT(text, HasSubstr("\nStep 2 of 4   4 KiB   closed loop   2 QMs per host "));
  EXPECT_THAT(text, HasSubstr("\n  step  block  rate/QM  QMs   IO/s |"));
  EXPECT_THAT(text, HasSubstr("\n     1  4 KiB        \u2013    1  "));
  EXPECT_THAT(text, HasSubstr("\n     2  4 KiB        \u2013    2  "));
  EXPECT_THAT(text, HasSubstr("1 host x up to 2 QMs"));
  EXPECT_THAT(text, HasSubstr("  Queue managers    --qm           1, 2 per host\n"));
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
}

TEST(SweepReport, CsvHasTheLoadInColumnsOfItsOwn) {
  for (const std::string& csv : {RenderCsv(SweptReport()), RenderTimelineCsv(SweptReport())}) {
    const std::vector<std::string> lines = absl::StrSplit(csv, "\r\n");
    EXPECT_THAT(lines[0], EndsWith(",rate_per_queue_manager,queue_managers_per_host"));
    EXPECT_THAT(lines[1], EndsWith(",0,1"));
    EXPECT_THAT(lines[lines.size() - 2], EndsWith(",0,2"));
  }
}

TEST(SweepReport, MarkdownAndJUnitNameTheLoad) {
  const v1::Report report = SweptReport({"p50<1s"});
  const std::string markdown = RenderMarkdown(report, "");
  EXPECT_THAT(markdown, HasSubstr("| step | block | rate/QM | QMs | IO/s |"));
  EXPECT_THAT(markdown, HasSubstr("| 2 | 4 KiB | \u2013 | 2 |"));
  EXPECT_THAT(markdown, HasSubstr("up to 2 queue managers"));
  EXPECT_THAT(RenderReportJUnit(report), HasSubstr("\"run.step 2 (4 KiB, closed loop, 2 QMs per host)\""));
}

}  // namespace
}  // namespace plimsoll
