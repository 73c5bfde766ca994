// What must hold for every run, tried on random ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "common/histogram.h"
#include "controller/analysis/analyzer.h"
#include "controller/analysis/figures.h"
#include "controller/analysis/live_stats.h"
#include "controller/render/csv.h"
#include "controller/render/json.h"
#include "controller/render/mqldt.h"
#include "controller/render/text.h"
#include "tests/random_seed.h"
#include "tests/testing.h"
#include "tests/unit/analysis/journal_builder.h"
#include "tests/unit/analysis/random_numbers.h"

namespace plimsoll {
namespace {

// Counters that rise with the time, and are not the same on all hosts.
v1::HostSample SampleOf(int64_t host, int64_t since_start_ns) {
  const auto ms = static_cast<uint64_t>(since_start_ns / kNsPerMs);
  v1::HostSample sample;
  sample.set_agent_cpu_ns(ms * 100'000);
  sample.set_writer_cpu_wait_ns(ms * 10'000 * static_cast<uint64_t>(host));
  sample.set_recorder_late_max_ns(1'000'000);
  if (host % 2 == 0) {
    sample.mutable_disk()->set_device("nvme0n1");
    sample.mutable_disk()->set_writes(ms);
    sample.mutable_disk()->set_write_time_ms(ms / 2);
    sample.mutable_disk()->set_busy_ms(ms / 3);
    sample.mutable_disk()->set_reads(ms);
    sample.mutable_disk()->set_read_time_ms(ms / 4);
  } else {
    sample.mutable_nfs()->mutable_write()->set_operations(ms);
    sample.mutable_nfs()->mutable_write()->set_transmissions(ms + 1);
    sample.mutable_nfs()->mutable_write()->set_execute_ms(ms * 2);
    sample.mutable_nfs()->mutable_read()->set_operations(ms);
    sample.mutable_nfs()->mutable_read()->set_execute_ms(ms * 3);
  }
  v1::RecorderPause& pause = *sample.add_pauses();
  pause.set_begin_ns(kNsPerSecond);
  pause.set_end_ns(kNsPerSecond + 60 * kNsPerMs);
  return sample;
}

SimRun RandomRun(Random& random) {
  SimRun run;
  run.block_sizes.clear();
  for (int64_t i = Between(random, 1, 2); i > 0; --i) run.block_sizes.push_back(512U << Between(random, 0, 8));
  run.duration_ns = Between(random, 100, 3'500) * kNsPerMs;
  run.warmup_ns = Between(random, 0, 2) * 333 * kNsPerMs;
  const std::vector<int64_t> intervals = {100, 125, 200, 250, 500, 1000};
  run.interval_ns = intervals[static_cast<size_t>(Between(random, 0, 5))] * kNsPerMs;
  // Mostly writes alone; otherwise a few reads, a few writes, or reads alone.
  const std::vector<uint32_t> read_percents = {0, 0, 0, 1, 40, 98, 100};
  run.read_percent = read_percents[static_cast<size_t>(Between(random, 0, 6))];
  const int64_t hosts = Between(random, 1, 4);
  for (int64_t h = 0; h < hosts; ++h) {
    SimHost host;
    host.label = "host" + std::to_string(h);
    host.reads_first = static_cast<uint64_t>(Between(random, 0, 3));
    host.clock_ahead_ns = Between(random, 0, 100'000) * kNsPerSecond;
    host.sample = [h](uint32_t, int64_t ns) { return SampleOf(h, ns); };
    host.coalesce = Between(random, 0, 3) == 0 ? static_cast<uint32_t>(Between(random, 2, 9)) : 1;
    if (Between(random, 0, 1) == 1) host.sees.push_back("host0");
    const int64_t qms = Between(random, 1, 3);
    for (size_t step = 0; step < run.block_sizes.size(); ++step) {
      std::vector<tests::SimWriter>& writers = host.steps.emplace_back();
      for (int64_t qm = 0; qm < qms; ++qm) {
        const int64_t base_ns = Between(random, 100'000, 20'000'000);
        std::lognormal_distribution<double> tail(0, 0.7);
        writers.push_back(tests::ClosedLoop(
            run.duration_ns, Between(random, 0, 50'000),
            [&](uint64_t, int64_t) { return static_cast<int64_t>(static_cast<double>(base_ns) * tail(random)) + 1; },
            run.warmup_ns, Between(random, 0, 100'000)));
      }
    }
    run.hosts.push_back(host);
  }
  return run;
}

// Histogram of the raw measured latencies of the writes, or the reads, of some hosts.
Histogram Oracle(const SimRun& run, size_t step, const std::vector<const SimHost*>& hosts, bool reads = false) {
  Histogram histogram;
  for (const SimHost* host : hosts) {
    for (uint32_t qm = 1; qm <= host->steps[step].size(); ++qm) {
      for (const tests::SimWrite& one : OperationsOf(run, *host, static_cast<uint32_t>(step), qm, reads)) {
        if (one.end_ns() >= 0) histogram.Record(static_cast<uint64_t>(one.latency_ns));
      }
    }
  }
  EXPECT_LE(histogram.count(), 1'000'000U) << run.duration_ns;
  return histogram;
}

void ExpectPercentilesInOrder(const v1::LatencyReport& latency) {
  const std::vector<uint64_t> ordered = {latency.min_ns(),   latency.p50_ns(),    latency.p90_ns(), latency.p99_ns(),
                                         latency.p99_9_ns(), latency.p99_99_ns(), latency.max_ns()};
  EXPECT_TRUE(std::is_sorted(ordered.begin(), ordered.end())) << latency.DebugString();
}

uint64_t SumOfKind(const v1::StepReport& step, v1::ScopeKind kind) {
  uint64_t writes = 0;
  for (const v1::ScopeReport& scope : step.scopes()) writes += scope.kind() == kind ? scope.writes() : 0;
  return writes;
}

uint64_t CountOf(const v1::DistributionReport& distribution) {
  return std::accumulate(distribution.count().begin(), distribution.count().end(), uint64_t{0});
}

// Distributions of hosts and storages add up to the cluster's, bucket for bucket, and each to its scope's writes.
void ExpectDistributionsAddUp(const v1::StepReport& step) {
  std::map<v1::ScopeKind, std::map<uint64_t, uint64_t>> buckets;
  for (const v1::DistributionReport& distribution : step.distributions()) {
    ASSERT_EQ(distribution.from_ns_size(), distribution.count_size());
    for (int i = 0; i < distribution.count_size(); ++i) {
      EXPECT_GT(distribution.count(i), 0U);
      buckets[distribution.kind()][distribution.from_ns(i)] += distribution.count(i);
    }
    if (distribution.kind() != v1::SCOPE_KIND_STORAGE) {
      EXPECT_EQ(CountOf(distribution), Scope(step, distribution.kind(), distribution.host()).latency().count());
    }
  }
  EXPECT_EQ(buckets[v1::SCOPE_KIND_HOST], buckets[v1::SCOPE_KIND_CLUSTER]);
}

// Each row's writes are those of its second in the cluster's series. Returns the seconds of the series that are in no
// row.
size_t ExpectSecondsHoldTheirWrites(const v1::StepReport& step) {
  const v1::SecondDistributionsReport& seconds = step.seconds();
  const v1::SeriesReport& series = tests::Series(step, v1::SCOPE_KIND_CLUSTER);
  std::map<uint32_t, uint64_t> writes;
  std::set<int> irregular;
  for (const v1::IrregularRow& row : series.irregular()) {
    if (row.coalesced() || row.closing()) irregular.insert(static_cast<int>(row.row()));
  }
  for (int i = 0; i < series.second_size(); ++i) {
    if (!irregular.contains(i)) writes[series.second(i)] = series.writes(i);
  }
  EXPECT_EQ(seconds.second_size(), seconds.buckets_size());
  EXPECT_EQ(seconds.bucket_size(), seconds.count_size());
  int next = 0;
  for (int row = 0; row < seconds.second_size(); ++row) {
    uint64_t sum = 0;
    for (const int end = next + static_cast<int>(seconds.buckets(row)); next < end; ++next) sum += seconds.count(next);
    EXPECT_TRUE(writes.contains(seconds.second(row)) && sum == writes.at(seconds.second(row))) << step.DebugString();
    writes.erase(seconds.second(row));
  }
  EXPECT_EQ(next, seconds.count_size());
  return writes.size();
}

// Checks that each scope and each series has the run's reads beside the writes.
void ExpectReadsAddUp(const SimRun& run, size_t number, const v1::StepReport& step) {
  ASSERT_EQ(step.operations_size(), ReadOperation(run) == 0 ? 0 : 1);
  std::map<v1::ScopeKind, uint64_t> counts;
  for (const v1::OperationReport& read : step.operations()) {
    for (const v1::OperationScopeReport& scope : read.scopes()) {
      counts[scope.kind()] += scope.throughput().count();
      EXPECT_GE(scope.latency().count(), scope.throughput().count());
      EXPECT_EQ(scope.throughput().bytes(), scope.throughput().count() * step.block_size_bytes());
      ExpectPercentilesInOrder(scope.latency());
      std::vector<const SimHost*> hosts;
      for (const SimHost& host : run.hosts) {
        if (scope.host().empty() || scope.host() == host.label) hosts.push_back(&host);
      }
      if (scope.kind() != v1::SCOPE_KIND_HOST && scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
      const Histogram oracle = Oracle(run, number, hosts, /*reads=*/true);
      EXPECT_EQ(scope.latency().SerializeAsString(), MakeLatencyReport(oracle).SerializeAsString());
      for (const v1::SeriesReport& series : read.series()) {
        if (series.kind() != scope.kind() || series.host() != scope.host()) continue;
        EXPECT_EQ(std::accumulate(series.writes().begin(), series.writes().end(), uint64_t{0}), oracle.count());
      }
    }
  }
  for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST, v1::SCOPE_KIND_STORAGE}) {
    EXPECT_EQ(counts[kind], counts[v1::SCOPE_KIND_CLUSTER]);
  }
}

void ExpectLoadIsSane(const v1::StepReport& step) {
  for (const v1::HostLoadReport& load : step.load()) {
    const int rows = load.offset_ns_size();
    EXPECT_EQ(load.agent_cpu_size(), rows);
    EXPECT_EQ(load.writer_cpu_wait_size(), rows);
    for (const int size : {load.disk_write_ms_size(), load.disk_busy_size(), load.disk_read_ms_size()}) {
      EXPECT_TRUE(size == (load.has_disk() ? rows : 0) || (load.has_disk() && size == 0)) << load.DebugString();
    }
    for (const int size : {load.nfs_round_trip_ms_size(), load.nfs_execute_ms_size(), load.nfs_retransmits_size(),
                           load.nfs_read_round_trip_ms_size(), load.nfs_read_execute_ms_size()}) {
      EXPECT_TRUE(size == (load.has_nfs() ? rows : 0) || (load.has_nfs() && size == 0)) << load.DebugString();
    }
    EXPECT_GT(load.sampled_ns(), 0);
    EXPECT_GE(load.paused_ns(), 0);
    EXPECT_TRUE(std::is_sorted(load.offset_ns().begin(), load.offset_ns().end()));
    for (const double figure :
         {load.agent_cpu_percent(), load.writer_cpu_wait_percent(), load.disk().write_ms(), load.disk().read_ms(),
          load.nfs().read().execute_ms(), load.disk().flush_ms(), load.disk().busy_percent(),
          load.nfs().write().queue_ms(), load.nfs().write().round_trip_ms(), load.nfs().commit().execute_ms()}) {
      EXPECT_TRUE(std::isfinite(figure) && figure >= 0) << load.DebugString();
    }
  }
}

void ExpectFairnessIsAShare(const v1::StepReport& step) {
  for (const double index : {step.fairness().hosts(), step.fairness().queue_managers()}) {
    EXPECT_TRUE(index >= 0 && index <= 1) << index;
  }
}

TEST(AnalysisProperty, FiguresAddUpAndEqualThoseOfTheRawSamples) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (int round = 0; round < 60; ++round) {
    const SimRun run = RandomRun(random);
    const v1::Report report = Analyze(MakeJournal(run));
    EXPECT_EQ(report.verdict().reasons_size(), 0) << report.verdict().DebugString();
    ASSERT_EQ(report.steps_size(), static_cast<int>(run.block_sizes.size()));
    for (int s = 0; s < report.steps_size(); ++s) {
      const v1::StepReport& step = report.steps(s);
      std::vector<const SimHost*> all;
      for (const SimHost& host : run.hosts) {
        all.push_back(&host);
        EXPECT_EQ(Scope(step, v1::SCOPE_KIND_HOST, host.label).latency().SerializeAsString(),
                  MakeLatencyReport(Oracle(run, static_cast<size_t>(s), {&host})).SerializeAsString());
      }
      const v1::ScopeReport& cluster = Scope(step, v1::SCOPE_KIND_CLUSTER);
      EXPECT_EQ(cluster.latency().SerializeAsString(),
                MakeLatencyReport(Oracle(run, static_cast<size_t>(s), all)).SerializeAsString());
      for (const v1::ScopeKind kind : {v1::SCOPE_KIND_QM, v1::SCOPE_KIND_HOST, v1::SCOPE_KIND_STORAGE}) {
        EXPECT_EQ(SumOfKind(step, kind), cluster.writes());
      }
      for (const v1::ScopeReport& scope : step.scopes()) {
        ExpectPercentilesInOrder(scope.latency());
        EXPECT_NEAR(scope.accounted_percent(), 100, 1e-6);
        EXPECT_EQ(scope.bytes(), scope.writes() * step.block_size_bytes());
        EXPECT_LE(scope.bandwidth().min_bytes_per_second(), scope.bandwidth().max_bytes_per_second());
        EXPECT_EQ(scope.slowest().latency_ns(), scope.latency().max_ns());
      }
      ExpectDistributionsAddUp(step);
      EXPECT_EQ(ExpectSecondsHoldTheirWrites(step), 0U) << "whole seconds of which the distribution is not told";
      ExpectReadsAddUp(run, static_cast<size_t>(s), step);
      ExpectLoadIsSane(step);
      ExpectFairnessIsAShare(step);
      for (const v1::SeriesReport& series : step.series()) {
        for (int row = 0; row < series.second_size(); ++row) {
          EXPECT_LE(series.p50_ns(row), series.p99_ns(row));
          EXPECT_LE(series.p99_ns(row), series.p99_9_ns(row));
          EXPECT_LE(series.p99_9_ns(row), series.latency_max_ns(row));
        }
        const v1::ScopeReport& scope =
            series.kind() == v1::SCOPE_KIND_STORAGE ? cluster : Scope(step, series.kind(), series.host(), series.qm());
        const auto total = [](const auto& column) {
          return std::accumulate(column.begin(), column.end(), uint64_t{0});
        };
        if (series.kind() == v1::SCOPE_KIND_STORAGE) continue;
        EXPECT_EQ(total(series.writes()), scope.writes() + scope.closing().writes());
        EXPECT_EQ(scope.latency().count(), scope.writes() + scope.closing().writes());
        EXPECT_EQ(total(series.bytes()), scope.bytes() + scope.closing().bytes());
        EXPECT_EQ(total(series.latency_sum_ns()), scope.latency().sum_ns());
      }
    }
  }
}

// Changes one random scalar somewhere in a message.
void Mutate(google::protobuf::Message& message, Random& random) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  if (fields.empty()) return;
  const FieldDescriptor* field =
      fields[static_cast<size_t>(Between(random, 0, static_cast<int64_t>(fields.size()) - 1))];
  const std::vector<uint64_t> odd = {0, 1, 2, 77, INT32_MAX, UINT32_MAX, INT64_MAX, uint64_t{1} << 63, UINT64_MAX};
  const uint64_t value = odd[static_cast<size_t>(Between(random, 0, static_cast<int64_t>(odd.size()) - 1))];
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    if (field->is_repeated()) {
      const auto index = static_cast<int>(Between(random, 0, reflection.FieldSize(message, field) - 1));
      return Mutate(*reflection.MutableRepeatedMessage(&message, field, index), random);
    }
    return Mutate(*reflection.MutableMessage(&message, field), random);
  }
  if (field->is_repeated()) return reflection.RemoveLast(&message, field);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, field, static_cast<int32_t>(value));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, field, static_cast<int64_t>(value));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(&message, field, static_cast<uint32_t>(value));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&message, field, value);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(&message, field, value % 2 == 0 ? -1e308 : std::numeric_limits<double>::quiet_NaN());
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.SetString(&message, field, std::string("\x1b[2J\xff\n\",") + static_cast<char>(value));
    default:
      return;
  }
}

TEST(AnalysisProperty, DamagedRecordsNeverHarmNorAddWrites) {
  const uint64_t seed = tests::RandomSeed();
  SCOPED_TRACE(seed);
  Random random(seed);
  SimRun run;
  run.duration_ns = 2'200 * kNsPerMs;
  run.warmup_ns = 300 * kNsPerMs;
  for (const char* label : {"alpha", "beta"}) {
    SimHost host;
    host.label = label;
    host.rate_per_second = 100;
    host.sample = [n = run.hosts.size()](uint32_t, int64_t ns) { return SampleOf(static_cast<int64_t>(n), ns); };
    const auto latency = [&random](uint64_t, int64_t) { return Between(random, 1'000'000, 9'000'000); };
    host.steps = {{tests::ClosedLoop(run.duration_ns, 0, latency, run.warmup_ns),
                   tests::ClosedLoop(run.duration_ns, 0, latency, run.warmup_ns)}};
    host.sees = {"alpha", "beta"};
    host.pauses = {{0, 200 * kNsPerMs, 208 * kNsPerMs}, {0, 700 * kNsPerMs, 707 * kNsPerMs}};
    run.hosts.push_back(host);
  }
  // Half of the writes are stalls.
  run.stall_ns = 5 * kNsPerMs;
  run.stall_given = true;
  run.criteria = {"p99<10ms", "min_second_iops@qm>=1", "read_p99<10ms"};
  run.read_percent = 40;
  const std::vector<v1::JournalRecord> whole = MakeJournal(run);
  const v1::Report healthy = Analyze(whole);
  ASSERT_EQ(healthy.steps(0).load_size(), 2);
  ASSERT_EQ(healthy.steps(0).load(0).offset_ns_size(), 2);
  EXPECT_GT(healthy.steps(0).stalls().count(), 10U);
  for (int round = 0; round < 1'500; ++round) {
    std::vector<v1::JournalRecord> journal = whole;
    for (int64_t i = Between(random, 1, 3); i > 0; --i) {
      v1::JournalRecord& record =
          journal[static_cast<size_t>(Between(random, 0, static_cast<int64_t>(journal.size()) - 1))];
      switch (Between(random, 0, 3)) {
        case 0:
          record.Clear();
          break;
        case 1:
          std::swap(record, journal[static_cast<size_t>(Between(random, 0, static_cast<int64_t>(journal.size()) - 1))]);
          break;
        default:
          Mutate(record, random);
      }
    }
    const v1::Report report = Analyze(journal);
    for (int s = 0; s < report.steps_size(); ++s) {
      const uint64_t cluster = Scope(report.steps(s), v1::SCOPE_KIND_CLUSTER).writes();
      EXPECT_EQ(SumOfKind(report.steps(s), v1::SCOPE_KIND_QM), cluster);
      EXPECT_EQ(SumOfKind(report.steps(s), v1::SCOPE_KIND_HOST), cluster);
      ExpectDistributionsAddUp(report.steps(s));
      ExpectSecondsHoldTheirWrites(report.steps(s));
      ExpectLoadIsSane(report.steps(s));
      ExpectFairnessIsAShare(report.steps(s));
    }
    // Every output of it is made, whatever it holds.
    EXPECT_EQ(RenderText(report, 40).find('\x1b'), std::string::npos);
    EXPECT_EQ(RenderJson(report).find('\x1b'), std::string::npos);
    EXPECT_FALSE(RenderCsv(report).empty());
    EXPECT_FALSE(RenderTimelineCsv(report).empty());
    EXPECT_FALSE(RenderMqldtCsv(report).empty());
    Analyzer intervals;
    std::map<uint32_t, uint64_t> writes;
    uint64_t rows = 0;
    intervals.SetIntervalListener(kNsPerSecond, [&](const IntervalRow& row) {
      EXPECT_GE(row.end_ns, 0);
      writes[row.step] += row.interval.writes;
      ++rows;
    });
    for (const v1::JournalRecord& record : journal) intervals.Add(record);
    intervals.Finish();
    // Whatever was refused is in neither. There are no more rows than a million.
    for (const v1::StepReport& step : report.steps()) {
      if (rows == 1'000'000) break;
      EXPECT_EQ(writes[step.number()], Scope(step, v1::SCOPE_KIND_CLUSTER).latency().count());
    }
  }
  EXPECT_EQ(Analyze(whole).SerializeAsString(), healthy.SerializeAsString());
}

TEST(AnalysisProperty, ThinIsExactAtEveryCount) {
  // The rank of a percentile is the smallest whole number that is at least that share of the count.
  for (uint64_t count = 0; count < 30'000; ++count) {
    EXPECT_EQ(IsKnown(count, 99.9), count - (count * 999 + 999) / 1000 >= 10) << count;
    EXPECT_EQ(IsKnown(count, 50), count - (count + 1) / 2 >= 10) << count;
  }
  EXPECT_TRUE(IsKnown(10'000, 99.9));
  EXPECT_FALSE(IsKnown(9'999, 99.9));
  EXPECT_TRUE(IsKnown(UINT64_MAX, 99.99));
}

}  // namespace
}  // namespace plimsoll
