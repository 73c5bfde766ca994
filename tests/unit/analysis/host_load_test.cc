#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/units.h"
#include "controller/analysis/bottleneck.h"
#include "controller/analysis/host_facts.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr int64_t kStartNs = 1'000 * kNsPerSecond;

// A sample so long after the step's start.
v1::HostSample At(int64_t since_start_ns) {
  v1::HostSample sample;
  sample.set_time_ns(kStartNs + since_start_ns);
  return sample;
}

v1::HostSample Cpu(int64_t since_start_ns, uint64_t agent_ms, uint64_t wait_ms) {
  v1::HostSample sample = At(since_start_ns);
  sample.set_agent_cpu_ns(agent_ms * kNsPerMs);
  sample.set_writer_cpu_wait_ns(wait_ms * kNsPerMs);
  return sample;
}

class HostLoadTest : public ::testing::Test {
 protected:
  v1::HostLoadReport Of(const std::vector<v1::HostSample>& samples, int64_t warmup_ns = 0, uint32_t writers = 2,
                        bool reads = false) {
    HostLoad load(kStartNs, kStartNs + warmup_ns, writers, reads);
    for (const v1::HostSample& sample : samples) EXPECT_THAT(load.Add(sample, rows_left_), IsOk());
    return load.Make();
  }

  uint64_t rows_left_ = 100;
};

TEST_F(HostLoadTest, CpuIsInPercentOfOneAndWaitsAreInPercentOfTheWritersTime) {
  const v1::HostLoadReport load = Of({Cpu(kNsPerSecond, 300, 40), Cpu(2 * kNsPerSecond, 1'500, 240)});
  EXPECT_EQ(load.sampled_ns(), 2 * kNsPerSecond);
  EXPECT_DOUBLE_EQ(load.agent_cpu_percent(), 75);
  EXPECT_DOUBLE_EQ(load.writer_cpu_wait_percent(), 6);
  EXPECT_THAT(load.agent_cpu(), ElementsAre(DoubleEq(30), DoubleEq(120)));
  EXPECT_THAT(load.writer_cpu_wait(), ElementsAre(DoubleEq(2), DoubleEq(10)));
  EXPECT_THAT(load.offset_ns(), ElementsAre(kNsPerSecond, 2 * kNsPerSecond));
  EXPECT_FALSE(load.has_disk());
  EXPECT_FALSE(load.has_nfs());
  EXPECT_EQ(load.disk_write_ms_size(), 0);
}

TEST_F(HostLoadTest, TheWarmupIsLeftOutAsFarAsASampleSeparatesIt) {
  const v1::HostLoadReport load =
      Of({Cpu(kNsPerSecond, 900, 0), Cpu(2 * kNsPerSecond, 1'800, 0), Cpu(3 * kNsPerSecond, 1'900, 0)},
         kNsPerSecond * 5 / 2);
  EXPECT_EQ(load.sampled_ns(), kNsPerSecond);
  EXPECT_DOUBLE_EQ(load.agent_cpu_percent(), 10);
  EXPECT_THAT(load.offset_ns(), ElementsAre(kNsPerSecond / 2));
}

TEST_F(HostLoadTest, AWarmupOfWholeSecondsIsLeftOutThoughSamplesComeALittleLater) {
  const int64_t late_ns = 2 * kNsPerMs;
  const v1::HostLoadReport load = Of({Cpu(kNsPerSecond + late_ns, 900, 0), Cpu(2 * kNsPerSecond + late_ns, 1'800, 0),
                                      Cpu(3 * kNsPerSecond + late_ns, 1'900, 0)},
                                     2 * kNsPerSecond);
  EXPECT_EQ(load.sampled_ns(), kNsPerSecond);
  EXPECT_DOUBLE_EQ(load.agent_cpu_percent(), 10);
  EXPECT_THAT(load.offset_ns(), ElementsAre(kNsPerSecond + late_ns));
}

TEST_F(HostLoadTest, APauseAcrossTheMeasuredStartCountsWhateverItsSampleDoes) {
  v1::HostSample sample = Cpu(kNsPerSecond + 2 * kNsPerMs, 900, 0);
  sample.set_recorder_late_max_ns(400 * kNsPerMs);
  v1::RecorderPause& pause = *sample.add_pauses();
  pause.set_begin_ns(kStartNs + kNsPerSecond - 100 * kNsPerMs);
  pause.set_end_ns(kStartNs + kNsPerSecond + kNsPerMs);
  const v1::HostLoadReport load = Of({sample, Cpu(2 * kNsPerSecond, 1'000, 0)}, kNsPerSecond);
  EXPECT_EQ(load.pauses(), 1);
  EXPECT_EQ(load.recorder_late_max_ns(), 101 * kNsPerMs);
}

TEST_F(HostLoadTest, WhatIsLeftAfterTheLastSecondHasNoRowButCounts) {
  const v1::HostLoadReport load = Of({Cpu(kNsPerSecond, 100, 0), Cpu(kNsPerSecond + 3 * kNsPerMs, 103, 0)});
  EXPECT_THAT(load.offset_ns(), ElementsAre(kNsPerSecond));
  EXPECT_EQ(load.sampled_ns(), kNsPerSecond + 3 * kNsPerMs);
  EXPECT_NEAR(load.agent_cpu_percent(), 100 * 103 / 1003.0, 1e-9);
}

TEST_F(HostLoadTest, AMissingSampleMakesALongerRow) {
  const v1::HostLoadReport load = Of({Cpu(kNsPerSecond, 100, 0), Cpu(4 * kNsPerSecond, 700, 0)});
  EXPECT_THAT(load.agent_cpu(), ElementsAre(DoubleEq(10), DoubleEq(20)));
}

TEST_F(HostLoadTest, DiskFiguresAreOfWhatWasDoneInTheStep) {
  const auto disk = [](int64_t second, uint64_t writes, uint64_t flushes) {
    v1::HostSample sample = At(second * kNsPerSecond);
    v1::DiskCounters& counters = *sample.mutable_disk();
    counters.set_device("sda1");
    counters.set_writes(writes);
    counters.set_written_bytes(writes * 4096);
    counters.set_write_time_ms(writes * 2);
    counters.set_flushes(flushes);
    counters.set_flush_time_ms(flushes * 7);
    counters.set_busy_ms(writes / 2);
    return sample;
  };
  const v1::HostLoadReport load = Of({disk(1, 1'000, 0), At(2 * kNsPerSecond), disk(3, 2'000, 10)});
  EXPECT_EQ(load.disk().device(), "sda1");
  EXPECT_EQ(load.disk().writes(), 2'000);
  EXPECT_EQ(load.disk().written_bytes(), 2'000 * 4096);
  EXPECT_DOUBLE_EQ(load.disk().write_ms(), 2);
  EXPECT_DOUBLE_EQ(load.disk().flush_ms(), 7);
  EXPECT_NEAR(load.disk().busy_percent(), 100.0 / 3, 1e-9);
  EXPECT_THAT(load.disk_write_ms(), ElementsAre(DoubleEq(2), DoubleEq(0), DoubleEq(2)));
  EXPECT_THAT(load.disk_busy(), ElementsAre(DoubleEq(50), DoubleEq(0), DoubleEq(50)));
}

TEST_F(HostLoadTest, NfsFiguresAreOfOneOperationOnAverage) {
  const auto nfs = [](int64_t second, uint64_t writes, uint64_t again) {
    v1::HostSample sample = At(second * kNsPerSecond);
    v1::NfsOperation& write = *sample.mutable_nfs()->mutable_write();
    write.set_operations(writes);
    write.set_transmissions(writes + again);
    write.set_timeouts(again);
    write.set_queue_ms(writes);
    write.set_round_trip_ms(writes * 3);
    write.set_execute_ms(writes * 4);
    sample.mutable_nfs()->mutable_commit()->set_operations(5);
    sample.mutable_nfs()->mutable_commit()->set_transmissions(6);
    return sample;
  };
  const v1::HostLoadReport load = Of({nfs(1, 100, 0), nfs(2, 300, 2)});
  EXPECT_EQ(load.nfs().write().operations(), 300);
  EXPECT_EQ(load.nfs().write().retransmits(), 2);
  EXPECT_EQ(load.nfs().write().timeouts(), 2);
  EXPECT_DOUBLE_EQ(load.nfs().write().queue_ms(), 1);
  EXPECT_DOUBLE_EQ(load.nfs().write().round_trip_ms(), 3);
  EXPECT_DOUBLE_EQ(load.nfs().write().execute_ms(), 4);
  EXPECT_EQ(load.nfs().commit().retransmits(), 1);
  EXPECT_DOUBLE_EQ(load.nfs().commit().execute_ms(), 0);
  EXPECT_THAT(load.nfs_retransmits(), ElementsAre(1, 2));
  EXPECT_THAT(load.nfs_round_trip_ms(), ElementsAre(DoubleEq(3), DoubleEq(3)));
}

// Samples of a step whose kernel reads.
std::vector<v1::HostSample> SamplesWithReads() {
  const auto sampled = [](int64_t second, uint64_t reads) {
    v1::HostSample sample = At(second * kNsPerSecond);
    v1::DiskCounters& disk = *sample.mutable_disk();
    disk.set_reads(reads);
    disk.set_read_bytes(reads * 512);
    disk.set_read_time_ms(reads * 3);
    v1::NfsOperation& read = *sample.mutable_nfs()->mutable_read();
    read.set_operations(reads);
    read.set_transmissions(reads + 1);
    read.set_round_trip_ms(reads * 5);
    read.set_execute_ms(reads * 6);
    return sample;
  };
  return {sampled(1, 100), At(2 * kNsPerSecond), sampled(3, 300)};
}

TEST_F(HostLoadTest, ReadsOfAStepThatReadsAreReported) {
  const v1::HostLoadReport load = Of(SamplesWithReads(), 0, 2, /*reads=*/true);
  EXPECT_EQ(load.disk().reads(), 300);
  EXPECT_EQ(load.disk().read_bytes(), 300 * 512);
  EXPECT_DOUBLE_EQ(load.disk().read_ms(), 3);
  EXPECT_THAT(load.disk_read_ms(), ElementsAre(DoubleEq(3), DoubleEq(0), DoubleEq(3)));
  EXPECT_EQ(load.nfs().read().operations(), 300);
  EXPECT_EQ(load.nfs().read().retransmits(), 1);
  EXPECT_DOUBLE_EQ(load.nfs().read().round_trip_ms(), 5);
  EXPECT_THAT(load.nfs_read_round_trip_ms(), ElementsAre(DoubleEq(5), DoubleEq(0), DoubleEq(5)));
  EXPECT_THAT(load.nfs_read_execute_ms(), ElementsAre(DoubleEq(6), DoubleEq(0), DoubleEq(6)));
  EXPECT_THAT(load.nfs_retransmits(), ElementsAre(0, 0, 0)) << "of WRITE and COMMIT alone";
}

TEST_F(HostLoadTest, ReadsOfAStepThatOnlyWritesAreThoseOfOthersAndAreLeftOut) {
  const v1::HostLoadReport load = Of(SamplesWithReads());
  EXPECT_TRUE(load.has_disk());
  EXPECT_FALSE(load.disk().has_reads());
  EXPECT_FALSE(load.disk().has_read_bytes());
  EXPECT_FALSE(load.disk().has_read_ms());
  EXPECT_FALSE(load.nfs().has_read());
  EXPECT_EQ(load.disk_read_ms_size() + load.nfs_read_round_trip_ms_size() + load.nfs_read_execute_ms_size(), 0);
}

TEST_F(HostLoadTest, ReadsThatAnAgentDoesNotReportAreUnknownAndNot0) {
  v1::HostSample sample = At(kNsPerSecond);
  sample.mutable_disk()->set_writes(10);
  sample.mutable_nfs()->mutable_write()->set_operations(10);
  const v1::HostLoadReport load = Of({sample}, 0, 2, /*reads=*/true);
  EXPECT_EQ(load.disk().writes(), 10);
  EXPECT_FALSE(load.disk().has_reads());
  EXPECT_FALSE(load.disk().has_read_ms());
  EXPECT_FALSE(load.nfs().has_read());
  EXPECT_EQ(load.disk_read_ms_size() + load.nfs_read_round_trip_ms_size() + load.nfs_read_execute_ms_size(), 0);
}

TEST_F(HostLoadTest, RetransmitsBetweenTwoSamplesMayBeOfTheWarmupOrOfTheMeasuredTime) {
  const auto nfs = [](int64_t second, uint64_t writes, uint64_t again) {
    v1::HostSample sample = At(second * kNsPerSecond);
    sample.mutable_nfs()->mutable_write()->set_operations(writes);
    sample.mutable_nfs()->mutable_write()->set_transmissions(writes + again);
    return sample;
  };
  HostLoad load(kStartNs, kStartNs + kNsPerSecond * 5 / 2, 1);
  EXPECT_THAT(load.Add(nfs(1, 100, 1), rows_left_), IsOk());
  EXPECT_THAT(load.Add(nfs(2, 200, 3), rows_left_), IsOk());
  EXPECT_EQ(load.retransmits().most, 0U) << "of the warm-up";
  EXPECT_THAT(load.Add(nfs(3, 300, 7), rows_left_), IsOk());
  EXPECT_EQ(load.retransmits().least, 0U);
  EXPECT_EQ(load.retransmits().most, 4U);
  EXPECT_THAT(load.Add(nfs(4, 400, 15), rows_left_), IsOk());
  EXPECT_EQ(load.retransmits().least, 8U);
  EXPECT_EQ(load.retransmits().most, 12U);
  EXPECT_EQ(load.retransmits().until_ns, kStartNs + 4 * kNsPerSecond);
  // A sample that tells nothing of them moves nothing.
  EXPECT_THAT(load.Add(At(5 * kNsPerSecond), rows_left_), IsOk());
  EXPECT_EQ(load.retransmits().until_ns, kStartNs + 4 * kNsPerSecond);
  EXPECT_FALSE(load.retransmits().went_back);
}

TEST_F(HostLoadTest, RetransmitsOfACounterThatWentBackAreNotKnown) {
  const auto nfs = [](int64_t second, uint64_t operations, uint64_t transmissions) {
    v1::HostSample sample = At(second * kNsPerSecond);
    sample.mutable_nfs()->mutable_commit()->set_operations(operations);
    sample.mutable_nfs()->mutable_commit()->set_transmissions(transmissions);
    return sample;
  };
  // Operations alone went back: what was transmitted meanwhile was not all sent again.
  for (const auto& [operations, transmissions] : {std::pair<uint64_t, uint64_t>{5, 1'000}, {1'000, 5}}) {
    HostLoad load(kStartNs, kStartNs, 1);
    EXPECT_THAT(load.Add(nfs(1, 100, 102), rows_left_), IsOk());
    EXPECT_THAT(load.Add(nfs(2, operations, transmissions), rows_left_), IsOk());
    EXPECT_TRUE(load.retransmits().went_back);
    EXPECT_EQ(load.retransmits().least, 2U);
    EXPECT_EQ(load.retransmits().most, UINT64_MAX);
    EXPECT_EQ(load.Make().nfs().commit().retransmits(), 2U);
  }
}

TEST_F(HostLoadTest, AColumnThatBeginsLateIsAsLongAsTheOthers) {
  v1::HostSample with_disk = At(2 * kNsPerSecond);
  with_disk.mutable_disk()->set_writes(10);
  with_disk.mutable_disk()->set_write_time_ms(50);
  const v1::HostLoadReport load = Of({At(kNsPerSecond), with_disk, At(3 * kNsPerSecond)});
  EXPECT_THAT(load.disk_write_ms(), ElementsAre(DoubleEq(0), DoubleEq(5), DoubleEq(0)));
}

TEST_F(HostLoadTest, LatenessAndPausesAreThoseOfTheMeasuredPart) {
  const auto paused = [](int64_t since_start_ns, int64_t begin_ns, int64_t end_ns) {
    v1::HostSample sample = At(since_start_ns);
    sample.set_recorder_late_max_ns(static_cast<uint64_t>(end_ns - begin_ns));
    v1::RecorderPause& pause = *sample.add_pauses();
    pause.set_begin_ns(kStartNs + begin_ns);
    pause.set_end_ns(kStartNs + end_ns);
    return sample;
  };
  const v1::HostLoadReport load =
      Of({paused(kNsPerSecond, 100, 200'000'000), paused(2 * kNsPerSecond, 1'100, 30'001'100),
          paused(3 * kNsPerSecond, 2 * kNsPerSecond, 2 * kNsPerSecond + 5'000)},
         kNsPerSecond);
  EXPECT_EQ(load.recorder_late_max_ns(), 30'000'000);
  // The second one was over before the measured start.
  EXPECT_EQ(load.pauses(), 1);
  EXPECT_EQ(load.paused_ns(), 5'000);
}

TEST_F(HostLoadTest, NothingIsNegativeAndNothingOverflows) {
  HostLoad load(kStartNs, kStartNs, 0);
  v1::HostSample sample = Cpu(kNsPerSecond, 0, 0);
  sample.set_agent_cpu_ns(UINT64_MAX);
  sample.mutable_disk()->set_writes(UINT64_MAX);
  sample.mutable_disk()->set_busy_ms(UINT64_MAX);
  v1::RecorderPause& pause = *sample.add_pauses();
  pause.set_begin_ns(INT64_MIN);
  pause.set_end_ns(INT64_MAX);
  EXPECT_THAT(load.Add(sample, rows_left_), IsOk());
  EXPECT_FALSE(load.went_back());
  EXPECT_THAT(load.Add(Cpu(2 * kNsPerSecond, 0, 0), rows_left_), IsOk());
  EXPECT_TRUE(load.went_back());
  sample.set_time_ns(kStartNs + 3 * kNsPerSecond);
  EXPECT_THAT(load.Add(sample, rows_left_), IsOk());
  const v1::HostLoadReport report = load.Make();
  EXPECT_EQ(report.disk().writes(), UINT64_MAX);
  EXPECT_EQ(report.disk().busy_percent(), 100);
  EXPECT_EQ(report.pauses(), 0);
  EXPECT_GT(report.agent_cpu_percent(), 0);
  EXPECT_EQ(report.agent_cpu(1), 0);
}

TEST_F(HostLoadTest, ASampleThatIsNotLaterIsRefused) {
  HostLoad load(kStartNs, kStartNs, 1);
  EXPECT_THAT(load.Add(At(-5), rows_left_), IsOk()) << "a step that was stopped before it began";
  EXPECT_TRUE(load.empty());
  EXPECT_THAT(load.Add(At(kNsPerSecond), rows_left_), IsOk());
  EXPECT_FALSE(load.Add(At(kNsPerSecond), rows_left_).ok());
  v1::HostSample insane;
  insane.set_time_ns(INT64_MAX);
  EXPECT_FALSE(load.Add(insane, rows_left_).ok());
  EXPECT_EQ(load.Make().offset_ns_size(), 1);
}

TEST_F(HostLoadTest, WithoutRowsTheFiguresGoOn) {
  rows_left_ = 1;
  HostLoad load(kStartNs, kStartNs, 1);
  EXPECT_THAT(load.Add(Cpu(kNsPerSecond, 100, 0), rows_left_), IsOk());
  EXPECT_FALSE(load.rows_missing());
  EXPECT_THAT(load.Add(Cpu(2 * kNsPerSecond, 500, 0), rows_left_), IsOk());
  EXPECT_TRUE(load.rows_missing());
  EXPECT_EQ(load.Make().offset_ns_size(), 1);
  EXPECT_DOUBLE_EQ(load.Make().agent_cpu_percent(), 25);
}

v1::HostSample Throttled(int64_t since_start_ns, uint64_t throttled_ms) {
  v1::HostSample sample = At(since_start_ns);
  sample.set_throttled_ns(throttled_ms * kNsPerMs);
  return sample;
}

TEST_F(HostLoadTest, ThrottlingIsAShareOfTheTimeOfAllCpusTogether) {
  EXPECT_DOUBLE_EQ(Of({Throttled(kNsPerSecond, 30), Throttled(2 * kNsPerSecond, 240)}).throttled_percent(), 12);
  // The warm-up is left out; and four CPUs that are suspended at once are not suspended for longer than always.
  EXPECT_DOUBLE_EQ(
      Of({Throttled(kNsPerSecond, 900), Throttled(2 * kNsPerSecond, 930)}, kNsPerSecond).throttled_percent(), 3);
  EXPECT_DOUBLE_EQ(Of({Throttled(kNsPerSecond, 3'200)}).throttled_percent(), 100);
}

TEST_F(HostLoadTest, AnAgentThatDoesNotReportThrottlingHasNoShareOfIt) {
  EXPECT_FALSE(Of({Cpu(kNsPerSecond, 100, 0)}).has_throttled_percent());
  // A sample that lacks it takes nothing away.
  const v1::HostLoadReport load =
      Of({Throttled(kNsPerSecond, 100), Cpu(2 * kNsPerSecond, 0, 0), Throttled(3 * kNsPerSecond, 160)});
  ASSERT_TRUE(load.has_throttled_percent());
  EXPECT_NEAR(load.throttled_percent(), 16.0 / 3, 1e-9);
}

TEST_F(HostLoadTest, EachWriterMayHaveBeenThrottledForNoLongerThanTheTimeThatPassed) {
  HostLoad load(kStartNs, kStartNs, 2);
  EXPECT_THAT(load.Add(Throttled(kNsPerSecond, 300), rows_left_), IsOk());
  EXPECT_DOUBLE_EQ(load.MostCpuWaitNs(kStartNs + kNsPerSecond), 2 * 0.3 * kNsPerSecond);
  EXPECT_THAT(load.Add(Throttled(2 * kNsPerSecond, 4'300), rows_left_), IsOk());
  EXPECT_DOUBLE_EQ(load.MostCpuWaitNs(kStartNs + 2 * kNsPerSecond), 2 * 1.3 * kNsPerSecond);
  // A counter that goes back shows nothing.
  EXPECT_THAT(load.Add(Throttled(3 * kNsPerSecond, 100), rows_left_), IsOk());
  EXPECT_EQ(load.MostCpuWaitNs(kStartNs + 3 * kNsPerSecond), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(load.went_back());
}

TEST_F(HostLoadTest, ThrottlingIsNamedAsTheBottleneckFromTheShareOfCpuWaitsOn) {
  v1::HostLoadReport load;
  load.set_throttled_percent(5);
  EXPECT_EQ(BottleneckOf(load, 0), "");
  load.set_throttled_percent(5.1);
  EXPECT_EQ(BottleneckOf(load, 0), "the CPU limit of its cgroup throttled it for 5.1 % of the time");
}

TEST_F(HostLoadTest, TheBottleneckIsNamedFromItsLimitsOn) {
  v1::HostLoadReport load;
  load.set_writer_cpu_wait_percent(5);
  load.set_recorder_late_max_ns(50 * kNsPerMs);
  EXPECT_EQ(BottleneckOf(load, 0), "");
  load.set_writer_cpu_wait_percent(5.1);
  EXPECT_EQ(BottleneckOf(load, 0), "its writers waited 5.1 % of their time for a CPU");
  load.set_recorder_late_max_ns(51 * kNsPerMs);
  EXPECT_THAT(BottleneckOf(load, 0), HasSubstr("; its recorder ran up to 51 ms late"));
  EXPECT_THAT(BottleneckOf(v1::HostLoadReport(), 0.0123), HasSubstr("1.23 % of its time for the recorder"));
}

// From some moment on, a row is the average of a minute, and it is the time that it covers that decides where it
// begins.
TEST_F(HostLoadTest, LaterRowsMayBeMinutes) {
  HostLoad load(kStartNs, kStartNs, 2);
  load.MakeMinutes(60 * kNsPerSecond);
  uint64_t agent_ms = 0;
  for (int64_t second = 1; second <= 190; ++second) {
    agent_ms += second <= 120 ? 100 : 300;
    v1::HostSample sample = Cpu(second * kNsPerSecond + 2 * kNsPerMs, agent_ms, 0);
    sample.mutable_disk()->set_writes(static_cast<uint64_t>(second));
    sample.mutable_disk()->set_write_time_ms(static_cast<uint64_t>(4 * second));
    EXPECT_THAT(load.Add(sample, rows_left_), IsOk());
  }
  const v1::HostLoadReport report = load.Make();
  ASSERT_EQ(report.offset_ns_size(), 60 + 3);
  EXPECT_EQ(report.offset_ns(59), 60 * kNsPerSecond + 2 * kNsPerMs);
  EXPECT_EQ(report.offset_ns(60), 120 * kNsPerSecond + 2 * kNsPerMs);
  EXPECT_EQ(report.offset_ns(61), 180 * kNsPerSecond + 2 * kNsPerMs);
  EXPECT_EQ(report.offset_ns(62), 190 * kNsPerSecond + 2 * kNsPerMs);
  EXPECT_DOUBLE_EQ(report.agent_cpu(60), 10);
  EXPECT_DOUBLE_EQ(report.agent_cpu(61), 30);
  EXPECT_DOUBLE_EQ(report.agent_cpu(62), 30);
  EXPECT_DOUBLE_EQ(report.disk_write_ms(61), 4);
  EXPECT_EQ(report.sampled_ns(), 190 * kNsPerSecond + 2 * kNsPerMs);
  EXPECT_EQ(rows_left_, 100U - 62);
  EXPECT_FALSE(load.rows_missing());
}

}  // namespace
}  // namespace plimsoll
