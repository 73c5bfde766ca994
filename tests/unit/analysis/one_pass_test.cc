// Steps that end with a pass over their blocks, long before their limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/units.h"
#include "controller/analysis/analyzer.h"
#include "controller/render/live_view.h"
#include "controller/report/scopes.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using tests::Steady;

constexpr int64_t kLimitNs = 24 * 3600 * kNsPerSecond;

// alpha's writers take all their blocks in 2.1 s and 1.2 s, beta's one in 3.4 s. Criterion: max<1s.
SimRun TwoPasses() {
  SimRun run;
  run.duration_ns = 4 * kNsPerSecond;
  run.criteria = {"max<1s"};
  SimHost alpha;
  alpha.label = "alpha";
  alpha.steps = {{Steady(2'100 * kNsPerMs, kNsPerMs), Steady(1'200 * kNsPerMs, 2 * kNsPerMs)}};
  SimHost beta;
  beta.label = "beta";
  beta.clock_ahead_ns = 5 * kNsPerSecond;
  beta.steps = {{Steady(3'400 * kNsPerMs, kNsPerMs)}};
  run.hosts = {alpha, beta};
  return run;
}

int64_t EndOf(const SimHost& host) {
  int64_t end_ns = 0;
  for (const tests::SimWriter& writer : host.steps[0]) end_ns = std::max(end_ns, writer.back().end_ns());
  return end_ns;
}

uint64_t OperationsIn(const SimHost& host) {
  uint64_t operations = 0;
  for (const tests::SimWriter& writer : host.steps[0]) operations += writer.size();
  return operations;
}

// The run's journal with the limit in place of its length: no host sends frames after its last write.
std::vector<v1::JournalRecord> JournalOfPass(const SimRun& run) {
  std::vector<v1::JournalRecord> records = MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) {
      v1::RunBegin& begin = *record.mutable_run_begin();
      begin.mutable_plan()->mutable_workload()->set_one_pass(true);
      begin.mutable_plan()->set_duration_ns(kLimitNs);
      begin.mutable_steps(0)->set_duration_ns(kLimitNs);
    }
    if (!record.has_frames()) continue;
    const int64_t end_ns = EndOf(run.hosts[record.frames().host()]);
    auto& frames = *record.mutable_frames()->mutable_frames();
    frames.erase(std::remove_if(frames.begin(), frames.end(),
                                [&](const v1::Frame& frame) {
                                  return int64_t{frame.first_interval()} * run.interval_ns >= end_ns;
                                }),
                 frames.end());
  }
  return records;
}

TEST(OnePass, AHostIsMeasuredToItsLastOperationAndTheClusterToTheLastOfAll) {
  const SimRun run = TwoPasses();
  const v1::Report report = Analyze(JournalOfPass(run));
  const v1::StepReport& step = report.steps(0);
  const v1::ScopeReport& alpha = Scope(step, v1::SCOPE_KIND_HOST, "alpha");
  const v1::ScopeReport& beta = Scope(step, v1::SCOPE_KIND_HOST, "beta");
  const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
  EXPECT_EQ(alpha.measured_ns(), EndOf(run.hosts[0]));
  EXPECT_EQ(beta.measured_ns(), EndOf(run.hosts[1]));
  EXPECT_EQ(cluster.measured_ns(), EndOf(run.hosts[1]));
  EXPECT_EQ(step.measured_ns(), EndOf(run.hosts[1]));
  EXPECT_EQ(step.duration_ns(), step.measured_ns()) << "the limit is not its length";
  EXPECT_DOUBLE_EQ(alpha.iops(), static_cast<double>(alpha.writes()) * 1e9 / static_cast<double>(EndOf(run.hosts[0])));
  EXPECT_EQ(alpha.writes(), OperationsIn(run.hosts[0])) << "each block once";
  EXPECT_EQ(beta.writes(), OperationsIn(run.hosts[1]));
  EXPECT_EQ(alpha.bytes(), alpha.writes() * run.block_sizes[0]);
  EXPECT_EQ(cluster.writes(), alpha.writes() + beta.writes());
  EXPECT_DOUBLE_EQ(cluster.iops(),
                   static_cast<double>(cluster.writes()) * 1e9 / static_cast<double>(EndOf(run.hosts[1])));
}

TEST(OnePass, APassWithoutTroubleIsAPassWithoutNotes) {
  const v1::Report report = Analyze(JournalOfPass(TwoPasses()));
  EXPECT_EQ(report.run().state(), v1::RUN_STATE_COMPLETE);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_PASS);
  EXPECT_THAT(report.verdict().reasons(), IsEmpty());
  EXPECT_THAT(report.notes(), Each(Not(HasSubstr("step 1"))));
  for (const v1::ScopeReport& scope : report.steps(0).scopes()) EXPECT_FALSE(scope.has_data_until());
}

TEST(OnePass, ASeriesEndsWithTheLastOperationAndEachSecondKeepsItsLatencies) {
  const SimRun run = TwoPasses();
  const v1::Report report = Analyze(JournalOfPass(run));
  const v1::SeriesReport& cluster = Series(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  ASSERT_EQ(cluster.second_size(), 4);
  ASSERT_EQ(cluster.irregular_size(), 1);
  EXPECT_EQ(cluster.irregular(0).row(), 3U);
  EXPECT_EQ(cluster.irregular(0).length_ns(), EndOf(run.hosts[1]) - 3 * kNsPerSecond);
  EXPECT_EQ(Series(report.steps(0), v1::SCOPE_KIND_HOST, "alpha").second_size(), 3);
  EXPECT_TRUE(report.steps(0).has_seconds());
}

TEST(OnePass, APassThatTheLimitEndedIsInconclusive) {
  constexpr char kUnfinished[] = "the pass was not finished within --duration 1d";
  std::vector<v1::JournalRecord> records = JournalOfPass(TwoPasses());
  for (v1::JournalRecord& record : records) {
    if (record.has_step_done() && record.step_done().host() == 1) {
      record.mutable_step_done()->mutable_done()->set_stopped(kUnfinished);
    }
    if (record.has_step_end()) {
      record.mutable_step_end()->set_cut_short(std::string("beta: ") + kUnfinished);
    }
  }
  const v1::Report report = Analyze(records);
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
  EXPECT_THAT(report.verdict().reasons(), Contains(HasSubstr(kUnfinished)));
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "beta").data_until_reason(), kUnfinished);
  EXPECT_FALSE(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "alpha").has_data_until());
}

TEST(OnePass, FilesThatWereCreatedAndNotWrittenFullAreNamed) {
  const SimRun run = TwoPasses();
  std::vector<v1::JournalRecord> records = JournalOfPass(run);
  for (v1::JournalRecord& record : records) {
    if (record.has_run_begin()) record.mutable_run_begin()->mutable_plan()->mutable_workload()->set_create(true);
    if (!record.has_host_joined()) continue;
    v1::LogWorkload& workload = *record.mutable_host_joined()->mutable_plan()->mutable_log()->mutable_workload();
    workload.add_files("/data/a");
    workload.add_files("/data/b");
    // As alpha's first writer and beta's have written, or less.
    workload.set_file_size_bytes(run.hosts[0].steps[0][0].size() * run.block_sizes[0]);
  }
  EXPECT_THAT(Analyze(records).notes(),
              Contains(AllOf(StartsWith("alpha: created, but not written full: /data/b ("),
                             EndsWith("); create them again before they are read."), Not(HasSubstr("/data/a")))));
  EXPECT_THAT(Analyze(records).notes(), Not(Contains(StartsWith("beta: created"))));
  // Once the second file has as much, too.
  for (v1::JournalRecord& record : records) {
    if (!record.has_host_joined()) continue;
    record.mutable_host_joined()->mutable_plan()->mutable_log()->mutable_workload()->set_file_size_bytes(4096);
  }
  EXPECT_THAT(Analyze(records).notes(), Not(Contains(HasSubstr("not written full"))));
}

TEST(OnePass, ALiveViewShowsTheSecondsThatWereAndNoEnd) {
  const SimRun run = TwoPasses();
  Analyzer analyzer;
  int64_t now_ns = 0;
  std::vector<int64_t> shown;
  for (const v1::JournalRecord& record : JournalOfPass(run)) {
    analyzer.Add(record);
    now_ns = record.time_ns();
    const LiveSnapshot now = analyzer.Live(now_ns, -1);
    if (now.step == 0) continue;
    EXPECT_TRUE(now.one_pass);
    EXPECT_LE(now.seconds.size(), 4U);
    for (const LiveSecond& second : now.seconds) EXPECT_THAT(SecondLine(now, second, 0), Not(HasSubstr("86400")));
    EXPECT_THAT(WaitingLine(now, 0), Not(HasSubstr("86400")));
    if (!now.seconds.empty()) shown.push_back(now.seconds.back().end_ns);
  }
  ASSERT_FALSE(shown.empty());
  EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
}

}  // namespace
}  // namespace plimsoll
