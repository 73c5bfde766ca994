#include "controller/analysis/live_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "controller/analysis/analyzer.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

constexpr int64_t kRunNs = 5 * kNsPerSecond;

// An analyser with the records that had come `at_ns` after the measured start of the first step.
class LiveRun {
 public:
  LiveRun(const SimRun& run, int64_t at_ns) {
    for (const v1::JournalRecord& record : tests::MakeJournal(run)) {
      if (record.has_step_begin() && start_ns_ == 0) start_ns_ = record.step_begin().start_ns() + run.warmup_ns;
      if (start_ns_ != 0 && record.time_ns() > start_ns_ + at_ns) break;
      analyzer_.Add(record);
    }
    now_ns_ = start_ns_ + at_ns;
  }

  LiveSnapshot Shown(int64_t after = -1) const { return analyzer_.Live(now_ns_, after); }
  std::vector<LiveCriterion> Criteria() const { return analyzer_.LiveCriteria(); }

 private:
  Analyzer analyzer_;
  int64_t start_ns_ = 0;
  int64_t now_ns_ = 0;
};

LiveSnapshot At(const SimRun& run, int64_t at_ns) {
  return LiveRun(run, at_ns).Shown();
}

// A writer whose one write hangs from `from_ns` on.
void HangFrom(int64_t from_ns, int64_t until_ns, tests::SimWriter& writes) {
  std::erase_if(writes,
                [&](const tests::SimWrite& write) { return write.end_ns() > from_ns && write.start_ns < until_ns; });
  writes.push_back({from_ns, until_ns - from_ns});
  std::sort(writes.begin(), writes.end(),
            [](const tests::SimWrite& a, const tests::SimWrite& b) { return a.start_ns < b.start_ns; });
}

TEST(LiveStats, ShowsTheLastWholeSecondOfEachHost) {
  const LiveSnapshot shown = At(TwoHosts(kRunNs), 3'300 * kNsPerMs);
  EXPECT_EQ(shown.step, 1);
  EXPECT_EQ(shown.elapsed_ns, 3'300 * kNsPerMs);
  ASSERT_THAT(shown.seconds, SizeIs(3));
  ASSERT_THAT(shown.hosts, SizeIs(2));
  EXPECT_EQ(shown.hosts[1].label, "beta");
  EXPECT_NEAR(shown.hosts[1].figures.iops, 1500, 2);
  EXPECT_NEAR(shown.hosts[1].figures.mb_per_second, 6.144, 0.01);
  EXPECT_EQ(shown.hosts[1].figures.max_ns, 1'999'000);
  EXPECT_NEAR(shown.seconds.back().cluster.iops, 3000, 4);
}

TEST(LiveStats, WithATargetRateLatenciesAreResponseTimes) {
  SimRun run = TwoHosts(kRunNs);
  for (SimHost& host : run.hosts) {
    host.rate_per_second = 500;
    host.schedule_lag_ns = 50 * kNsPerMs;
  }
  const LiveSnapshot shown = At(run, 3'300 * kNsPerMs);
  EXPECT_TRUE(shown.response_times);
  EXPECT_EQ(shown.hosts[1].figures.max_ns, 51'999'000);
  EXPECT_GT(shown.seconds.back().cluster.p50_ns, 50'000'000U);
  EXPECT_FALSE(At(TwoHosts(kRunNs), 3'300 * kNsPerMs).response_times);
}

TEST(LiveStats, EverySecondHasTheFiguresOfTheReportAndTheLastOneIsShown) {
  SimRun run = TwoHosts(kRunNs + 500 * kNsPerMs);
  const std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  const v1::Report report = tests::Analyze(records);
  const v1::SeriesReport& series = tests::Series(report.steps(0), v1::SCOPE_KIND_CLUSTER);
  // All that came before the step's end was recorded.
  Analyzer analyzer;
  int64_t now_ns = 0;
  for (const v1::JournalRecord& record : records) {
    if (record.has_step_end()) break;
    analyzer.Add(record);
    now_ns = record.time_ns();
  }
  const LiveSnapshot shown = analyzer.Live(now_ns, -1);
  ASSERT_THAT(shown.seconds, SizeIs(6));
  ASSERT_EQ(series.writes_size(), 6);
  for (int i = 0; i < 6; ++i) {
    const LiveSecond& second = shown.seconds[static_cast<size_t>(i)];
    EXPECT_EQ(second.cluster.writes, series.writes(i)) << i;
    EXPECT_EQ(second.cluster.p50_ns, series.p50_ns(i)) << i;
    EXPECT_EQ(second.cluster.p99_ns, series.p99_ns(i)) << i;
    EXPECT_EQ(second.cluster.max_ns, series.latency_max_ns(i)) << i;
  }
  // The last one is half a second long.
  EXPECT_EQ(shown.seconds.back().end_ns, 5'500 * kNsPerMs);
  EXPECT_NEAR(shown.seconds.back().cluster.iops, 3000, 10);
}

TEST(LiveStats, SecondsThatAreKnownAreNotGivenAgain) {
  const LiveRun run(TwoHosts(kRunNs), 3'300 * kNsPerMs);
  EXPECT_THAT(run.Shown(1).seconds, SizeIs(1));
  EXPECT_THAT(run.Shown(2).seconds, IsEmpty());
  EXPECT_NEAR(run.Shown(2).hosts[0].figures.iops, 1500, 2);
}

TEST(LiveStats, TheWarmUpHasFigures) {
  SimRun run = TwoHosts(2 * kNsPerSecond);
  run.warmup_ns = 2 * kNsPerSecond;
  for (SimHost& host : run.hosts) {
    for (tests::SimWriter& writer : host.steps[0]) {
      writer = tests::ClosedLoop(run.duration_ns, 0, [](uint64_t, int64_t) { return 1'000'000; }, run.warmup_ns);
    }
  }
  const LiveSnapshot shown = At(run, -600 * kNsPerMs);
  EXPECT_EQ(shown.elapsed_ns, -600 * kNsPerMs);
  ASSERT_THAT(shown.seconds, SizeIs(1));
  EXPECT_TRUE(shown.seconds[0].warmup);
  EXPECT_NEAR(shown.seconds[0].cluster.iops, 4000, 8);
  EXPECT_EQ(shown.seconds[0].cluster.p99_ns, 1'000'000);
  EXPECT_NEAR(shown.hosts[0].figures.iops, 2000, 4);
  // It is followed by the measured seconds.
  const LiveSnapshot later = At(run, 1'400 * kNsPerMs);
  ASSERT_THAT(later.seconds, SizeIs(3));
  EXPECT_TRUE(later.seconds[1].warmup);
  EXPECT_FALSE(later.seconds[2].warmup);
  EXPECT_EQ(later.seconds[2].end_ns, kNsPerSecond);
}

TEST(LiveStats, ASilentHostKeepsNobodyElsesFiguresBack) {
  SimRun run = TwoHosts(kRunNs);
  run.hosts[1].lost_after_ns = kNsPerSecond;
  const LiveSnapshot shown = At(run, 4'800 * kNsPerMs);
  ASSERT_THAT(shown.seconds, SizeIs(4));
  EXPECT_NEAR(shown.seconds.back().cluster.iops, 1500, 2);
  EXPECT_TRUE(shown.hosts[0].has_figures);
  EXPECT_FALSE(shown.hosts[1].has_figures);
  EXPECT_EQ(shown.seconds.back().worst_host, "alpha");
  EXPECT_EQ(shown.seconds[0].missing_host, "");
  EXPECT_EQ(shown.seconds.back().missing_host, "beta");
}

TEST(LiveStats, AWriteThatHangsGrowsOlder) {
  SimRun run = TwoHosts(kRunNs);
  HangFrom(kNsPerSecond, 100 * kNsPerSecond, run.hosts[0].steps[0][0]);
  EXPECT_NEAR(static_cast<double>(At(run, 3'300 * kNsPerMs).hosts[0].oldest_write_ns), 2.3e9, 0.02e9);
  const LiveSnapshot later = At(run, 4'300 * kNsPerMs);
  EXPECT_NEAR(static_cast<double>(later.hosts[0].oldest_write_ns), 3.3e9, 0.02e9);
  EXPECT_EQ(later.hosts[0].oldest_write_qm, 1);
  ASSERT_THAT(later.stalls, SizeIs(1));
  EXPECT_TRUE(later.stalls[0].open);
  EXPECT_THAT(later.stalls[0].names, ElementsAre("alpha/qm1"));
}

TEST(LiveStats, StallsThatOverlapAreOne) {
  SimRun run = TwoHosts(kRunNs);
  HangFrom(kNsPerSecond, 1'500 * kNsPerMs, run.hosts[0].steps[0][0]);
  HangFrom(1'200 * kNsPerMs, 1'600 * kNsPerMs, run.hosts[1].steps[0][1]);
  HangFrom(3'000 * kNsPerMs, 3'200 * kNsPerMs, run.hosts[1].steps[0][0]);
  const LiveSnapshot shown = At(run, 4'300 * kNsPerMs);
  ASSERT_THAT(shown.stalls, SizeIs(2));
  EXPECT_THAT(shown.stalls[0].names, ElementsAre("alpha/qm1", "beta/qm2"));
  EXPECT_EQ(shown.stalls[0].hosts, 2);
  EXPECT_FALSE(shown.stalls[0].open);
  EXPECT_NEAR(static_cast<double>(shown.stalls[0].begin_ns), 1e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(shown.stalls[0].end_ns), 1.6e9, 0.01e9);
  EXPECT_THAT(shown.stalls[1].names, ElementsAre("beta/qm1"));
}

TEST(LiveStats, CriteriaHaveTheStateThatTheFiguresSoFarGiveThem) {
  SimRun run = TwoHosts(kRunNs);
  run.criteria = {"p99<10ms", "max<1ms", "p99.99<1s", "stalls==0", "longest_stall<1s", "steady"};
  HangFrom(kNsPerSecond, 1'500 * kNsPerMs, run.hosts[0].steps[0][0]);
  const std::vector<LiveCriterion> criteria = LiveRun(run, 4'300 * kNsPerMs).Criteria();
  ASSERT_THAT(criteria, SizeIs(6));
  EXPECT_EQ(criteria[0].state, LiveState::kPassing);
  EXPECT_EQ(criteria[1].state, LiveState::kFailing);
  EXPECT_EQ(criteria[1].value, "500.000 ms");
  EXPECT_EQ(criteria[1].place, "step 1, alpha/qm1");
  // Too few writes, and a figure that only the whole step has.
  EXPECT_EQ(criteria[2].state, LiveState::kUndecided);
  EXPECT_EQ(criteria[3].state, LiveState::kFailing);
  EXPECT_EQ(criteria[4].state, LiveState::kPassing);
  EXPECT_EQ(criteria[5].state, LiveState::kUndecided);
}

// Seconds that a lost host did not live to see are whole seconds of the others, and the cluster's first second is whole
// once each host has passed it.
TEST(LiveStats, TheWorstSecondIsThatOfTheHostsThatStillRun) {
  SimRun run = TwoHosts(kRunNs);
  run.criteria = {"min_second_iops>=1000"};
  run.hosts[1].lost_after_ns = 1'500 * kNsPerMs;
  for (tests::SimWriter& writer : run.hosts[0].steps[0]) HangFrom(3 * kNsPerSecond, 4'200 * kNsPerMs, writer);
  // The builder reports the loss at the step's end.
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  const auto lost = std::find_if(records.begin(), records.end(),
                                 [](const v1::JournalRecord& record) { return record.has_host_lost(); });
  ASSERT_NE(lost, records.end());
  Analyzer analyzer;
  int64_t start_ns = 0;
  for (const v1::JournalRecord& record : records) {
    if (record.has_step_begin()) start_ns = record.step_begin().start_ns();
    if (start_ns != 0 && record.time_ns() > start_ns + 4'400 * kNsPerMs) break;
    analyzer.Add(record);
  }
  // The later seconds of a host that may go on are not known.
  EXPECT_NE(analyzer.LiveCriteria()[0].value, "0.00 writes/s");
  v1::JournalRecord loss = *lost;
  loss.set_time_ns(start_ns + 4'400 * kNsPerMs);
  analyzer.Add(loss);
  EXPECT_EQ(analyzer.LiveCriteria()[0].value, "0.00 writes/s");

  // At the start one host's frames come before the other's.
  SimRun late = TwoHosts(kRunNs);
  late.criteria = {"min_second_iops@cluster>=2500"};
  Analyzer first;
  for (const v1::JournalRecord& record : tests::MakeJournal(late)) {
    if (record.has_step_begin()) start_ns = record.step_begin().start_ns();
    if (record.has_frames() && record.frames().host() == 1) continue;
    if (record.has_frames() && record.time_ns() > start_ns + 1'400 * kNsPerMs) break;
    first.Add(record);
  }
  EXPECT_EQ(first.LiveCriteria()[0].state, LiveState::kUndecided);
}

// A host that ended the step, and reported nothing of a writer, leaves a criterion undecided that the report cannot
// decide either.
TEST(LiveStats, AWriterThatReportedNothingIsMissing) {
  SimRun run = TwoHosts(2 * kNsPerSecond);
  run.criteria = {"max@host<10ms"};
  Analyzer analyzer;
  std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  for (v1::JournalRecord& record : records) {
    if (record.has_step_end()) break;
    const auto of_silent = [](const auto& item) { return item.qm() == 2; };
    if (record.has_frames() && record.frames().host() == 1) {
      auto& frames = *record.mutable_frames()->mutable_frames();
      frames.erase(std::remove_if(frames.begin(), frames.end(), of_silent), frames.end());
    }
    if (record.has_step_done() && record.step_done().host() == 1) {
      auto& writers = *record.mutable_step_done()->mutable_done()->mutable_writers();
      writers.erase(std::remove_if(writers.begin(), writers.end(), of_silent), writers.end());
    }
    analyzer.Add(record);
  }
  EXPECT_EQ(analyzer.LiveCriteria()[0].state, LiveState::kUndecided);
}

TEST(LiveStats, WhatWaitingForACpuMayExplainIsNotShownAsFailing) {
  for (const bool busy : {true, false}) {
    SimRun run = TwoHosts(3 * kNsPerSecond);
    run.criteria = {"p50<900us", "longest_stall<150ms"};
    HangFrom(kNsPerSecond, 1'200 * kNsPerMs, run.hosts[0].steps[0][0]);
    if (busy) {
      run.hosts[0].sample = [](uint32_t, int64_t since_start_ns) {
        v1::HostSample sample;
        sample.set_writer_cpu_wait_ns(static_cast<uint64_t>(since_start_ns) / 2);
        return sample;
      };
      run.hosts[1].sample = run.hosts[0].sample;
    }
    for (const LiveCriterion& criterion : LiveRun(run, 2'500 * kNsPerMs).Criteria()) {
      EXPECT_EQ(criterion.state, busy ? LiveState::kUndecided : LiveState::kFailing) << criterion.text;
    }
  }
}

TEST(LiveStats, LookingChangesNothingInTheReport) {
  SimRun run = TwoHosts(3 * kNsPerSecond);
  run.criteria = {"p99<10ms", "stalls==0", "iops>=1000"};
  HangFrom(kNsPerSecond, 1'500 * kNsPerMs, run.hosts[0].steps[0][0]);
  const std::vector<v1::JournalRecord> records = tests::MakeJournal(run);
  Analyzer analyzer;
  for (const v1::JournalRecord& record : records) {
    analyzer.Add(record);
    analyzer.Live(record.time_ns(), -1);
    analyzer.LiveCriteria();
  }
  EXPECT_EQ(analyzer.Finish().SerializeAsString(), tests::Analyze(records).SerializeAsString());
}

TEST(LiveStats, BeforeTheFirstStepThereAreOnlyTheHosts) {
  Analyzer analyzer;
  EXPECT_EQ(analyzer.Live(1'000, -1).step, 0);
  EXPECT_THAT(analyzer.LiveCriteria(), IsEmpty());
  const std::vector<v1::JournalRecord> records = tests::MakeJournal(TwoHosts(kRunNs));
  for (int i = 0; i < 3; ++i) analyzer.Add(records[static_cast<size_t>(i)]);
  EXPECT_THAT(analyzer.Live(records[2].time_ns(), -1).hosts, SizeIs(2));
}

}  // namespace
}  // namespace plimsoll
