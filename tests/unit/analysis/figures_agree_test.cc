// The figures of a step that a run shows while it is under way, its lines by interval, and its report are the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "controller/analysis/analyzer.h"
#include "controller/report/scopes.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// Hosts with and without a target rate, writes of 0.2 to 60 ms, with and without reads between them, seconds that are
// not whole.
SimRun RandomRun(std::mt19937_64& random) {
  SimRun run;
  run.duration_ns = static_cast<int64_t>(1'000 + random() % 4'000) * kNsPerMs;
  run.warmup_ns = static_cast<int64_t>(random() % 3) * kNsPerSecond;
  run.criteria = {"p50<1us",  "p99<1us",         "p99.9@qm<1us",  "max@host<1us",      "avg<1us",
                  "wavg<1us", "service_p99<1us", "iops>=1000000", "mbps@host>=100000", "writes>=1000000000"};
  if (random() % 3 == 0) {
    run.read_percent = 50;
    run.criteria.insert(run.criteria.end(), {"read_p50<1us", "read_max@host<1us", "read_iops>=1000000"});
  }
  const double rate_per_second = random() % 2 == 0 ? 0 : 30;
  for (uint64_t h = 0; h < 1 + random() % 3; ++h) {
    SimHost& host = run.hosts.emplace_back();
    host.label = "host" + std::to_string(h);
    host.rate_per_second = rate_per_second;
    host.steps.emplace_back();
    for (uint64_t qm = 0; qm < 1 + random() % 3; ++qm) {
      host.steps[0].push_back(tests::ClosedLoop(
          run.duration_ns, 1'000,
          [&random](uint64_t, int64_t) { return static_cast<int64_t>(200'000 + random() % 60'000'000); },
          run.warmup_ns));
    }
  }
  return run;
}

std::vector<IntervalRow> RowsOf(const std::vector<v1::JournalRecord>& records, int64_t interval_ns) {
  std::vector<IntervalRow> rows;
  Analyzer analyzer;
  analyzer.SetIntervalListener(interval_ns, [&rows](const IntervalRow& row) { rows.push_back(row); });
  for (const v1::JournalRecord& record : records) analyzer.Add(record);
  analyzer.Finish();
  return rows;
}

// The seconds of the measured part add up to the report.
void ExpectLiveIsFinal(const LiveSnapshot& live, const v1::ScopeReport& cluster) {
  uint64_t writes = 0;
  // Each write is a microsecond late, by the builder's default.
  const uint64_t late_ns = cluster.has_rate() && cluster.closing().writes() > 0 ? 1'000 : 0;
  uint64_t max_ns = cluster.closing().latency_max_ns() + late_ns;
  double bytes = 0;
  int64_t begin_ns = 0;
  for (const LiveSecond& second : live.seconds) {
    if (second.warmup) continue;
    writes += second.cluster.writes;
    max_ns = std::max(max_ns, second.cluster.max_ns);
    const double seconds = static_cast<double>(second.end_ns - begin_ns) / static_cast<double>(kNsPerSecond);
    bytes += second.cluster.mb_per_second * kBytesPerMegabyte * seconds;
    begin_ns = second.end_ns;
  }
  EXPECT_EQ(begin_ns, cluster.measured_ns());
  EXPECT_EQ(writes, cluster.writes());
  EXPECT_EQ(std::llround(bytes), static_cast<int64_t>(cluster.bytes()));
  EXPECT_EQ(max_ns, FeltLatency(cluster).max_ns());
}

// The rows of a second add up to the report, those that were in flight at the end included.
void ExpectIntervalsAreFinal(const std::vector<IntervalRow>& rows, const LiveSnapshot& live,
                             const v1::ScopeReport& cluster) {
  IntervalSums sums;
  for (const IntervalRow& row : rows) sums.Merge(row.interval);
  EXPECT_EQ(sums.writes, FeltLatency(cluster).count());
  EXPECT_EQ(sums.writes, cluster.writes() + cluster.closing().writes());
  EXPECT_EQ(sums.latency_sum_ns, FeltLatency(cluster).sum_ns());
  EXPECT_EQ(sums.latency_min_ns, FeltLatency(cluster).min_ns());
  EXPECT_EQ(sums.latency_max_ns, FeltLatency(cluster).max_ns());
  EXPECT_EQ(rows.back().total.writes, sums.writes);
  // The last row has the closing writes besides.
  const auto warmup = static_cast<size_t>(
      std::count_if(live.seconds.begin(), live.seconds.end(), [](const LiveSecond& second) { return second.warmup; }));
  ASSERT_EQ(live.seconds.size() - warmup, rows.size());
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    const LiveFigures& second = live.seconds[warmup + i].cluster;
    EXPECT_EQ(second.writes, rows[i].interval.writes) << i;
    EXPECT_EQ(second.p50_ns, rows[i].p50_ns) << i;
    EXPECT_EQ(second.p99_ns, rows[i].p99_ns) << i;
    EXPECT_EQ(second.max_ns, rows[i].interval.latency_max_ns) << i;
  }
}

TEST(FiguresAgree, OfTheLastLiveViewTheIntervalsAndTheReport) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const SimRun run = RandomRun(random);
    const std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    // All that came before the step's end was recorded.
    Analyzer analyzer;
    int64_t now_ns = 0;
    for (const v1::JournalRecord& record : records) {
      if (record.has_step_end()) break;
      analyzer.Add(record);
      now_ns = record.time_ns();
    }
    const LiveSnapshot live = analyzer.Live(now_ns, -1);
    const std::vector<LiveCriterion> criteria = analyzer.LiveCriteria();

    const v1::Report report = tests::Analyze(records);
    const v1::ScopeReport& cluster = tests::Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER);
    ASSERT_GT(cluster.writes(), 0U);
    ExpectLiveIsFinal(live, cluster);
    ExpectIntervalsAreFinal(RowsOf(records, kNsPerSecond), live, cluster);

    // One row as long as the step: percentiles of the merged histograms.
    const std::vector<IntervalRow> whole = RowsOf(records, 60 * kNsPerSecond);
    ASSERT_EQ(whole.size(), 1U);
    EXPECT_EQ(whole[0].p50_ns, FeltLatency(cluster).p50_ns());
    EXPECT_EQ(whole[0].p99_ns, FeltLatency(cluster).p99_ns());

    // What the judge was shown of every scope: percentiles, means, rates and counts.
    ASSERT_GE(criteria.size(), run.criteria.size());
    ASSERT_EQ(criteria.size(), static_cast<size_t>(report.verdict().criteria_size()));
    for (size_t i = 0; i < criteria.size(); ++i) {
      const v1::CriterionReport& last = report.verdict().criteria(static_cast<int>(i));
      EXPECT_EQ(criteria[i].text, last.criterion());
      EXPECT_EQ(criteria[i].value, last.value_text()) << last.criterion();
      EXPECT_NE(last.value_text(), "") << last.criterion();
    }
  }
}

// The criteria so far are those of the report that the journal gave if it ended there, whatever was lost.
TEST(FiguresAgree, OfTheCriteriaSoFarAndTheReportOfTheJournalUntilThen) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    SimRun run = RandomRun(random);
    run.warmup_ns = 0;
    run.criteria.push_back("min_second_iops>=1000000");
    run.criteria.push_back("min_second_mbps@host>=100000");
    if (random() % 2 == 0) run.hosts.back().lost_after_ns = static_cast<int64_t>(500 + random() % 3'000) * kNsPerMs;
    std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
    const auto lost = std::find_if(records.begin(), records.end(),
                                   [](const v1::JournalRecord& record) { return record.has_host_lost(); });
    // The builder reports losses at the step's end.
    if (lost != records.end()) {
      const auto begin =
          std::find_if(records.begin(), lost, [](const v1::JournalRecord& record) { return record.has_frames(); });
      std::rotate(begin + static_cast<int64_t>(random() % static_cast<uint64_t>(lost - begin)), lost, lost + 1);
    }
    const auto done = std::find_if(records.begin(), records.end(), [](const v1::JournalRecord& record) {
      return record.has_step_done() || record.has_step_end();
    });
    ASSERT_NE(done, records.end());
    // All hosts have reported something.
    const int64_t least = 4 * static_cast<int64_t>(run.hosts.size());
    const auto begin =
        std::find_if(records.begin(), done, [](const v1::JournalRecord& record) { return record.has_frames(); });
    if (done - begin <= least) continue;
    records.erase(begin + least + static_cast<int64_t>(random() % static_cast<uint64_t>(done - begin - least)),
                  records.end());
    Analyzer analyzer;
    for (const v1::JournalRecord& record : records) analyzer.Add(record);
    const std::vector<LiveCriterion> criteria = analyzer.LiveCriteria();
    const v1::Report report = tests::Analyze(records);
    ASSERT_EQ(criteria.size(), static_cast<size_t>(report.verdict().criteria_size()));
    for (size_t i = 0; i < criteria.size(); ++i) {
      const v1::CriterionReport& last = report.verdict().criteria(static_cast<int>(i));
      EXPECT_EQ(criteria[i].value, last.value_text()) << last.criterion();
    }
  }
}

}  // namespace
}  // namespace plimsoll
