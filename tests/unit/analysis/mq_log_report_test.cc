// A queue manager's log against the storage that a run measured: interpolation, ranks, and what reports show of it.
#include "controller/analysis/mq_log_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/render/json.h"
#include "controller/render/plain_text.h"
#include "controller/render/text.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// A step of one queue manager at so many megabytes per second.
void AddStep(v1::Report& report, uint64_t block_size_bytes, double mb_per_second, int qms = 1) {
  v1::StepReport& step = *report.add_steps();
  step.set_number(static_cast<uint32_t>(report.steps_size()));
  step.set_block_size_bytes(block_size_bytes);
  for (int qm = 1; qm <= qms; ++qm) {
    v1::ScopeReport& scope = *step.add_scopes();
    scope.set_kind(v1::SCOPE_KIND_QM);
    scope.set_host("alpha");
    scope.set_qm(static_cast<uint32_t>(qm));
    scope.set_mb_per_second(mb_per_second / qms);
  }
  v1::ScopeReport& cluster = *step.add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.set_mb_per_second(mb_per_second);
}

void AddPoint(v1::Report& report, uint64_t write_size_bytes, double bandwidth_mb, uint32_t intervals = 0) {
  v1::MqLog& log = *report.mutable_plan()->mutable_mq_log();
  log.add_write_size_bytes(write_size_bytes);
  log.add_bandwidth_mb(bandwidth_mb);
  if (intervals > 0) log.add_intervals(intervals);
}

// 4 KiB at 10 MB/s and 64 KiB at 40.
v1::Report Measured() {
  v1::Report report;
  AddStep(report, 4'096, 10);
  AddStep(report, 65'536, 40);
  return report;
}

TEST(StorageBandwidthOf, IsThatOfTheTimeOfAWriteBetweenTheNeighbours) {
  const v1::MqLogReport made = MakeMqLogReport(Measured());
  EXPECT_EQ(StorageBandwidth(made.sizes(), 4'096), 10);
  EXPECT_EQ(StorageBandwidth(made.sizes(), 65'536), 40);
  // 409.6 us and 1638.4 us, so 1024 us for a write of 34,816 bytes.
  EXPECT_DOUBLE_EQ(StorageBandwidth(made.sizes(), 34'816).value(), 34.0);
  EXPECT_EQ(StorageBandwidth(made.sizes(), 4'095), std::nullopt);
  EXPECT_EQ(StorageBandwidth(made.sizes(), 65'537), std::nullopt);
  EXPECT_EQ(StorageBandwidth({}, 4'096), std::nullopt);
}

TEST(StorageBandwidthOf, StorageWithAFixedAndAProportionalCostIsMetExactly) {
  const auto bandwidth = [](uint64_t bytes) {
    return static_cast<double>(bytes) / (200.0 + static_cast<double>(bytes) / 500);
  };
  v1::Report report;
  for (uint64_t size = 4'096; size <= 1'048'576; size *= 2) AddStep(report, size, bandwidth(size));
  const v1::MqLogReport made = MakeMqLogReport(report);
  for (const uint64_t size : {4'097U, 5'122U, 63'000U, 304'454U, 999'999U}) {
    EXPECT_NEAR(StorageBandwidth(made.sizes(), size).value(), bandwidth(size), 1e-9) << size;
  }
}

TEST(MqLogReport, HasEveryPointInPercentOfTheStorageAndTheRanks) {
  v1::Report report = Measured();
  report.mutable_plan()->mutable_mq_log()->set_source("400 intervals of log.txt");
  // By rank: 1 to 200, 201 to 380, 381 to 400; out of order.
  AddPoint(report, 65'536, 30, 20);
  AddPoint(report, 4'096, 5, 200);
  AddPoint(report, 34'816, 17, 180);
  const v1::MqLogReport made = MakeMqLogReport(report);
  EXPECT_EQ(made.source(), "400 intervals of log.txt");
  EXPECT_THAT(made.mb_per_second(), ElementsAre(5, 17, 30));
  EXPECT_THAT(made.write_size_bytes(), ElementsAre(4'096, 34'816, 65'536));
  EXPECT_THAT(made.storage_mb_per_second(), ElementsAre(10, 34, 40));
  EXPECT_THAT(made.percent(), ElementsAre(50, 50, 75));
  EXPECT_THAT(made.count(), ElementsAre(200, 180, 20));
  ASSERT_EQ(made.intervals_size(), 3);
  EXPECT_EQ(made.intervals(0).name(), "peak");
  EXPECT_EQ(made.intervals(0).percent(), 75);
  EXPECT_EQ(made.intervals(1).name(), "p95");
  EXPECT_EQ(made.intervals(1).mb_per_second(), 17) << "rank 380 of 400";
  EXPECT_EQ(made.intervals(2).name(), "median");
  EXPECT_EQ(made.intervals(2).mb_per_second(), 5) << "rank 200 of 400";
  EXPECT_THAT(made.notes(), IsEmpty());
}

TEST(MqLogReport, DoesNotExtrapolate) {
  v1::Report report = Measured();
  AddPoint(report, 4'000, 1);
  AddPoint(report, 4'096, 2);
  AddPoint(report, 65'540, 3, 0);
  const v1::MqLogReport made = MakeMqLogReport(report);
  EXPECT_EQ(made.below_sizes(), 1U);
  EXPECT_EQ(made.above_sizes(), 1U);
  EXPECT_THAT(made.percent(), ElementsAre(0, 20, 0));
  EXPECT_EQ(made.intervals(0).name(), "peak");
  EXPECT_FALSE(made.intervals(0).has_percent());
  report.set_format(1);
  *report.mutable_mq_log() = made;
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("  1 interval has writes below 4 KiB, the smallest size measured: not compared\n"));
  EXPECT_THAT(text, HasSubstr("  1 interval has writes above 64 KiB, the largest size measured: not compared\n"));
}

TEST(MqLogReport, OneBandwidthIsThatOfOneQueueManagerAndTheMeanOfItsSteps) {
  v1::Report report;
  AddStep(report, 4'096, 30, 3);
  AddStep(report, 4'096, 60, 3);
  AddPoint(report, 4'096, 3);
  const v1::MqLogReport made = MakeMqLogReport(report);
  ASSERT_EQ(made.sizes_size(), 1);
  EXPECT_EQ(made.sizes(0).mb_per_second(), 15);
  EXPECT_THAT(made.sizes(0).steps(), ElementsAre(1, 2));
  EXPECT_EQ(made.percent(0), 20);
}

TEST(MqLogReport, LeavesOutStepsThatDoNotShowTheStorageAndSaysSo) {
  v1::Report report = Measured();
  AddStep(report, 131'072, 50);
  report.mutable_steps(2)->set_cut_short("interrupted");
  AddPoint(report, 100'000, 3);
  v1::MqLogReport made = MakeMqLogReport(report);
  EXPECT_EQ(made.sizes_size(), 2);
  EXPECT_EQ(made.above_sizes(), 1U);
  EXPECT_THAT(made.notes(), ElementsAre("Step 3 is left out of the comparison with MQ's log: it takes steps at full "
                                        "speed that ran to their end with the data of all hosts."));
  for (v1::StepReport& step : *report.mutable_steps()) step.set_cut_short("interrupted");
  made = MakeMqLogReport(report);
  EXPECT_THAT(made.sizes(), IsEmpty());
  EXPECT_EQ(made.above_sizes() + made.below_sizes(), 0U);
  EXPECT_THAT(made.notes(), ElementsAre(HasSubstr("there is nothing to compare MQ's log with")));
}

TEST(MqLogReport, TakesWhateverADamagedJournalHolds) {
  v1::Report report = Measured();
  v1::MqLog& log = *report.mutable_plan()->mutable_mq_log();
  EXPECT_THAT(MakeMqLogReport(report).intervals(), IsEmpty());
  log.add_write_size_bytes(0);
  log.add_write_size_bytes(std::numeric_limits<uint64_t>::max());
  log.add_write_size_bytes(5'000);
  log.add_bandwidth_mb(std::numeric_limits<double>::quiet_NaN());
  log.add_bandwidth_mb(-std::numeric_limits<double>::infinity());
  log.add_intervals(0);
  const v1::MqLogReport made = MakeMqLogReport(report);
  EXPECT_EQ(made.write_size_bytes_size(), 2);
  EXPECT_EQ(made.intervals_size(), 3);
}

// A run over two sizes, whose plan has points.
v1::Report AnalyzedReport(const std::vector<std::string>& criteria = {}) {
  SimRun run;
  run.block_sizes = {4'096, 65'536};
  run.criteria = criteria;
  SimHost host;
  host.label = "alpha";
  host.steps = {{tests::Steady(run.duration_ns, kNsPerMs)}, {tests::Steady(run.duration_ns, 4 * kNsPerMs)}};
  run.hosts.push_back(host);
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (!record.has_run_begin()) continue;
    v1::MqLog& log = *record.mutable_run_begin()->mutable_plan()->mutable_mq_log();
    log.set_source("3 intervals of `log`.txt");
    for (const double bandwidth : {1.0, 2.0, 8.192}) log.add_bandwidth_mb(bandwidth);
    for (const uint64_t size : {4'096U, 20'000U, 65'536U}) log.add_write_size_bytes(size);
  }
  return tests::Analyze(records);
}

TEST(MqLogReport, IsPartOfTheReportOfARunAndOfItsTexts) {
  const v1::Report report = AnalyzedReport();
  ASSERT_TRUE(report.has_mq_log());
  EXPECT_NEAR(report.mq_log().sizes(0).mb_per_second(), 4.096, 0.05);
  EXPECT_NEAR(report.mq_log().percent(2), 50, 1);
  for (const std::string& text :
       {RenderText(report), RenderBrief(report, {"out", false}), RenderMarkdown(report, "")}) {
    EXPECT_THAT(text, HasSubstr("MQ's log against the storage, MB/s of one queue manager"));
    EXPECT_THAT(text, HasSubstr("  interval | write, bytes    MQ  storage  MQ/storage\n"));
    EXPECT_THAT(text, HasSubstr("  median   |       20,000  2.00 "));
    const std::vector<std::string> lines = absl::StrSplit(text, '\n');
    if (text[0] != '#') {
      for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
    }
  }
  EXPECT_THAT(RenderMarkdown(report, ""), HasSubstr("3 intervals of 'log'.txt")) << "nothing ends the block of code";
  EXPECT_THAT(RenderJson(report), HasSubstr("\"mq_log\": {"));
}

TEST(MqLogReport, DecidesNothing) {
  const v1::Report with = AnalyzedReport({"p50<10ms"});
  EXPECT_EQ(with.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(with.notes(), IsEmpty());
  EXPECT_EQ(AnalyzedReport({"p50<100us"}).verdict().outcome(), v1::OUTCOME_FAIL);
}

}  // namespace
}  // namespace plimsoll
