// What the analysis tells of a step beyond its figures and series, made up.
#include <algorithm>
#include <string>

#include "common/protocol.h"
#include "common/units.h"
#include "tests/unit/page/made_up_step.h"

namespace plimsoll::tests {
namespace {

void AddDistribution(const v1::ScopeReport& scope, v1::StepReport& step) {
  v1::DistributionReport& distribution = *step.add_distributions();
  const v1::LatencyReport& latency = scope.latency();
  distribution.set_kind(scope.kind());
  distribution.set_host(scope.host());
  distribution.set_storage(scope.storage());
  // A steep rise and a long tail, in buckets 1 % apart.
  double left = static_cast<double>(latency.count());
  for (double value = static_cast<double>(latency.min_ns()); left >= 1; value *= 1.01) {
    const bool last = value * 1.01 > static_cast<double>(latency.max_ns());
    const double part = last ? 1 : value < latency.avg_ns() * 1.3 ? 0.02 + value / latency.avg_ns() * 0.06 : 0.022;
    const double count = std::ceil(left * part);
    distribution.add_from_ns(Whole(value));
    distribution.add_count(Whole(count));
    left -= count;
  }
}

void AddStall(v1::StallClass kind, double at_s, double length_s, const std::vector<std::string>& hosts,
              const std::vector<std::string>& others, const v1::StepReport& step, v1::StallsReport& stalls) {
  v1::StallReport& stall = *stalls.add_stalls();
  const int64_t start_ns = (step.start().seconds() - kBeginSeconds) * kNsPerSecond;
  stall.set_stall_class(kind);
  stall.set_storage(1);
  stall.set_offset_ns(std::llround(at_s * 1e9));
  stall.set_length_ns(std::llround(length_s * 1e9));
  stall.set_error_ns(62'000);
  SetMoment(start_ns + stall.offset_ns(), stall.mutable_begin());
  for (const std::string& host : hosts) {
    stall.add_hosts(host);
    v1::StalledWriterReport& writer = *stall.add_writers();
    writer.set_host(host);
    writer.set_qm(1);
    *writer.mutable_begin() = stall.begin();
    writer.set_length_ns(stall.length_ns());
    writer.set_in_flight_ns(stall.length_ns());
    writer.set_number(90'211);
  }
  for (const std::string& host : others) stall.add_others(host);
  stall.set_writers_count(static_cast<uint32_t>(stall.writers_size()));
  stalls.set_count(stalls.count() + 1);
  stalls.set_stretches(stalls.stretches() + hosts.size());
  for (v1::StallCount& count : *stalls.mutable_classes()) {
    if (count.stall_class() == kind) return count.set_count(count.count() + 1);
  }
  v1::StallCount& count = *stalls.add_classes();
  count.set_stall_class(kind);
  count.set_count(1);
}

void AddStalls(const MadeUp& made_up, v1::StepReport& step) {
  v1::StallsReport& stalls = *step.mutable_stalls();
  stalls.set_threshold_ns(100 * kNsPerMs);
  stalls.set_threshold_by_median(true);
  const std::vector<std::string> first(made_up.hosts.begin(), made_up.hosts.begin() + 1);
  const std::vector<std::string> rest(made_up.hosts.begin() + 1, made_up.hosts.end());
  for (int at = 0; at < made_up.seconds; ++at) {
    if (at % 97 == 41) AddStall(v1::STALL_CLASS_ALL_HOSTS, at + 0.31, 0.362, made_up.hosts, {}, step, stalls);
    if (at % 61 == 17) AddStall(v1::STALL_CLASS_ONE_HOST, at + 0.2, 0.358, first, rest, step, stalls);
    if (at == 52) AddStall(v1::STALL_CLASS_HOST_PAUSED, at + 0.1, 1.204, first, rest, step, stalls);
    if (stalls.stalls_size() >= 100) break;
  }
}

void AddSlowest(const MadeUp& made_up, v1::StepReport& step) {
  for (int rank = 0; rank < 10; ++rank) {
    v1::SlowestReport& slow = *step.add_slowest();
    slow.set_host(made_up.hosts[static_cast<size_t>(rank) % made_up.hosts.size()]);
    slow.set_qm(1);
    slow.set_number(90'211 + static_cast<uint64_t>(rank) * 7);
    slow.set_extent(static_cast<uint32_t>(rank % 3));
    slow.set_offset_bytes(4096U * (401U + static_cast<uint32_t>(rank)));
    slow.set_latency_ns(step.scopes(step.scopes_size() - 1).latency().max_ns() - static_cast<uint64_t>(rank) * 12'345);
    slow.set_error_ns(61'000);
    SetMoment((step.start().seconds() - kBeginSeconds) * kNsPerSecond + 41'310'022'417 + rank * 1'000'003,
              slow.mutable_start());
  }
  for (v1::ScopeReport& scope : *step.mutable_scopes()) {
    *scope.mutable_slowest() = step.slowest(0);
    if (!scope.host().empty()) scope.mutable_slowest()->set_host(scope.host());
    if (scope.qm() != 0) scope.mutable_slowest()->set_qm(scope.qm());
    scope.mutable_slowest()->set_latency_ns(scope.latency().max_ns());
  }
}

void AddLoad(const MadeUp& made_up, v1::StepReport& step) {
  for (size_t host = 0; host < made_up.hosts.size(); ++host) {
    Noise noise(host + 500);
    v1::HostLoadReport& load = *step.add_load();
    load.set_host(made_up.hosts[host]);
    load.set_sampled_ns(step.measured_ns());
    load.set_agent_cpu_percent(11.25);
    load.set_writer_cpu_wait_percent(0.14);
    load.set_recorder_late_max_ns(1'900'000);
    if (host == 0) {
      load.set_pauses(1);
      load.set_paused_ns(1'204'000'000);
    }
    load.mutable_disk()->set_device("sdb");
    load.mutable_disk()->set_writes(144'210);
    load.mutable_disk()->set_written_bytes(590'684'160);
    load.mutable_disk()->set_write_ms(0.412);
    load.mutable_disk()->set_busy_percent(84.5);
    v1::NfsOperationReport& write = *load.mutable_nfs()->mutable_write();
    write.set_operations(144'210);
    write.set_queue_ms(0.004);
    write.set_round_trip_ms(0.381);
    write.set_execute_ms(0.392);
    for (int at = 1; at <= made_up.seconds; ++at) {
      load.add_offset_ns(at * kNsPerSecond + static_cast<int64_t>(host) * 3'000'000);
      load.add_agent_cpu(11 * noise.Around(0.2));
      load.add_writer_cpu_wait(0.14 * noise.Around(0.9));
      load.add_disk_write_ms(0.41 * noise.Around(0.3));
      load.add_disk_busy(84 * noise.Around(0.1));
      load.add_nfs_round_trip_ms(0.38 * noise.Around(0.3));
      load.add_nfs_execute_ms(0.39 * noise.Around(0.3));
      load.add_nfs_retransmits(at % 97 == 41 ? 3 : 0);
    }
  }
}

void AddSeconds(const std::vector<Second>& cluster, v1::StepReport& step) {
  v1::SecondDistributionsReport& rows = *step.mutable_seconds();
  for (size_t at = 0; at < cluster.size(); ++at) {
    const Second& second = cluster[at];
    rows.add_second(static_cast<uint32_t>(at));
    uint32_t buckets = 0;
    const auto bucket_of = [](double value_ns) { return static_cast<uint32_t>(std::floor(32 * std::log2(value_ns))); };
    const uint32_t from = bucket_of(static_cast<double>(second.p50_ns) * 0.6);
    const uint32_t to = bucket_of(static_cast<double>(second.max_ns));
    for (uint32_t bucket = from; bucket <= to; ++bucket) {
      const double value_ns = std::exp2(bucket / 32.0);
      const double distance = std::log(value_ns / static_cast<double>(second.p50_ns));
      const double share = std::exp(-distance * distance * (distance < 0 ? 40 : 8)) * 0.06;
      const auto count = static_cast<uint64_t>(share * static_cast<double>(second.writes)) + (bucket == to ? 1 : 0);
      if (count == 0) continue;
      rows.add_bucket(bucket);
      rows.add_count(count);
      ++buckets;
    }
    rows.add_buckets(buckets);
  }
}

// Adds an operation's figures of a scope. `of` makes the time of an operation from that of a write.
template <typename Of>
void AddOperationScope(const v1::ScopeReport& scope, const Of& of, v1::OperationReport& operation) {
  v1::OperationScopeReport& own = *operation.add_scopes();
  own.set_kind(scope.kind());
  own.set_host(scope.host());
  own.set_qm(scope.qm());
  own.set_storage(scope.storage());
  v1::LatencyReport& latency = *own.mutable_latency();
  latency = scope.latency();
  latency.set_sum_ns(of(latency.sum_ns()));
  latency.set_min_ns(of(latency.min_ns()));
  latency.set_avg_ns(static_cast<double>(latency.sum_ns()) /
                     static_cast<double>(std::max<uint64_t>(latency.count(), 1)));
  latency.set_wavg_ns(latency.avg_ns());
  latency.set_p50_ns(of(latency.p50_ns()));
  latency.set_p90_ns(of(latency.p90_ns()));
  latency.set_p99_ns(of(latency.p99_ns()));
  latency.set_p99_9_ns(of(latency.p99_9_ns()));
  latency.set_p99_99_ns(of(latency.p99_99_ns()));
  latency.set_max_ns(of(latency.max_ns()));
}

// Adds an operation beside the writes, with as many times as there are writes. Its series have no percentiles, and
// single queue managers have no series.
template <typename Of>
v1::OperationReport& AddOperation(const std::string& name, const Of& of, v1::StepReport& step) {
  v1::OperationReport& operation = *step.add_operations();
  operation.set_name(name);
  for (const v1::ScopeReport& scope : step.scopes()) AddOperationScope(scope, of, operation);
  for (const v1::SeriesReport& series : step.series()) {
    if (series.kind() == v1::SCOPE_KIND_QM) continue;
    v1::SeriesReport& own = *operation.add_series();
    own = series;
    for (uint64_t& sum_ns : *own.mutable_latency_sum_ns()) sum_ns = of(sum_ns);
    for (uint64_t& max_ns : *own.mutable_latency_max_ns()) max_ns = of(max_ns);
    for (auto* column : {own.mutable_p50_ns(), own.mutable_p99_ns(), own.mutable_p99_9_ns()}) {
      std::fill(column->begin(), column->end(), uint64_t{0});
    }
  }
  for (const v1::DistributionReport& distribution : step.distributions()) {
    v1::DistributionReport& own = *operation.add_distributions();
    own = distribution;
    for (uint64_t& from_ns : *own.mutable_from_ns()) from_ns = of(from_ns);
  }
  return operation;
}

}  // namespace

void AddDetails(const MadeUp& made_up, const std::vector<Second>& cluster, v1::StepReport& step) {
  AddStalls(made_up, step);
  AddSlowest(made_up, step);
  AddLoad(made_up, step);
  AddSeconds(cluster, step);
  if (made_up.hosts.size() * static_cast<size_t>(made_up.qms) > 1) {
    step.mutable_fairness()->set_hosts(made_up.hosts.size() > 1 ? 0.9987 : 0);
    step.mutable_fairness()->set_queue_managers(0.9981);
  }
  if (made_up.seconds >= 5) {
    v1::TrendReport& trend = *step.mutable_trend();
    trend.set_iops_change_percent(-1.37);
    trend.set_avg_change_percent(1.42);
    trend.set_steady(true);
    trend.set_range_percent(6.2);
    trend.set_slope_percent(2.1);
    trend.set_stretch_ns(made_up.seconds / 5 * kNsPerSecond);
  }
  for (const v1::ScopeReport& scope : step.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_QM) continue;
    AddDistribution(scope, step);
  }
}

void AddParts(v1::StepReport& step) {
  for (const bool is_sync : {false, true}) {
    const auto of = [is_sync](uint64_t write_ns) { return is_sync ? write_ns - write_ns / 4 : write_ns / 4; };
    v1::OperationReport& part = AddOperation(is_sync ? "sync" : "write_call", of, step);
    for (v1::SeriesReport& series : *part.mutable_series()) {
      std::fill(series.mutable_bytes()->begin(), series.mutable_bytes()->end(), uint64_t{0});
    }
  }
}

void AddReads(uint32_t read_percent, v1::StepReport& step) {
  const uint64_t block = step.block_size_bytes();
  // Scales a count of writes, or the total time of as many reads, to the share of the reads.
  const auto share = [read_percent](uint64_t writes) { return writes * read_percent / (kOnlyReads - read_percent); };
  v1::OperationReport& reads = AddOperation(kReadName, [](uint64_t write_ns) { return write_ns / 2; }, step);
  for (v1::SeriesReport& series : *reads.mutable_series()) {
    for (int row = 0; row < series.second_size(); ++row) {
      series.set_writes(row, share(series.writes(row)));
      series.set_bytes(row, series.writes(row) * block);
      series.set_latency_sum_ns(row, share(series.latency_sum_ns(row)));
    }
  }
  for (v1::DistributionReport& distribution : *reads.mutable_distributions()) {
    for (uint64_t& count : *distribution.mutable_count()) count = std::max<uint64_t>(share(count), 1);
  }
  for (int at = 0; at < reads.scopes_size(); ++at) {
    v1::ScopeReport& writes = *step.mutable_scopes(at);
    v1::OperationScopeReport& own = *reads.mutable_scopes(at);
    v1::LatencyReport& latency = *own.mutable_latency();
    latency.set_count(share(latency.count()));
    latency.set_sum_ns(share(latency.sum_ns()));
    v1::OperationThroughputReport& throughput = *own.mutable_throughput();
    throughput.set_count(latency.count());
    throughput.set_bytes(throughput.count() * block);
    const double length_s = static_cast<double>(writes.measured_ns()) / 1e9;
    throughput.set_iops(static_cast<double>(throughput.count()) / length_s);
    throughput.set_mb_per_second(static_cast<double>(throughput.bytes()) / 1e6 / length_s);
    if (writes.has_slowest()) {
      *own.mutable_slowest() = writes.slowest();
      own.mutable_slowest()->set_latency_ns(latency.max_ns());
    }
    // A writer reads between its writes.
    writes.set_time_between_writes_ns(writes.time_between_writes_ns() + static_cast<int64_t>(latency.sum_ns()));
  }
}

}  // namespace plimsoll::tests
