// What reports and live views show of runs that read: reads beside the writes, or in place of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/units.h"
#include "controller/render/csv.h"
#include "controller/render/junit_xml.h"
#include "controller/render/live_view.h"
#include "controller/render/plain_text.h"
#include "controller/render/sections.h"
#include "controller/render/text.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

constexpr uint64_t kWriteTimeNs = 2'000'000;
constexpr uint64_t kReadTimeNs = 500'000;

// Sets the figures of `count` times around `time_ns`.
void SetReadTimes(uint64_t count, uint64_t time_ns, v1::LatencyReport& latency) {
  latency.set_count(count);
  latency.set_sum_ns(count * time_ns);
  latency.set_min_ns(time_ns / 2);
  latency.set_avg_ns(static_cast<double>(time_ns));
  latency.set_wavg_ns(static_cast<double>(time_ns));
  latency.set_p50_ns(time_ns);
  latency.set_p90_ns(time_ns * 3 / 2);
  latency.set_p99_ns(time_ns * 2);
  latency.set_p99_9_ns(time_ns * 3);
  latency.set_p99_99_ns(time_ns * 3);
  latency.set_max_ns(time_ns * 4);
}

// Report of 700 operations of alpha's only queue manager in two seconds. Host and cluster have its figures.
v1::Report MainReport(uint32_t read_percent) {
  v1::Report report;
  report.mutable_run()->set_id("7f3a21");
  report.mutable_run()->set_hosts(1);
  report.mutable_run()->set_queue_managers(1);
  v1::TestPlan& plan = *report.mutable_plan();
  plan.add_block_size_bytes(4096);
  plan.set_duration_ns(2 * kNsPerSecond);
  plan.set_read_percent(read_percent);
  plan.set_access(v1::ACCESS_SEQUENTIAL);
  v1::HostReport& host = *report.add_hosts();
  host.set_label("alpha");
  host.mutable_workload()->set_qm(1);
  host.mutable_workload()->set_dir("/mnt/mqlog");
  v1::StepReport& step = *report.add_steps();
  step.set_number(1);
  step.set_block_size_bytes(4096);
  for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST, v1::SCOPE_KIND_CLUSTER}) {
    v1::ScopeReport& scope = *step.add_scopes();
    scope.set_kind(kind);
    if (kind != v1::SCOPE_KIND_CLUSTER) scope.set_host("alpha");
    if (kind == v1::SCOPE_KIND_QM) scope.set_qm(1);
    scope.set_writes(700);
    scope.set_bytes(uint64_t{700} * 4096);
    scope.set_iops(350);
    scope.set_mb_per_second(1.4336);
    SetReadTimes(700, kWriteTimeNs, *scope.mutable_latency());
    // The main operations take 1.4 s of the two seconds.
    scope.set_time_between_writes_ns(600'000'000);
  }
  v1::SlowestReport& slowest = *step.add_slowest();
  slowest.set_host("alpha");
  slowest.set_qm(1);
  slowest.set_latency_ns(4 * kWriteTimeNs);
  *step.mutable_scopes(2)->mutable_slowest() = slowest;
  step.mutable_stalls()->set_threshold_ns(100 * kNsPerMs);
  return report;
}

// MainReport with 300 reads beside the 700 writes.
v1::Report MixedReport() {
  v1::Report report = MainReport(30);
  v1::StepReport& step = *report.mutable_steps(0);
  v1::OperationReport& reads = *step.add_operations();
  reads.set_name("read");
  for (const v1::ScopeReport& scope : step.scopes()) {
    v1::OperationScopeReport& own = *reads.add_scopes();
    own.set_kind(scope.kind());
    own.set_host(scope.host());
    own.set_qm(scope.qm());
    own.mutable_throughput()->set_count(300);
    own.mutable_throughput()->set_bytes(uint64_t{300} * 4096);
    own.mutable_throughput()->set_iops(150);
    own.mutable_throughput()->set_mb_per_second(0.6144);
    SetReadTimes(300, kReadTimeNs, *own.mutable_latency());
    own.mutable_slowest()->set_host("alpha");
    own.mutable_slowest()->set_qm(1);
    own.mutable_slowest()->set_number(7);
    own.mutable_slowest()->set_latency_ns(4 * kReadTimeNs);
  }
  return report;
}

// MixedReport with a missed target rate, and response times that are a tenth longer than the service times.
v1::Report PacedMixedReport() {
  v1::Report report = MixedReport();
  v1::StepReport& step = *report.mutable_steps(0);
  for (v1::ScopeReport& scope : *step.mutable_scopes()) {
    scope.mutable_rate()->set_asked_iops(1'000);
    scope.mutable_rate()->set_unserved(11);
    SetReadTimes(711, kWriteTimeNs / 10 * 11, *scope.mutable_rate()->mutable_response());
  }
  for (v1::OperationScopeReport& own : *step.mutable_operations(0)->mutable_scopes()) {
    SetReadTimes(300, kReadTimeNs / 10 * 11, *own.mutable_response());
  }
  return report;
}

std::string TextOfStep(const v1::Report& report) {
  return absl::StrCat(absl::StrJoin(TextStep(report, report.steps(0)), "\n"), "\n");
}

TEST(ReadText, AStepThatReadsAndWritesHasTablesOfBoth) {
  const std::string text = TextOfStep(MixedReport());
  EXPECT_THAT(text, StartsWith("Step 1 of 1   4 KiB   1 QM per host "));
  EXPECT_THAT(text, HasSubstr(" writes; service time in ms\n"));
  EXPECT_THAT(text, ContainsRegex("\n  Service time, of the read call +reads; service time in ms\n"));
  EXPECT_THAT(
      text, ContainsRegex("\n  cluster +all +350 +1\\.43 \\| +2\\.000 +2\\.000 +3\\.000 +4\\.000 +6\\.000 +8\\.000\n"));
  EXPECT_THAT(text,
              ContainsRegex("\n  alpha +1 +150 +0\\.61 \\| +0\\.500 +0\\.500 +0\\.750 +1\\.000 +1\\.500 +2\\.000\n"));
  EXPECT_THAT(
      text, ContainsRegex("\n  cluster +all +150 +0\\.61 \\| +0\\.500 +0\\.500 +0\\.750 +1\\.000 +1\\.500 +2\\.000\n"));
  EXPECT_THAT(text, ContainsRegex("\n  host +qm +reads \\| +min +wavg +p99.99\n  alpha +1 +300 \\| +0\\.250 "));
  EXPECT_THAT(text, HasSubstr("\n  Cluster: 700 writes, 2,867,200 bytes; 300 reads, 1,228,800 bytes\n"));
  EXPECT_THAT(text, HasSubstr("\n  Slowest read: 2.000 ms, alpha/qm1 #7, S0000000.LOG at 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("Part of the service time")));
}

TEST(ReadText, AWriterThatReadsIsNotIdle) {
  // 0.6 s are between the writes, of which 0.15 s are reads: 0.45 of two seconds are idle.
  EXPECT_THAT(TextOfStep(MixedReport()), ContainsRegex("\n  cluster +all +700 +22\\.50 \\| "));
  EXPECT_THAT(TextOfStep(MainReport(0)), ContainsRegex("\n  cluster +all +700 +30\\.00 \\| "));
}

TEST(ReadText, WithATargetRateReadsAndWritesHaveResponseTimesAndANoteSaysWhatIsShared) {
  const std::string text = TextOfStep(PacedMixedReport());
  EXPECT_THAT(text, ContainsRegex("target rate missed +writes; in ms\n"));
  EXPECT_THAT(text, ContainsRegex("\n  cluster +all +11 +0\\.000 \\| +2\\.200 "));
  EXPECT_THAT(text, HasSubstr("\n  The target rate, not issued and lag are of reads and writes together.\n"));
  EXPECT_THAT(text, ContainsRegex("\n  Response time of the reads, from the scheduled start +reads; in ms\n"));
  EXPECT_THAT(text, ContainsRegex("\n  cluster +all +0\\.550 +0\\.550 +0\\.825 +1\\.100 +1\\.650 +2\\.200\n"));
}

TEST(ReadText, TheSummaryHasARowOfWritesAndOneOfReads) {
  const v1::Report report = MixedReport();
  const std::string summary = absl::StrCat(absl::StrJoin(TextSummary(report, TextDetail::kShort), "\n"), "\n");
  EXPECT_THAT(summary, HasSubstr("Summary: all hosts, service time in ms\n"));
  EXPECT_THAT(summary, ContainsRegex(" op +IO/s +MB/s \\| +avg +p99 +max \\| stalls\n"));
  const std::string row_pattern =
      "\n +1 +4 KiB +write +350 +1\\.43 \\| +2\\.000 +4\\.000 +8\\.000 \\| +0\n"
      " +1 +4 KiB +read +150 +0\\.61 \\| +0\\.500 +1\\.000 +2\\.000 \\|\n";
  EXPECT_THAT(summary, ContainsRegex(row_pattern));
  EXPECT_THAT(RenderBrief(report, {"r"}), ContainsRegex(row_pattern));
  EXPECT_THAT(summary, HasSubstr("  Slowest write (service time): 8.000 ms in step 1, alpha/qm1\n"));
}

TEST(ReadText, TheSummaryOfARateHasResponseTimesAndMarksWhatWasMissed) {
  const v1::Report report = PacedMixedReport();
  const std::string summary = absl::StrCat(absl::StrJoin(TextSummary(report, TextDetail::kShort), "\n"), "\n");
  EXPECT_THAT(summary, StartsWith("Summary: all hosts, response time in ms; ! = combined target rate missed\n"));
  EXPECT_THAT(summary, ContainsRegex(" write +350 +1\\.43 \\| +2\\.200 +4\\.400 +8\\.800 \\| +0 !\n"));
  EXPECT_THAT(summary, ContainsRegex(" read +150 +0\\.61 \\| +0\\.550 +1\\.100 +2\\.200 \\|\n"));
}

TEST(ReadMarkdown, AStepHasARowOfWritesAndOneOfReads) {
  const std::string mixed = RenderMarkdown(MixedReport(), "");
  EXPECT_THAT(mixed, HasSubstr("| step | block | op | IO/s | MB/s | avg | p99 | max | stalls |\n"));
  EXPECT_THAT(mixed, HasSubstr("| 1 | 4 KiB | write | 350 | 1.43 | 2.000 | 4.000 | 8.000 | 0 |\n"
                               "| 1 | 4 KiB | read | 150 | 0.61 | 0.500 | 1.000 | 2.000 |  |\n"));
  EXPECT_THAT(mixed, Not(HasSubstr("missed")));
  EXPECT_THAT(RenderMarkdown(PacedMixedReport(), ""), HasSubstr("\nTarget rate of reads and writes missed: step 1\n"));
  EXPECT_THAT(RenderMarkdown(MainReport(0), ""), HasSubstr("| step | block | IO/s | MB/s | p50 | "));
}

TEST(ReadMarkdown, TheTableOfManyStepsHasTwentyRows) {
  v1::Report report = MixedReport();
  for (uint32_t number = 2; number <= 30; ++number) {
    *report.add_steps() = report.steps(0);
    report.mutable_steps(static_cast<int>(number) - 1)->set_number(number);
  }
  const std::string mixed = RenderMarkdown(report, "");
  EXPECT_THAT(mixed, HasSubstr("| 10 | 4 KiB | read |"));
  EXPECT_THAT(mixed, Not(HasSubstr("| 11 | 4 KiB |")));
  EXPECT_THAT(mixed, HasSubstr("The first 10 of 30 steps."));
}

TEST(ReadText, SlowReadsDecideTheUnitToo) {
  v1::Report report = MixedReport();
  v1::StepReport& step = *report.mutable_steps(0);
  for (v1::ScopeReport& scope : *step.mutable_scopes()) SetReadTimes(700, 50'000, *scope.mutable_latency());
  EXPECT_STREQ(UnitFor({&step}).name, "us");
  for (v1::OperationScopeReport& own : *step.mutable_operations(0)->mutable_scopes()) {
    SetReadTimes(300, 100'000'000, *own.mutable_latency());
  }
  EXPECT_STREQ(UnitFor({&step}).name, "ms");
}

TEST(ReadText, WhereAllOperationsReadNothingIsCalledAWrite) {
  v1::Report report = MainReport(100);
  v1::StepReport& step = *report.mutable_steps(0);
  v1::InFlightReport& in_flight = *step.add_in_flight();
  in_flight.set_host("alpha");
  in_flight.set_qm(1);
  in_flight.set_age_ns(2 * kNsPerSecond);
  in_flight.set_path("/mnt/mqlog/S0000000.LOG");
  v1::DistributionReport& distribution = *step.add_distributions();
  distribution.set_kind(v1::SCOPE_KIND_CLUSTER);
  distribution.add_from_ns(1'998'848);
  distribution.add_count(700);
  const std::string text = RenderText(report, 40);
  EXPECT_THAT(text, Not(HasSubstr("write"))) << "field names are in JSON alone";
  EXPECT_THAT(text, Not(HasSubstr("Write")));
  EXPECT_THAT(text, HasSubstr("\n  Read block size   --bsize        4k\n"));
  EXPECT_THAT(text, HasSubstr("\n  Reads             --read-percent 100 % of operations\n"));
  EXPECT_THAT(text, HasSubstr("\n  Cluster: 700 reads, 2,867,200 bytes\n"));
  EXPECT_THAT(text, HasSubstr("\n  No stalls: no read was in flight or overdue for 100 ms\n"));
  EXPECT_THAT(text, HasSubstr("\n  Slowest reads, by service time\n"));
  EXPECT_THAT(text, HasSubstr("\n  Slowest read (service time): 8.000 ms in step 1, alpha/qm1\n"));
  EXPECT_THAT(text, HasSubstr("Histogram of the cluster's 700 reads; "));
  EXPECT_THAT(text, HasSubstr(", a read of\n  /mnt/mqlog/S0000000.LOG\n"));
  EXPECT_THAT(text, ContainsRegex("\n  host +qm +reads +idle % \\| "));
}

TEST(ReadText, StallsOfAMixedRunAreOfAllOperations) {
  v1::Report report = MixedReport();
  v1::StepReport& step = *report.mutable_steps(0);
  const auto text = [&] { return absl::StrJoin(TextStalls(report, step), " "); };
  EXPECT_THAT(text(), HasSubstr("No stalls: no operation was in flight or overdue for 100 ms"));
  step.mutable_stalls()->set_count(1);
  v1::StallReport& stall = *step.mutable_stalls()->add_stalls();
  stall.set_stall_class(v1::STALL_CLASS_ONE_HOST);
  stall.add_hosts("alpha");
  stall.add_writers()->set_writes(12);
  EXPECT_THAT(text(), HasSubstr("Stalls: an operation in flight or overdue for 100 ms"));
  EXPECT_THAT(text(), ContainsRegex("\\| +length ms +IOs +error ms"));
  EXPECT_THAT(text(), HasSubstr("IOs: the most operations in one writer's stall interval"));
}

TEST(ReadText, AHistogramOfTheReadsFollowsThatOfTheWrites) {
  v1::Report report = MixedReport();
  v1::StepReport& step = *report.mutable_steps(0);
  const auto add = [](uint64_t from_ns, uint64_t count, auto& distributions) {
    v1::DistributionReport& distribution = *distributions.Add();
    distribution.set_kind(v1::SCOPE_KIND_CLUSTER);
    distribution.add_from_ns(from_ns);
    distribution.add_count(count);
  };
  add(1'998'848, 700, *step.mutable_distributions());
  add(499'712, 300, *step.mutable_operations(0)->mutable_distributions());
  const std::string text = absl::StrJoin(TextHistogram(step, 40), "\n");
  const size_t writes = text.find("Histogram of the cluster's 700 writes; ");
  const size_t reads = text.find("Histogram of the cluster's 300 reads; ");
  EXPECT_LT(writes, reads);
  EXPECT_NE(reads, std::string::npos) << text;
}

TEST(ReadText, FairnessOfAMixedRunIsThatOfItsWritesAndItsTrendThatOfAllOperations) {
  v1::Report report = MixedReport();
  v1::StepReport& step = *report.mutable_steps(0);
  step.mutable_fairness()->set_queue_managers(1);
  step.mutable_trend()->set_stretch_ns(kNsPerSecond);
  EXPECT_THAT(TextEvenness(step), ElementsAre("  Fairness of the writes (Jain's index): 1.000 over queue managers",
                                              StartsWith("  Trend: IO/s "), StartsWith("  Not steady: ")));
}

TEST(ReadText, ANoteSaysThatTheKernelsStatisticsHaveNoReadsWhereAgentsDoNotReportThem) {
  v1::StepReport step;
  v1::HostLoadReport& load = *step.add_load();
  load.set_host("alpha");
  EXPECT_THAT(absl::StrJoin(TextLoad(step, 100), "\n"), Not(HasSubstr("reads")));
  load.mutable_disk()->set_device("sda");
  EXPECT_THAT(TextLoad(step, 100).back(), EndsWith("the reads."));
  EXPECT_THAT(TextLoad(step, 30).back(), EndsWith("the writes."));
  EXPECT_THAT(absl::StrJoin(TextLoad(step), "\n"), Not(HasSubstr("reads")));
  load.mutable_disk()->set_reads(0);
  EXPECT_THAT(absl::StrJoin(TextLoad(step, 100), "\n"), Not(HasSubstr("reads")));
}

// The value of a row of the configuration that the text shows; empty: it does not show it.
std::string ShownInText(const v1::Report& report, const std::string& label) {
  for (const ConfigurationRow& row : ConfigurationRows(report)) {
    if (row.label == label && row.text == ConfigurationRow::Text::kRow) return row.value;
  }
  return "";
}

TEST(ReadText, TheConfigurationNamesReadsAccessAndTheirSeed) {
  v1::Report report = MixedReport();
  report.mutable_plan()->set_seed(7);
  EXPECT_EQ(ShownInText(report, "Block size"), "4k");
  EXPECT_EQ(ShownInText(report, "Reads"), "30 % of operations");
  EXPECT_EQ(ShownInText(report, "Access"), "");
  EXPECT_EQ(ShownInText(report, "Seed"), "7");
  report.mutable_hosts(0)->mutable_workload()->set_rate_per_second(100);
  EXPECT_THAT(ShownInText(report, "Operations"), HasSubstr(", 100 operations/s per QM"));
  report = MainReport(0);
  report.mutable_plan()->set_seed(7);
  EXPECT_EQ(ShownInText(report, "Write block size"), "4k");
  EXPECT_EQ(ShownInText(report, "Reads"), "");
  EXPECT_EQ(ShownInText(report, "Seed"), "");
  EXPECT_NE(ShownInText(report, "Writes"), "");
  report.mutable_plan()->set_access(v1::ACCESS_RANDOM);
  EXPECT_THAT(ShownInText(report, "Access"), StartsWith("random"));
  EXPECT_EQ(ShownInText(report, "Seed"), "7");
}

TEST(ReadText, ARateOfASweepAndOfASearchIsThatOfAllOperations) {
  v1::Report report = MixedReport();
  report.mutable_plan()->mutable_sweep()->add_rate_per_second(100);
  report.mutable_steps(0)->set_rate_per_second(100);
  EXPECT_THAT(TextOfStep(report), HasSubstr("100 operations/s per QM"));
  v1::CriterionReport& criterion = *report.mutable_verdict()->add_criteria();
  criterion.set_criterion("max<1s");
  criterion.set_outcome(v1::OUTCOME_PASS);
  criterion.add_steps()->set_step(1);
  EXPECT_THAT(RenderReportJUnit(report), HasSubstr("classname=\"run.step 1 (4 KiB, 100 operations/s per QM)\""));

  report.mutable_limit()->set_over(v1::LIMIT_OVER_RATE);
  report.mutable_limit()->set_limit(500);
  report.mutable_limit()->set_iops(3'000);
  const std::string answer = absl::StrJoin(kLimitTextSection.parts(report).front(), "\n");
  EXPECT_THAT(answer, HasSubstr("500 operations/s per queue manager, 3,000 operations/s of all hosts"));
  EXPECT_THAT(answer, Not(HasSubstr("writes")));
}

// The cells of rows without quotes, by the names of their columns.
std::vector<std::map<std::string, std::string>> CellsOf(const std::string& csv) {
  const std::vector<std::string> lines = absl::StrSplit(csv, "\r\n", absl::SkipEmpty());
  const std::vector<std::string> names = absl::StrSplit(lines.at(0), ',');
  std::vector<std::map<std::string, std::string>> rows;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    if (cells.size() != names.size()) throw std::runtime_error("another number of cells than of names: " + lines[i]);
    auto& row = rows.emplace_back();
    for (size_t n = 0; n < names.size(); ++n) row[names[n]] = cells[n];
  }
  return rows;
}

TEST(ReadCsv, AScopeHasTheThroughputTheLatenciesAndTheResponseTimesOfItsReads) {
  for (const auto& row : CellsOf(RenderCsv(PacedMixedReport()))) {
    EXPECT_EQ(row.at("writes"), "700");
    EXPECT_EQ(row.at("reads"), "300");
    EXPECT_EQ(row.at("read_bytes"), "1228800");
    EXPECT_EQ(row.at("read_iops"), "150");
    EXPECT_EQ(row.at("read_mb_per_second"), "0.6144");
    EXPECT_EQ(row.at("read_count"), "300");
    EXPECT_EQ(row.at("read_p99_ns"), "1000000");
    EXPECT_EQ(row.at("read_response_p99_ns"), "1100000");
    EXPECT_EQ(row.at("response_p99_ns"), "4400000");
  }
  for (const auto& row : CellsOf(RenderCsv(MixedReport()))) {
    EXPECT_EQ(row.at("read_p99_ns"), "1000000");
    EXPECT_EQ(row.at("read_response_p99_ns"), "") << "a closed loop";
  }
  for (const uint32_t read_percent : {0U, 100U}) {
    const std::string csv = RenderCsv(MainReport(read_percent));
    EXPECT_THAT(csv.substr(0, csv.find('\n')), Not(HasSubstr("read_")));
  }
}

TEST(ReadCsv, TheTimelineHasTheReadsOfEachSecondAndThoseInFlightAtTheEnd) {
  v1::Report report = MixedReport();
  v1::StepReport& step = *report.mutable_steps(0);
  v1::SeriesReport& writes = *step.add_series();
  v1::SeriesReport& reads = *step.mutable_operations(0)->add_series();
  for (uint32_t second = 0; second < 3; ++second) {
    // The operation in flight at the end was a read.
    for (v1::SeriesReport* const series : {&writes, &reads}) {
      if (second == 2 && series == &writes) continue;
      const uint64_t count = second == 2 ? 1 : series == &writes ? 350 : 150;
      series->set_kind(v1::SCOPE_KIND_CLUSTER);
      series->add_second(second);
      series->add_writes(count);
      series->add_bytes(count * 4096);
      series->add_latency_sum_ns(count * kReadTimeNs);
      series->add_latency_max_ns(4 * kReadTimeNs);
    }
  }
  v1::IrregularRow& closing = *reads.add_irregular();
  closing.set_row(2);
  closing.set_length_ns(1'000);
  closing.set_closing(true);
  const auto rows = CellsOf(RenderTimelineCsv(report));
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].at("writes"), "350");
  EXPECT_EQ(rows[0].at("read_count"), "150");
  EXPECT_EQ(rows[1].at("read_bytes"), "614400");
  EXPECT_EQ(rows[1].at("read_max_ns"), "2000000");
  EXPECT_FALSE(rows[0].contains("read_p99_ns")) << "it would always be empty";
  EXPECT_EQ(rows[2].at("second"), "2");
  EXPECT_EQ(rows[2].at("irregular"), "closing");
  EXPECT_EQ(rows[2].at("writes"), "0");
  EXPECT_EQ(rows[2].at("latency_max_ns"), "");
  EXPECT_EQ(rows[2].at("read_count"), "1");
  EXPECT_EQ(rows[2].at("read_max_ns"), "2000000");
}

TEST(ReadCsv, TheTimelinesReadsAddUpToTheReport) {
  SimRun run = tests::TwoHosts();
  run.read_percent = 30;
  const v1::Report report = tests::Analyze(tests::MakeJournal(run));
  const v1::StepReport& step = report.steps(0);
  ASSERT_NE(ReadsOf(step), nullptr);
  const v1::OperationScopeReport* const cluster = ClusterOf(ReadsOf(step)->scopes());
  ASSERT_NE(cluster, nullptr);
  uint64_t writes = 0;
  uint64_t reads = 0;
  for (const auto& row : CellsOf(RenderTimelineCsv(report))) {
    if (row.at("kind") == "qm") {
      EXPECT_EQ(row.at("read_count"), "") << "single queue managers have no series of their reads";
    }
    if (row.at("kind") != "cluster") continue;
    writes += std::stoull(row.at("writes"));
    if (!row.at("read_count").empty()) reads += std::stoull(row.at("read_count"));
  }
  EXPECT_EQ(writes, ClusterOf(step)->latency().count());
  EXPECT_EQ(reads, cluster->latency().count());
  EXPECT_GT(reads, 0U);
}

// View of one host and one second of a step with that percentage of reads.
LiveView ReadingView(uint32_t read_percent) {
  LiveView view;
  view.read_percent = read_percent;
  view.now.step = view.now.steps = 1;
  view.now.block_size_bytes = 4096;
  view.now.duration_ns = 10 * kNsPerSecond;
  view.now.elapsed_ns = 11 * kNsPerSecond;
  view.now.swept = {absl::StrCat("100 ", AnyOperation(read_percent), "s/s per QM")};
  LiveHost host;
  host.label = "node1";
  host.oldest_write_ns = 3 * kNsPerSecond;
  host.oldest_write_qm = 2;
  view.now.hosts.push_back(host);
  LiveSecond second;
  second.end_ns = kNsPerSecond;
  second.cluster.iops = 350;
  view.seconds.push_back(second);
  return view;
}

std::string ScreenOf(const LiveView& view) {
  std::string screen;
  for (const LiveLine& line : DrawLive(view, 80, 24)) absl::StrAppend(&screen, EncodeLine(line, false), "\n");
  return screen;
}

TEST(ReadLive, TheTableNamesTheOperationsThatItShows) {
  EXPECT_THAT(ScreenOf(ReadingView(0)),
              AllOf(HasSubstr("waiting for the last writes"), HasSubstr("\np99 of each second: no writes\n"),
                    ContainsRegex("\nhost +IO/s .* oldest write\n")));
  EXPECT_THAT(ScreenOf(ReadingView(30)),
              AllOf(HasSubstr("waiting for the last operations"), HasSubstr("\nwrite p99 of each second: no writes\n"),
                    ContainsRegex("\nhost +writes/s .* oldest IO\n")));
  EXPECT_THAT(ScreenOf(ReadingView(100)),
              AllOf(HasSubstr("waiting for the last reads"), HasSubstr("\np99 of each second: no reads\n"),
                    ContainsRegex("\nhost +IO/s .* oldest read\n")));
}

TEST(ReadLive, LinesNameTheOperationsThatTheyShow) {
  const auto line = [](uint32_t read_percent) {
    const LiveView view = ReadingView(read_percent);
    return SecondLine(view.now, view.seconds[0], read_percent);
  };
  EXPECT_THAT(line(0),
              AllOf(HasSubstr("100 writes/s per QM  1 s/10 s  350 IO/s"), EndsWith("node1/qm2 in one write for 3 s")));
  EXPECT_THAT(line(30), AllOf(HasSubstr("100 operations/s per QM  1 s/10 s  350 writes/s"),
                              EndsWith("node1/qm2 in one operation for 3 s")));
  EXPECT_THAT(line(100),
              AllOf(HasSubstr("100 reads/s per QM  1 s/10 s  350 IO/s"), EndsWith("node1/qm2 in one read for 3 s")));
  EXPECT_THAT(WaitingLine(ReadingView(100).now, 100), EndsWith("no figures  node1/qm2 in one read for 3 s"));
}

TEST(ReadLive, IntervalLinesAreOfReadsWhereAllOperationsRead) {
  IntervalRow row;
  row.step = row.steps = 1;
  row.block_size_bytes = 4096;
  for (const auto& [read_percent, operations] :
       std::map<uint32_t, std::string>{{0, "writes"}, {30, "writes"}, {100, "reads"}}) {
    IntervalLines lines(kNsPerSecond);
    lines.SetReadPercent(read_percent);
    const std::vector<std::string> made = lines.Add(row);
    EXPECT_EQ(made[0], absl::StrCat("Step 1 of 1   4 KiB   ", operations, " of all hosts; service time in ms"));
    EXPECT_THAT(made[2], StartsWith(absl::StrCat("     s ", PadLeft(operations, 8), " | ")));
  }
}

}  // namespace
}  // namespace plimsoll
