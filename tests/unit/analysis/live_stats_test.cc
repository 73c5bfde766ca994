#include "controller/analysis/live_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

using testing::SimHost;
using testing::SimRun;

SimRun TwoHosts() {
  SimRun run;
  run.duration_ns = 5 * kNsPerSecond;
  for (const char* label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.steps = {{testing::Steady(run.duration_ns, 999'000), testing::Steady(run.duration_ns, 1'999'000)}};
    run.hosts.push_back(host);
  }
  return run;
}

// What is shown `at_ns` after the measured start, from the records that had come by then.
LiveSnapshot At(const SimRun& run, int64_t at_ns) {
  LiveStats stats;
  int64_t start_ns = INT64_MAX / 2;
  for (const v1::JournalRecord& record : testing::MakeJournal(run)) {
    if (record.has_step_begin()) start_ns = record.step_begin().start_ns() + run.warmup_ns;
    if (record.time_ns() > start_ns + at_ns) break;
    stats.Add(record);
  }
  return stats.Snapshot(start_ns + at_ns);
}

TEST(LiveStats, ShowsTheLastWholeSecondOfEachHost) {
  const LiveSnapshot snapshot = At(TwoHosts(), 3'300 * kNsPerMs);
  EXPECT_EQ(snapshot.step, 1);
  EXPECT_EQ(snapshot.elapsed_ns, 3'300 * kNsPerMs);
  ASSERT_EQ(snapshot.hosts.size(), 2);
  EXPECT_EQ(snapshot.hosts[1].label, "beta");
  EXPECT_NEAR(snapshot.hosts[1].iops, 1500, 2);
  EXPECT_NEAR(snapshot.hosts[1].mb_per_second, 6.144, 0.01);
  EXPECT_EQ(snapshot.hosts[1].max_latency_ns, 1'999'000);
  EXPECT_NEAR(static_cast<double>(snapshot.hosts[1].writes), 1500 * 3.25, 5);
  EXPECT_NEAR(snapshot.cluster.iops, 3000, 4);
}

TEST(LiveStats, ShowsTheFirstSecondAsFarAsItHasCome) {
  EXPECT_NEAR(At(TwoHosts(), 510 * kNsPerMs).hosts[0].iops, 1500, 50);
}

TEST(LiveStats, AHostThatIsNotHeardOfShowsNothing) {
  SimRun run = TwoHosts();
  run.hosts[1].lost_after_ns = kNsPerSecond;
  const LiveSnapshot snapshot = At(run, 4'300 * kNsPerMs);
  EXPECT_GT(snapshot.hosts[0].iops, 0);
  EXPECT_EQ(snapshot.hosts[1].iops, 0);
  EXPECT_NEAR(static_cast<double>(snapshot.hosts[1].writes), 1500, 3);
}

TEST(LiveStats, AWriteThatHangsGrowsOlder) {
  SimRun run = TwoHosts();
  testing::SimWriter& writes = run.hosts[0].steps[0][0];
  std::erase_if(writes, [](const testing::SimWrite& write) { return write.start_ns >= kNsPerSecond; });
  writes.push_back({kNsPerSecond, 100 * kNsPerSecond});
  EXPECT_NEAR(static_cast<double>(At(run, 3'300 * kNsPerMs).hosts[0].longest_in_flight_ns), 2.3e9, 0.02e9);
  EXPECT_NEAR(static_cast<double>(At(run, 4'300 * kNsPerMs).cluster.longest_in_flight_ns), 3.3e9, 0.02e9);
}

TEST(LiveStats, BeforeTheFirstStepThereIsNothingToShow) {
  LiveStats stats;
  EXPECT_EQ(stats.Snapshot(1'000).step, 0);
  stats.Add(testing::MakeJournal(TwoHosts())[0]);
  EXPECT_TRUE(stats.Snapshot(1'000).hosts.empty());
}

}  // namespace
}  // namespace plimsoll
