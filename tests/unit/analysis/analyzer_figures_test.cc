// What the analysis makes of seconds, distributions, hosts side by side, and the hosts' load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "controller/analysis/analyzer.h"
#include "controller/analysis/figures.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

// Latency of each writer, by host; all on one storage.
SimRun RunOf(const std::vector<std::pair<std::string, std::vector<int64_t>>>& hosts, int64_t duration_ns) {
  SimRun run;
  run.duration_ns = duration_ns;
  for (const auto& [label, latencies] : hosts) {
    SimHost host;
    host.label = label;
    host.sees = {hosts.front().first};
    std::vector<tests::SimWriter>& writers = host.steps.emplace_back();
    for (const int64_t latency_ns : latencies) writers.push_back(tests::Steady(duration_ns, latency_ns, 0));
    run.hosts.push_back(host);
  }
  return run;
}

const v1::SeriesReport& StorageSeries(const v1::StepReport& step, uint32_t storage) {
  return *std::find_if(step.series().begin(), step.series().end(), [storage](const v1::SeriesReport& series) {
    return series.kind() == v1::SCOPE_KIND_STORAGE && series.storage() == storage;
  });
}

TEST(AnalyzerFigures, EveryScopeHasItsPercentilesBySecond) {
  const v1::StepReport step =
      Analyze(MakeJournal(RunOf({{"alpha", {1'000'000, 8'000'000}}, {"beta", {4'000'000}}}, 2 * kNsPerSecond)))
          .steps(0);
  for (const v1::SeriesReport& series : step.series()) {
    EXPECT_EQ(series.p50_ns_size(), series.second_size()) << series.DebugString();
    EXPECT_EQ(series.p99_ns_size(), series.second_size());
    EXPECT_EQ(series.p99_9_ns_size(), series.second_size());
  }
  const auto p50 = [](const v1::SeriesReport& series) { return series.p50_ns(1); };
  const auto p99_9 = [](const v1::SeriesReport& series) { return series.p99_9_ns(1); };
  EXPECT_EQ(p50(Series(step, v1::SCOPE_KIND_QM, "alpha", 1)), 1'000'000);
  EXPECT_EQ(p50(Series(step, v1::SCOPE_KIND_QM, "alpha", 2)), 8'000'000);
  EXPECT_NEAR(static_cast<double>(p50(Series(step, v1::SCOPE_KIND_HOST, "alpha"))), 1e6, 1e3);
  EXPECT_EQ(p99_9(Series(step, v1::SCOPE_KIND_HOST, "alpha")), 8'000'000);
  EXPECT_EQ(p50(Series(step, v1::SCOPE_KIND_QM, "beta", 1)), 4'000'000);
  EXPECT_EQ(p99_9(Series(step, v1::SCOPE_KIND_CLUSTER)), 8'000'000);
  v1::SeriesReport storage = StorageSeries(step, 1);
  EXPECT_EQ(storage.storage(), 1);
  storage.clear_storage();
  storage.set_kind(v1::SCOPE_KIND_CLUSTER);
  EXPECT_EQ(storage.DebugString(), Series(step, v1::SCOPE_KIND_CLUSTER).DebugString())
      << "the storage is the cluster, but for its kind and number";
}

TEST(AnalyzerFigures, StoragesHaveTheirOwnPercentiles) {
  SimRun run = RunOf({{"a", {1'000'000}}, {"b", {3'000'000}}, {"c", {9'000'000}}}, kNsPerSecond);
  run.hosts[2].sees.clear();
  const v1::StepReport step = Analyze(MakeJournal(run)).steps(0);
  EXPECT_EQ(StorageSeries(step, 1).p99_9_ns(0), 3'000'000);
  EXPECT_EQ(StorageSeries(step, 2).p50_ns(0), 9'000'000);
  EXPECT_EQ(Series(step, v1::SCOPE_KIND_CLUSTER).p99_9_ns(0), 9'000'000);
}

TEST(AnalyzerFigures, CoalescedSecondsHaveNoPercentiles) {
  SimRun run = RunOf({{"a", {1'000'000}}, {"b", {3'000'000}}}, 4 * kNsPerSecond);
  run.hosts[0].coalesce = 6;
  const v1::StepReport step = Analyze(MakeJournal(run)).steps(0);
  EXPECT_THAT(Series(step, v1::SCOPE_KIND_HOST, "a").p50_ns(), Contains(0));
  EXPECT_THAT(Series(step, v1::SCOPE_KIND_QM, "b", 1).p50_ns(),
              ElementsAre(3'000'000, 3'000'000, 3'000'000, 3'000'000, 0))
      << "the last row is that of the write in flight at the end";
  EXPECT_THAT(Series(step, v1::SCOPE_KIND_CLUSTER).p50_ns(), Contains(0));
  for (const uint32_t second : step.seconds().second()) EXPECT_NE(second, 0) << "its distribution is not known";
}

TEST(AnalyzerFigures, ALostHostsSecondsAreThoseThatItLivedToSee) {
  SimRun run = RunOf({{"a", {1'000'000}}, {"b", {3'000'000}}}, 4 * kNsPerSecond);
  run.hosts[1].lost_after_ns = 1'500 * kNsPerMs;
  const v1::StepReport step = Analyze(MakeJournal(run)).steps(0);
  // Of the second in which it was lost the first half is there, and known.
  EXPECT_EQ(Series(step, v1::SCOPE_KIND_CLUSTER).p99_9_ns(1), 3'000'000);
  EXPECT_EQ(Series(step, v1::SCOPE_KIND_CLUSTER).p99_9_ns(2), 1'000'000);
  EXPECT_THAT(step.seconds().second(), ElementsAre(0, 1, 2, 3));
}

TEST(AnalyzerFigures, DistributionsAddUp) {
  SimRun run = RunOf({{"a", {1'000'000, 2'000'000}}, {"b", {3'000'000}}, {"c", {9'000'000}}}, 1'700 * kNsPerMs);
  run.hosts[2].sees.clear();
  const v1::StepReport step = Analyze(MakeJournal(run)).steps(0);
  std::map<v1::ScopeKind, std::map<uint64_t, uint64_t>> buckets;
  for (const v1::DistributionReport& distribution : step.distributions()) {
    uint64_t total = 0;
    for (int i = 0; i < distribution.from_ns_size(); ++i) {
      buckets[distribution.kind()][distribution.from_ns(i)] += distribution.count(i);
      total += distribution.count(i);
    }
    if (distribution.kind() == v1::SCOPE_KIND_STORAGE) continue;
    EXPECT_EQ(total, Scope(step, distribution.kind(), distribution.host()).latency().count());
  }
  EXPECT_EQ(step.distributions_size(), 3 + 2 + 1);
  EXPECT_EQ(buckets[v1::SCOPE_KIND_HOST], buckets[v1::SCOPE_KIND_CLUSTER]);
  EXPECT_EQ(buckets[v1::SCOPE_KIND_STORAGE], buckets[v1::SCOPE_KIND_CLUSTER]);
  EXPECT_THAT(buckets[v1::SCOPE_KIND_CLUSTER], ElementsAre(::testing::Pair(DistributionFloorNs(1'000'000), 1'700),
                                                           ::testing::Pair(DistributionFloorNs(2'000'000), 850),
                                                           ::testing::Pair(DistributionFloorNs(3'000'000), 567),
                                                           ::testing::Pair(DistributionFloorNs(9'000'000), 189)));
}

TEST(AnalyzerFigures, OneStorageHasNoDistributionOfItsOwn) {
  const v1::StepReport step =
      Analyze(MakeJournal(RunOf({{"a", {1'000'000}}, {"b", {3'000'000}}}, kNsPerSecond))).steps(0);
  for (const v1::DistributionReport& distribution : step.distributions()) {
    EXPECT_NE(distribution.kind(), v1::SCOPE_KIND_STORAGE);
  }
}

TEST(AnalyzerFigures, EachSecondsDistributionHoldsItsWrites) {
  SimRun run = RunOf({{"a", {1'000'000}}, {"b", {2'999'999}}}, 3'500 * kNsPerMs);
  run.hosts[0].steps[0][0].erase(run.hosts[0].steps[0][0].begin() + 900, run.hosts[0].steps[0][0].begin() + 2'100);
  run.hosts[1].steps[0][0].clear();
  const v1::StepReport step = Analyze(MakeJournal(run)).steps(0);
  const v1::SecondDistributionsReport& seconds = step.seconds();
  EXPECT_THAT(seconds.second(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(seconds.buckets(), ElementsAre(1, 0, 1, 1)) << "nothing was written in the second one";
  EXPECT_THAT(seconds.bucket(), Each(637));
  EXPECT_THAT(seconds.count(), ElementsAre(900, 899, 500));
}

TEST(AnalyzerFigures, ALongStepHasNoDistributionsBySecondAndSaysSo) {
  SimRun run = RunOf({{"a", {}}}, (kMaxDistributionSeconds + 1) * kNsPerSecond);
  run.interval_ns = kNsPerSecond;
  run.hosts[0].steps[0] = {{{0, 1'000'000}}};
  const v1::Report report = Analyze(MakeJournal(run));
  EXPECT_FALSE(report.steps(0).has_seconds());
  EXPECT_THAT(report.notes(), Contains(HasSubstr("of each second")));
  run.duration_ns = kMaxDistributionSeconds * kNsPerSecond;
  EXPECT_EQ(Analyze(MakeJournal(run)).steps(0).seconds().second_size(), kMaxDistributionSeconds);
}

TEST(AnalyzerFigures, FairnessComparesHostsAndWriters) {
  const v1::StepReport step =
      Analyze(MakeJournal(RunOf({{"a", {1'000'000, 1'000'000}}, {"b", {2'000'000}}}, kNsPerSecond))).steps(0);
  // 2000 and 500 writes/s; 1000, 1000 and 500.
  EXPECT_NEAR(step.fairness().hosts(), 2500.0 * 2500 / (2 * (2000.0 * 2000 + 500 * 500)), 1e-3);
  EXPECT_NEAR(step.fairness().queue_managers(), 2500.0 * 2500 / (3 * (2 * 1e6 + 250'000)), 1e-3);
  const v1::StepReport alone = Analyze(MakeJournal(RunOf({{"a", {1'000'000}}}, kNsPerSecond))).steps(0);
  EXPECT_FALSE(alone.has_fairness());
  const v1::StepReport one_host = Analyze(MakeJournal(RunOf({{"a", {1'000'000, 1'000'000}}}, kNsPerSecond))).steps(0);
  EXPECT_EQ(one_host.fairness().hosts(), 0);
  EXPECT_DOUBLE_EQ(one_host.fairness().queue_managers(), 1);
}

TEST(AnalyzerFigures, ATrendIsThatOfTheClustersWholeSeconds) {
  SimRun run = RunOf({{"a", {1'000'000}}}, 7'400 * kNsPerMs);
  run.hosts[0].steps[0][0] = tests::ClosedLoop(run.duration_ns, 0, [](uint64_t, int64_t start_ns) {
    return start_ns < 4 * kNsPerSecond ? 1'000'000 : 2'000'000;
  });
  const v1::TrendReport trend = Analyze(MakeJournal(run)).steps(0).trend();
  EXPECT_NEAR(trend.first_iops(), 1'000, 1);
  EXPECT_NEAR(trend.last_iops(), 500, 1);
  EXPECT_NEAR(trend.avg_change_percent(), 100, 0.5);
  EXPECT_FALSE(trend.steady());
  EXPECT_FALSE(Analyze(MakeJournal(RunOf({{"a", {1'000'000}}}, 4'999 * kNsPerMs))).steps(0).has_trend());
}

// The note of a run of two hosts, one of which slows down and the other is as `change` makes it; empty: there is none.
std::string TrendNote(const std::function<void(SimHost&)>& change) {
  SimRun run = RunOf({{"a", {1'000'000}}, {"b", {1'000'000}}}, 8 * kNsPerSecond);
  run.hosts[0].steps[0][0] = tests::ClosedLoop(run.duration_ns, 0, [](uint64_t, int64_t start_ns) {
    return start_ns < 4 * kNsPerSecond ? 1'000'000 : 2'000'000;
  });
  change(run.hosts[1]);
  const v1::Report report = Analyze(MakeJournal(run));
  const auto note = std::find_if(report.notes().begin(), report.notes().end(), [](const std::string& each) {
    return each.find("from the first third") != std::string::npos;
  });
  return note == report.notes().end() ? "" : *note;
}

TEST(AnalyzerFigures, AChangeIsNotPutDownToTheStorageWhereAHostWasLostSuspendedOrShortOfCpu) {
  EXPECT_THAT(TrendNote([](SimHost&) {}), HasSubstr("--settle 30s"));
  const auto sampled = [](double wait_share, uint64_t late_max_ns) {
    return [wait_share, late_max_ns](uint32_t, int64_t since_start_ns) {
      v1::HostSample sample;
      sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(wait_share * static_cast<double>(since_start_ns)));
      sample.set_recorder_late_max_ns(late_max_ns);
      return sample;
    };
  };
  const std::function<void(SimHost&)> troubles[] = {
      [](SimHost& host) { host.lost_after_ns = 4 * kNsPerSecond; },
      [&](SimHost& host) {
        host.pauses = {{0, 2 * kNsPerSecond, 3 * kNsPerSecond}};
        host.sample = sampled(0, kNsPerSecond);
      },
      [&](SimHost& host) { host.sample = sampled(0.25, 0); },
  };
  for (const auto& trouble : troubles) {
    const std::string note = TrendNote(trouble);
    EXPECT_THAT(note, HasSubstr("IO/s change by"));
    EXPECT_THAT(note, Not(HasSubstr("The storage may still"))) << note;
  }
}

v1::HostSample Loaded(int64_t since_start_ns, double wait_share) {
  v1::HostSample sample;
  sample.set_agent_cpu_ns(static_cast<uint64_t>(since_start_ns / 10));
  sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(static_cast<double>(since_start_ns) * wait_share));
  sample.set_recorder_late_max_ns(3 * kNsPerMs);
  return sample;
}

TEST(AnalyzerFigures, LoadIsTakenFromTheSamplesAndWarnsOfABottleneck) {
  SimRun run = RunOf({{"a", {1'000'000}}, {"b", {1'000'000}}, {"c", {1'000'000}}}, 3 * kNsPerSecond);
  run.hosts[0].sample = [](uint32_t, int64_t ns) { return Loaded(ns, 0.01); };
  run.hosts[0].clock_ahead_ns = 4'711 * kNsPerSecond;
  run.hosts[1].sample = [](uint32_t, int64_t ns) { return Loaded(ns, 0.25); };
  const v1::Report report = Analyze(MakeJournal(run));
  const v1::StepReport& step = report.steps(0);
  ASSERT_EQ(step.load_size(), 2);
  EXPECT_EQ(step.load(0).host(), "a");
  constexpr int64_t kLateNs = 2 * kNsPerMs;
  EXPECT_EQ(step.load(0).sampled_ns(), 3 * kNsPerSecond + kLateNs);
  EXPECT_THAT(step.load(0).offset_ns(),
              ElementsAre(kNsPerSecond + kLateNs, 2 * kNsPerSecond + kLateNs, 3 * kNsPerSecond + kLateNs));
  EXPECT_NEAR(step.load(0).agent_cpu_percent(), 10, 1e-6);
  EXPECT_EQ(step.load(0).bottleneck(), "");
  EXPECT_NEAR(step.load(1).writer_cpu_wait_percent(), 25, 1e-6);
  EXPECT_THAT(step.load(1).bottleneck(), HasSubstr("25.0 % of their time for a CPU"));
  EXPECT_THAT(report.notes(), Contains("b, step 1: the load generator may be CPU-bound: its writers waited 25.0 % of "
                                       "their time for a CPU."));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_DONE) << "a warning, no verdict";
}

TEST(AnalyzerFigures, TheLoadOfAWarmupOfWholeSecondsIsNotThatOfTheStep) {
  SimRun run = RunOf({{"a", {1'000'000}}}, 3 * kNsPerSecond);
  run.warmup_ns = 2 * kNsPerSecond;
  run.hosts[0].steps[0][0] =
      tests::ClosedLoop(run.duration_ns, 0, [](uint64_t, int64_t) { return 1'000'000; }, run.warmup_ns);
  // Its writers have no CPU before the measured start, and all they want afterwards.
  run.hosts[0].sample = [](uint32_t, int64_t ns) {
    v1::HostSample sample = Loaded(ns, 0);
    sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(std::min(ns, 2 * kNsPerSecond)));
    return sample;
  };
  const v1::HostLoadReport load = Analyze(MakeJournal(run)).steps(0).load(0);
  EXPECT_EQ(load.writer_cpu_wait_percent(), 0);
  EXPECT_EQ(load.bottleneck(), "");
  EXPECT_EQ(load.sampled_ns(), 3 * kNsPerSecond);
}

TEST(AnalyzerFigures, AFullRingIsABottleneckToo) {
  SimRun run = RunOf({{"a", {1'000'000}}}, 2 * kNsPerSecond);
  run.hosts[0].sample = [](uint32_t, int64_t ns) { return Loaded(ns, 0); };
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  for (v1::JournalRecord& record : journal) {
    if (!record.has_frames() || record.frames().frames(0).first_interval() != 2) continue;
    record.mutable_frames()->mutable_frames(0)->set_ring_full_waits(3);
    record.mutable_frames()->mutable_frames(0)->set_ring_full_wait_ns(20 * kNsPerMs);
  }
  const v1::Report report = Analyze(journal);
  EXPECT_THAT(report.steps(0).load(0).bottleneck(), HasSubstr("1.00 % of its time for the recorder"));
  EXPECT_EQ(report.verdict().outcome(), v1::OUTCOME_INCONCLUSIVE);
}

TEST(AnalyzerFigures, ASampleThatGoesBackIsLeftOutAndSaid) {
  SimRun run = RunOf({{"a", {1'000'000}}}, 3 * kNsPerSecond);
  run.hosts[0].sample = [](uint32_t, int64_t ns) { return Loaded(ns, 0); };
  std::vector<v1::JournalRecord> journal = MakeJournal(run);
  v1::JournalRecord* last = nullptr;
  for (v1::JournalRecord& record : journal) last = record.frames().has_sample() ? &record : last;
  last->mutable_frames()->mutable_sample()->set_time_ns(last->frames().sample().time_ns() - kNsPerSecond);
  const v1::Report report = Analyze(journal);
  EXPECT_EQ(report.steps(0).load(0).offset_ns_size(), 2);
  EXPECT_THAT(report.verdict().reasons(),
              Contains("Left out: a sample of a, step 1: it is not later than the one before."));
}

// The kinds of series that a report of three writers on two hosts for two seconds, each second and a closing row, has.
std::vector<v1::ScopeKind> KindsOfSeries(uint64_t series_rows, std::vector<std::string>& notes) {
  Analyzer analyzer(series_rows);
  const SimRun run = RunOf({{"alpha", {1'000'000, 8'000'000}}, {"beta", {4'000'000}}}, 2 * kNsPerSecond);
  for (const v1::JournalRecord& record : MakeJournal(run)) analyzer.Add(record);
  const v1::Report report = analyzer.Finish();
  notes.assign(report.notes().begin(), report.notes().end());
  std::vector<v1::ScopeKind> kinds;
  for (const v1::SeriesReport& series : report.steps(0).series()) kinds.push_back(series.kind());
  return kinds;
}

TEST(AnalyzerFigures, SeriesThatAreTooLongAreLeftOutThoseOfSingleQmsFirstAndSaid) {
  constexpr uint64_t kCluster = 3;
  constexpr uint64_t kHostsAndStorages = kCluster + 4 * 3;
  constexpr uint64_t kAll = kHostsAndStorages + 3 * 3;
  std::vector<std::string> notes;
  EXPECT_THAT(KindsOfSeries(kAll, notes), Contains(v1::SCOPE_KIND_QM).Times(3));
  EXPECT_THAT(notes, Each(Not(HasSubstr("left out"))));

  EXPECT_THAT(KindsOfSeries(kAll - 1, notes), UnorderedElementsAre(v1::SCOPE_KIND_CLUSTER, v1::SCOPE_KIND_STORAGE,
                                                                   v1::SCOPE_KIND_HOST, v1::SCOPE_KIND_HOST));
  EXPECT_THAT(notes,
              Contains("step 1: the per-second series of single QMs are left out: they would have more than 23 rows."));

  EXPECT_THAT(KindsOfSeries(kHostsAndStorages - 1, notes), ElementsAre(v1::SCOPE_KIND_CLUSTER));
  EXPECT_THAT(
      notes,
      Contains(
          "step 1: the per-second series of single hosts and QMs are left out: they would have more than 14 rows."));

  EXPECT_THAT(KindsOfSeries(kCluster - 1, notes), IsEmpty());
  EXPECT_THAT(notes, Contains("step 1: the per-second series are left out: they would have more than 2 rows."));
}

}  // namespace
}  // namespace plimsoll
