// What the analysis makes of whole, healthy journals.
#include "controller/analysis/analyzer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// One host with one writer.
SimRun OneWriter(int64_t duration_ns, const tests::SimWriter& writes) {
  SimRun run;
  run.duration_ns = duration_ns;
  SimHost host;
  host.label = "alpha";
  host.steps = {{writes}};
  run.hosts.push_back(host);
  return run;
}

TEST(Analyzer, AverageTimesCountPlusTimeBetweenWritesIsTheDuration) {
  const SimRun run = OneWriter(2 * kNsPerSecond, Steady(2 * kNsPerSecond, 700'000, 300'000));
  const v1::Report report = Analyze(MakeJournal(run));
  const v1::ScopeReport& qm = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_EQ(qm.writes(), 2000);
  const double accounted =
      qm.latency().avg_ns() * static_cast<double>(qm.writes()) + static_cast<double>(qm.time_between_writes_ns());
  EXPECT_THAT(accounted, DoubleNear(2e9, 1));
  EXPECT_THAT(qm.accounted_percent(), DoubleNear(100, 1e-9));
  EXPECT_THAT(qm.iops(), DoubleNear(1000, 1e-9));
  EXPECT_THAT(qm.mb_per_second(), DoubleNear(4.096, 1e-9));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE);
  EXPECT_EQ(ExitCode(report), 0);
}

TEST(Analyzer, WarmUpIsLeftOutButCountedInTheCrossCheck) {
  SimRun run = OneWriter(kNsPerSecond, {});
  run.warmup_ns = 600 * kNsPerMs;
  run.hosts[0].steps[0][0] = ClosedLoop(
      run.duration_ns, 0, [](uint64_t, int64_t start_ns) { return start_ns < 0 ? 30'000'000 : 1'000'000; },
      run.warmup_ns);
  const v1::Report report = Analyze(MakeJournal(run));
  const v1::ScopeReport& qm = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  // The write that ends at the measured start's own moment is the first measured one.
  EXPECT_EQ(qm.warmup_writes(), 19);
  EXPECT_EQ(qm.writes(), 1000);
  EXPECT_EQ(qm.closing().writes(), 1U);
  EXPECT_THAT(qm.accounted_percent(), DoubleNear(100, 1e-9));
  EXPECT_THAT(report.verdict().reasons(), ElementsAre());
}

TEST(Analyzer, AOneSecondRunHasOneBandwidth) {
  const v1::Report report = Analyze(MakeJournal(OneWriter(kNsPerSecond, Steady(kNsPerSecond, 999'000, 1'000))));
  const v1::BandwidthReport& bandwidth = Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).bandwidth();
  EXPECT_EQ(bandwidth.seconds(), 1);
  EXPECT_EQ(bandwidth.min_bytes_per_second(), bandwidth.max_bytes_per_second());
  EXPECT_EQ(bandwidth.avg_bytes_per_second(), static_cast<double>(bandwidth.max_bytes_per_second()));
  EXPECT_GT(bandwidth.max_bytes_per_second(), 0);
}

TEST(Analyzer, AStepShorterThanASecondHasNoBandwidthOverASecond) {
  const v1::Report report = Analyze(MakeJournal(OneWriter(300 * kNsPerMs, Steady(300 * kNsPerMs, 1'000'000))));
  const v1::ScopeReport& cluster = Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  EXPECT_EQ(cluster.bandwidth().seconds(), 0);
  const v1::SeriesReport& series = Series(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  // The second row is the write in flight at the end.
  EXPECT_THAT(series.second(), ElementsAre(0, 1));
  ASSERT_EQ(series.irregular_size(), 2);
  EXPECT_EQ(series.irregular(0).length_ns(), 300 * kNsPerMs);
  EXPECT_TRUE(series.irregular(1).closing());
}

TEST(Analyzer, AFreezeOfThreeSecondsShowsAsSecondsWithoutAWrite) {
  // The write that starts at 1 s takes 3 s.
  const auto latency = [](uint64_t, int64_t start_ns) -> int64_t {
    return start_ns == kNsPerSecond ? 3 * kNsPerSecond : kNsPerMs;
  };
  const v1::Report report = Analyze(MakeJournal(OneWriter(6 * kNsPerSecond, ClosedLoop(6 * kNsPerSecond, 0, latency))));
  const v1::ScopeReport& cluster = Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  EXPECT_EQ(cluster.bandwidth().min_bytes_per_second(), 0);
  EXPECT_EQ(cluster.bandwidth().max_bytes_per_second(), 1000 * 4096);
  EXPECT_EQ(cluster.latency().max_ns(), 3 * kNsPerSecond);
  EXPECT_EQ(cluster.slowest().number(), 1001);
  EXPECT_EQ(cluster.fastest_number(), 1) << "of equal ones the first";
  const v1::SeriesReport& series = Series(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  EXPECT_THAT(series.writes(), ElementsAre(999, 1, 0, 0, 1000, 1000, 1));
  ASSERT_EQ(series.irregular_size(), 1);
  EXPECT_TRUE(series.irregular(0).closing());
}

TEST(Analyzer, AWriteThatOutlastsTheStepIsCountedAndHasItsOwnRow) {
  const auto latency = [](uint64_t, int64_t start_ns) -> int64_t {
    return start_ns >= 900 * kNsPerMs ? 5 * kNsPerSecond : 100 * kNsPerMs;
  };
  const v1::Report report = Analyze(MakeJournal(OneWriter(kNsPerSecond, ClosedLoop(kNsPerSecond, 0, latency))));
  const v1::ScopeReport& qm = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_EQ(qm.writes(), 9);
  EXPECT_EQ(qm.latency().count(), 10U);
  EXPECT_EQ(qm.closing().writes(), 1U);
  EXPECT_EQ(qm.latency().max_ns(), 5 * kNsPerSecond);
  EXPECT_THAT(qm.accounted_percent(), DoubleNear(100, 1e-9));
  const v1::SeriesReport& series = Series(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_THAT(series.writes(), ElementsAre(9, 1));
  EXPECT_EQ(series.irregular(0).length_ns(), 4900 * kNsPerMs);
}

TEST(Analyzer, StartSkewIsThatOfTheTimelineWhateverTheClocksSay) {
  SimRun run;
  for (int i = 0; i < 3; ++i) {
    SimHost host;
    host.label = std::string(1, static_cast<char>('a' + i));
    host.clock_ahead_ns = i * 100'000 * kNsPerSecond;
    host.steps = {{ClosedLoop(run.duration_ns, 0, [](uint64_t, int64_t) { return kNsPerMs; }, 0, i * 7'000)}};
    run.hosts.push_back(host);
  }
  const v1::Report report = Analyze(MakeJournal(run));
  const v1::StartSkewReport& skew = report.steps(0).start_skew();
  EXPECT_NEAR(static_cast<double>(skew.skew_ns()), 14'000, 200);
  EXPECT_GT(skew.error_ns(), 0);
  ASSERT_EQ(skew.hosts_size(), 3);
  EXPECT_NEAR(static_cast<double>(skew.hosts(1).behind_ns()), 7'000, 200);
  // The slowest write's moment is the same on the timeline as without the offset.
  EXPECT_EQ(Scope(report.steps(0), v1::SCOPE_KIND_HOST, "c").slowest().start().seconds(),
            Scope(report.steps(0), v1::SCOPE_KIND_HOST, "a").slowest().start().seconds());
  EXPECT_NEAR(static_cast<double>(report.hosts(2).clock().offset_ns()), 200'000e9, 1e6);
}

TEST(Analyzer, HostsThatSeeOneAnotherShareAStorage) {
  SimRun run;
  for (const char* label : {"a", "b", "c"}) {
    SimHost host;
    host.label = label;
    host.steps = {{Steady(run.duration_ns, kNsPerMs)}};
    run.hosts.push_back(host);
  }
  // One direction is enough: b was listed before a had made its directory.
  run.hosts[2].sees = {"a"};
  const v1::Report report = Analyze(MakeJournal(run));
  ASSERT_EQ(report.storages_size(), 2);
  EXPECT_THAT(report.storages(0).hosts(), ElementsAre("a", "c"));
  EXPECT_THAT(report.storages(1).hosts(), ElementsAre("b"));
  uint64_t writes = 0;
  for (const v1::ScopeReport& scope : report.steps(0).scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_STORAGE) writes += scope.writes();
  }
  EXPECT_EQ(writes, Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).writes());
}

TEST(Analyzer, WeightedAverageIsXdisks) {
  // 90 writes of 5 ms, 80 of 6 ms, 2 of 500 ms.
  tests::SimWriter writes;
  int64_t start_ns = 0;
  const auto add = [&](int count, int64_t latency_ns) {
    for (int i = 0; i < count; ++i) {
      writes.push_back({start_ns, latency_ns});
      start_ns += latency_ns;
    }
  };
  add(90, 5 * kNsPerMs);
  add(80, 6 * kNsPerMs);
  add(2, 500 * kNsPerMs);
  const v1::Report report = Analyze(MakeJournal(OneWriter(2 * kNsPerSecond, writes)));
  EXPECT_NEAR(Scope(report.steps(0), v1::SCOPE_KIND_CLUSTER).latency().wavg_ns(), 5.6e6, 0.05e6);
}

TEST(Analyzer, CoalescedFramesKeepTheTotalsAndMakeOneWideRow) {
  SimRun run = OneWriter(4 * kNsPerSecond, Steady(4 * kNsPerSecond, 999'000, 1'000));
  const v1::Report plain = Analyze(MakeJournal(run));
  run.hosts[0].coalesce = 6;  // 1.5 s
  const v1::Report report = Analyze(MakeJournal(run));
  const v1::ScopeReport& qm = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_EQ(qm.latency().SerializeAsString(),
            Scope(plain.steps(0), v1::SCOPE_KIND_QM, "alpha", 1).latency().SerializeAsString());
  EXPECT_EQ(qm.bandwidth().averaged_seconds(), 3);
  // Frames cover 0-1.5 s, 1.5-3 s and 3-4 s: the first two share a second, so that their seconds are one row.
  const v1::SeriesReport& series = Series(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_THAT(series.second(), ElementsAre(0, 3));
  EXPECT_EQ(std::accumulate(series.writes().begin(), series.writes().end(), uint64_t{0}), qm.writes());
  ASSERT_EQ(series.irregular_size(), 1);
  EXPECT_TRUE(series.irregular(0).coalesced());
  EXPECT_EQ(series.irregular(0).length_ns(), 3 * kNsPerSecond);
  EXPECT_THAT(report.notes(), ElementsAre(::testing::HasSubstr("of 3 seconds only the averages are known")));
}

TEST(Analyzer, SecondsHaveThePercentilesOfTheirWrites) {
  const auto latency = [](uint64_t, int64_t start_ns) -> int64_t {
    return start_ns < kNsPerSecond ? 1'000'000 : 2'000'000;
  };
  SimRun run = OneWriter(2 * kNsPerSecond, ClosedLoop(2 * kNsPerSecond, 0, latency));
  run.hosts.push_back(run.hosts[0]);
  run.hosts[1].label = "beta";
  const v1::Report report = Analyze(MakeJournal(run));
  for (const v1::SeriesReport* series :
       {&Series(report.steps(0), v1::SCOPE_KIND_CLUSTER), &Series(report.steps(0), v1::SCOPE_KIND_HOST, "beta"),
        &Series(report.steps(0), v1::SCOPE_KIND_QM, "beta", 1)}) {
    ASSERT_GE(series->p50_ns_size(), 2);
    EXPECT_NEAR(static_cast<double>(series->p50_ns(0)), 1e6, 1e3);
    EXPECT_NEAR(static_cast<double>(series->p50_ns(1)), 2e6, 2e3);
    EXPECT_LE(series->p99_9_ns(1), series->latency_max_ns(1));
  }
}

TEST(Analyzer, WritesThatWereNotIssuedCountInTheResponseTimes) {
  SimRun run = OneWriter(kNsPerSecond, Steady(kNsPerSecond, 9'999'000, 1'000));
  run.hosts[0].rate_per_second = 200;
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) {
    if (!record.has_step_done()) continue;
    v1::WriterTotals& totals = *record.mutable_step_done()->mutable_done()->mutable_writers(0);
    Histogram ages;
    ages.RecordN(400 * kNsPerMs, 100);
    totals.set_not_issued(100);
    *totals.mutable_not_issued_age() = ages.ToProto();
    totals.set_max_behind_writes(100);
    totals.set_max_behind_ns(500 * kNsPerMs);
  }
  const v1::Report report = Analyze(journal);
  const v1::ScopeReport& qm = Scope(report.steps(0), v1::SCOPE_KIND_QM, "alpha", 1);
  EXPECT_EQ(qm.writes(), 100);
  EXPECT_EQ(qm.rate().unserved(), 100);
  EXPECT_EQ(qm.rate().response().count(), 200);
  EXPECT_EQ(qm.rate().response().max_ns(), 400 * kNsPerMs);
  EXPECT_FALSE(qm.rate().held());
  EXPECT_THAT(report.notes(), ElementsAre(::testing::HasSubstr("target rate missed: ")));
}

TEST(Analyzer, TheSameRecordsGiveTheSameReport) {
  const std::vector<v1::JournalRecord> journal =
      MakeJournal(OneWriter(2 * kNsPerSecond, Steady(2 * kNsPerSecond, 800'000)));
  EXPECT_EQ(Analyze(journal).SerializeAsString(), Analyze(journal).SerializeAsString());
}

}  // namespace
}  // namespace plimsoll
