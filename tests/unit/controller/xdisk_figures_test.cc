#include "controller/xdisk/xdisk_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/histogram.h"
#include "common/units.h"
#include "controller/xdisk/xdisk_intervals.h"
#include "controller/xdisk/xdisk_output.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"

namespace plimsoll {
namespace {

TEST(XdiskBuckets, AreLabelledByTheirLowerEnds) {
  EXPECT_EQ(XdiskBucketOf(0), 0U);
  EXPECT_EQ(XdiskBucketOf(999), 0U);
  EXPECT_EQ(XdiskBucketOf(1'000), 1U);
  EXPECT_EQ(XdiskBucketOf(1'999), 1U);
  EXPECT_EQ(XdiskBucketOf(2'000), 2U);
  EXPECT_EQ(XdiskBucketOf(128'000), 8U);
  EXPECT_EQ(XdiskBucketOf(1'023'999), 10U);
  EXPECT_EQ(XdiskBucketOf(1'024'000), 11U);
  EXPECT_EQ(XdiskBucketOf(1'048'575'999), 20U);
  EXPECT_EQ(XdiskBucketOf(1'048'576'000), 21U);
  EXPECT_EQ(XdiskBucketOf(UINT64_MAX), 21U);
}

// The guide's example of the weighted average.
TEST(XdiskSides, WeighAsTheGuideDoes) {
  Histogram histogram;
  histogram.RecordN(5'000'000, 90);
  histogram.RecordN(6'000'000, 80);
  histogram.RecordN(500'000'000, 2);
  const XdiskSide side = XdiskSideOf(histogram, 17.2);
  EXPECT_EQ(FormatXdiskNumber(side.avg_ns / 1e6), "11.2");
  EXPECT_NEAR(side.weighted_avg_ns / 1e6, 5.55, 0.05);
  EXPECT_EQ(side.buckets[XdiskBucketOf(5'000'000)], 170U);
}

TEST(XdiskDevices, AddUpOverHosts) {
  XdiskDevices all;
  all.Add({"sda", 100, 4096, 1, 10, 2, 50});
  all.Add({});
  all.Add({"sdb", 300, 4096, 2, 0, 0, 70});
  all.Add({"sda", 0, 0, 0, 0, 0, 1});
  EXPECT_EQ(all.name, "sda,sdb");
  EXPECT_EQ(all.writes_per_second, 400);
  EXPECT_EQ(all.bytes_per_second, 8192);
  EXPECT_EQ(all.write_ms, 1.75);
  EXPECT_EQ(all.flush_ms, 2);
  EXPECT_EQ(all.busy_percent, 70);
}

TEST(XdiskDevices, HaveReadsIfThoseOfAllHostsAreKnown) {
  XdiskDevices reading{"sda", 0, 0, 0, 0, 0, 50};
  reading.reads = XdiskDeviceReads{100, 4096, 1};
  XdiskDevices all;
  all.Add({});
  all.Add(reading);
  reading.reads = XdiskDeviceReads{300, 4096, 2};
  all.Add(reading);
  ASSERT_TRUE(all.reads.has_value());
  EXPECT_EQ(all.reads->per_second, 400);
  EXPECT_EQ(all.reads->bytes_per_second, 8192);
  EXPECT_EQ(all.reads->read_ms, 1.75);
  all.Add({"sdb", 0, 0, 0, 0, 0, 50});
  EXPECT_FALSE(all.reads.has_value());
  all.Add(reading);
  EXPECT_FALSE(all.reads.has_value());
}

TEST(XdiskDevices, HaveReadsBetweenSamplesThatHaveThem) {
  v1::DiskCounters first;
  first.set_device("sda");
  v1::DiskCounters last = first;
  EXPECT_FALSE(XdiskDevicesOf(first, last, kNsPerSecond).reads.has_value());
  first.set_reads(100);
  first.set_read_time_ms(100);
  last.set_reads(300);
  last.set_read_bytes(200 * 512);
  last.set_read_time_ms(500);
  const std::optional<XdiskDeviceReads> reads = XdiskDevicesOf(first, last, 2 * kNsPerSecond).reads;
  ASSERT_TRUE(reads.has_value());
  EXPECT_EQ(reads->per_second, 100);
  EXPECT_EQ(reads->bytes_per_second, 100 * 512);
  EXPECT_EQ(reads->read_ms, 2);
}

// Two hosts whose writers read every other block for six seconds.
tests::SimRun HalfReadsOfTwoHosts() {
  tests::SimRun run = tests::TwoHosts(6 * kNsPerSecond);
  run.read_percent = 50;
  return run;
}

TEST(XdiskResults, OfAReportAddRatesAndShowBothSides) {
  const v1::Report report = tests::Analyze(tests::MakeJournal(HalfReadsOfTwoHosts()));
  const std::optional<XdiskResult> result = XdiskResultOf(report);
  ASSERT_TRUE(result.has_value());
  ASSERT_EQ(result->hosts.size(), 2U);
  EXPECT_EQ(result->hosts[0].host, "alpha");
  EXPECT_GT(result->all.reads.per_second, 0);
  EXPECT_GT(result->all.writes.per_second, 0);
  EXPECT_DOUBLE_EQ(result->all.per_second(), result->hosts[0].per_second() + result->hosts[1].per_second());
  EXPECT_EQ(result->all.reads.count, result->hosts[0].reads.count + result->hosts[1].reads.count);
  uint64_t in_buckets = 0;
  for (const uint64_t count : result->all.reads.buckets) in_buckets += count;
  EXPECT_EQ(in_buckets, result->all.reads.count);
}

TEST(XdiskResults, HaveTheReadsOfTheDevicesOfRunsThatRead) {
  tests::SimRun run = HalfReadsOfTwoHosts();
  run.hosts[0].sample = [](uint32_t, int64_t since_start_ns) {
    v1::HostSample sample;
    sample.mutable_disk()->set_device("sda");
    sample.mutable_disk()->set_reads(static_cast<uint64_t>(since_start_ns / kNsPerMs));
    return sample;
  };
  const std::optional<XdiskResult> read = XdiskResultOf(tests::Analyze(tests::MakeJournal(run)));
  ASSERT_TRUE(read.has_value() && read->hosts[0].devices.reads.has_value());
  EXPECT_NEAR(read->hosts[0].devices.reads->per_second, 1'000, 1);
  EXPECT_FALSE(read->hosts[1].devices.reads.has_value());
  ASSERT_TRUE(read->all.devices.reads.has_value()) << "the second host has no known device";
  EXPECT_EQ(read->all.devices.reads->per_second, read->hosts[0].devices.reads->per_second);
  run.read_percent = 0;
  const std::optional<XdiskResult> wrote = XdiskResultOf(tests::Analyze(tests::MakeJournal(run)));
  ASSERT_TRUE(wrote.has_value());
  EXPECT_EQ(wrote->hosts[0].devices.name, "sda");
  EXPECT_FALSE(wrote->hosts[0].devices.reads.has_value());
}

TEST(XdiskResults, OfReadsAloneHaveNoWrites) {
  tests::SimRun run = tests::TwoHosts(2 * kNsPerSecond);
  run.read_percent = 100;
  const std::optional<XdiskResult> result = XdiskResultOf(tests::Analyze(tests::MakeJournal(run)));
  ASSERT_TRUE(result.has_value());
  EXPECT_GT(result->all.reads.count, 0U);
  EXPECT_EQ(result->all.writes.count, 0U);
}

std::vector<XdiskResult> IntervalsOf(const tests::SimRun& run, int64_t interval_ns) {
  std::vector<XdiskResult> results;
  XdiskIntervals intervals(interval_ns, [&results](const XdiskResult& result) { results.push_back(result); });
  for (const v1::JournalRecord& record : tests::MakeJournal(run)) intervals.Add(record);
  EXPECT_EQ(intervals.given(), results.size());
  return results;
}

TEST(XdiskIntervals, AreGivenOnceAllHostsHavePassedThem) {
  const tests::SimRun run = HalfReadsOfTwoHosts();
  const std::vector<XdiskResult> results = IntervalsOf(run, 2 * kNsPerSecond);
  ASSERT_EQ(results.size(), 3U);
  const std::optional<XdiskResult> whole = XdiskResultOf(tests::Analyze(tests::MakeJournal(run)));
  double sum = 0;
  for (const XdiskResult& result : results) {
    EXPECT_EQ(result.hosts.size(), 2U);
    EXPECT_GT(result.all.reads.count, 0U);
    EXPECT_GT(result.all.writes.count, 0U);
    EXPECT_EQ(result.all.reads.count, result.hosts[0].reads.count + result.hosts[1].reads.count);
    sum += result.all.per_second();
  }
  // Equal intervals: their mean is the rate of the run.
  EXPECT_NEAR(sum / 3, whole->all.per_second(), 1e-6);
}

TEST(XdiskIntervals, LeaveOutALastOneThatIsNotWhole) {
  EXPECT_EQ(IntervalsOf(HalfReadsOfTwoHosts(), 4 * kNsPerSecond).size(), 1U);
  EXPECT_EQ(IntervalsOf(HalfReadsOfTwoHosts(), 7 * kNsPerSecond).size(), 0U);
}

TEST(XdiskIntervals, LeaveOutTheWarmUp) {
  tests::SimRun run = tests::TwoHosts(4 * kNsPerSecond);
  const std::vector<XdiskResult> without = IntervalsOf(run, 2 * kNsPerSecond);
  run.warmup_ns = 2 * kNsPerSecond;
  for (tests::SimHost& host : run.hosts) {
    for (auto& step : host.steps) {
      for (tests::SimWriter& writer : step) writer.insert(writer.begin(), {-kNsPerSecond, kNsPerMs});
    }
  }
  const std::vector<XdiskResult> with = IntervalsOf(run, 2 * kNsPerSecond);
  ASSERT_EQ(with.size(), without.size());
  EXPECT_EQ(with[0].all.writes.count, without[0].all.writes.count);
}

TEST(XdiskIntervals, DoNotWaitForALostHost) {
  tests::SimRun run = HalfReadsOfTwoHosts();
  run.hosts[1].lost_after_ns = 1 * kNsPerSecond;
  EXPECT_EQ(IntervalsOf(run, 2 * kNsPerSecond).size(), 3U);
}

TEST(XdiskIntervals, HaveTheDevicesOfTheMeasuredTimeAlone) {
  tests::SimRun run = tests::TwoHosts(4 * kNsPerSecond);
  run.warmup_ns = 3 * kNsPerSecond;
  for (tests::SimHost& host : run.hosts) {
    host.sample = [](uint32_t /*step*/, int64_t since_start_ns) {
      const int64_t ms = since_start_ns / kNsPerMs;
      v1::HostSample sample;
      sample.mutable_disk()->set_device("sda");
      // 1,000 writes a second in the warm-up, then 10.
      sample.mutable_disk()->set_writes(static_cast<uint64_t>(ms < 3'000 ? ms : 3'000 + (ms - 3'000) / 100));
      return sample;
    };
  }
  const std::vector<XdiskResult> results = IntervalsOf(run, 2 * kNsPerSecond);
  ASSERT_EQ(results.size(), 2U);
  for (const XdiskResult& result : results) {
    EXPECT_NEAR(result.hosts[0].devices.writes_per_second, 10, 1);
    EXPECT_NEAR(result.all.devices.writes_per_second, 20, 2);
  }
}

}  // namespace
}  // namespace plimsoll
