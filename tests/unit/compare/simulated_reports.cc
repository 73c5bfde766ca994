#include "tests/unit/compare/simulated_reports.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "common/units.h"

namespace plimsoll::tests {
namespace {

constexpr double kBucketsPerOctave = 32;

// Writes by bucket of 2^(1/32).
using Second = std::map<uint32_t, uint64_t>;

double MiddleNs(uint32_t bucket) {
  return std::exp2((bucket + 0.5) / kBucketsPerOctave);
}

v1::Report EmptyReport(const std::string& id) {
  v1::Report report;
  report.set_format(1);
  report.mutable_run()->set_id(id);
  report.mutable_run()->set_version("0.1.0");
  report.mutable_run()->set_state(v1::RUN_STATE_COMPLETE);
  report.mutable_run()->mutable_begin()->set_seconds(1'795'202'411);
  report.mutable_run()->set_hosts(1);
  report.mutable_run()->set_queue_managers(1);
  report.mutable_verdict()->set_outcome(v1::OUTCOME_DONE);
  v1::HostReport& host = *report.add_hosts();
  host.set_label("alpha");
  host.set_kernel("Linux 6.1.0 x86_64");
  host.mutable_workload()->set_dir("/mnt/mqlog");
  host.mutable_workload()->set_sync(v1::SYNC_MODE_DSYNC);
  host.mutable_mount()->set_fs_type("nfs4");
  host.mutable_mount()->set_remote("filer1:/mq");
  host.mutable_mount()->set_mount_options("hard,wsize=131072");
  host.mutable_mount()->set_direct(true);
  v1::StorageReport& storage = *report.add_storages();
  storage.set_fs_type("nfs4");
  storage.set_fs_source("filer1:/mq");
  return report;
}

// Value below which `share` of the writes lie, within its bucket by interpolation.
uint64_t Quantile(const Second& all, uint64_t count, double share) {
  double left = share * static_cast<double>(count);
  for (const auto& [bucket, writes] : all) {
    if (left <= static_cast<double>(writes)) {
      return static_cast<uint64_t>(std::exp2((bucket + left / static_cast<double>(writes)) / kBucketsPerOctave));
    }
    left -= static_cast<double>(writes);
  }
  return 0;
}

void AddStep(uint64_t block_size_bytes, const std::vector<Second>& seconds, v1::Report& report) {
  v1::StepReport& step = *report.add_steps();
  step.set_number(static_cast<uint32_t>(report.steps_size()));
  step.set_block_size_bytes(block_size_bytes);
  step.set_repetition(1);
  step.set_measured_ns(static_cast<int64_t>(seconds.size()) * kNsPerSecond);
  step.set_duration_ns(step.measured_ns());
  v1::SeriesReport& series = *step.add_series();
  series.set_kind(v1::SCOPE_KIND_CLUSTER);
  Second all;
  uint64_t count = 0;
  uint64_t sum_ns = 0;
  for (size_t i = 0; i < seconds.size(); ++i) {
    uint64_t writes = 0;
    double latency_ns = 0;
    for (const auto& [bucket, number] : seconds[i]) {
      writes += number;
      latency_ns += static_cast<double>(number) * MiddleNs(bucket);
      all[bucket] += number;
      step.mutable_seconds()->add_bucket(bucket);
      step.mutable_seconds()->add_count(number);
    }
    series.add_second(static_cast<uint32_t>(i));
    series.add_writes(writes);
    series.add_bytes(writes * block_size_bytes);
    series.add_latency_sum_ns(static_cast<uint64_t>(latency_ns));
    count += writes;
    sum_ns += series.latency_sum_ns(static_cast<int>(i));
    if (writes == 0) continue;
    step.mutable_seconds()->add_second(static_cast<uint32_t>(i));
    step.mutable_seconds()->add_buckets(static_cast<uint32_t>(seconds[i].size()));
  }
  v1::ScopeReport& cluster = *step.add_scopes();
  cluster.set_kind(v1::SCOPE_KIND_CLUSTER);
  cluster.set_writes(count);
  cluster.set_bytes(count * block_size_bytes);
  cluster.set_measured_ns(step.measured_ns());
  cluster.set_iops(static_cast<double>(count) / static_cast<double>(seconds.size()));
  cluster.set_mb_per_second(cluster.iops() * static_cast<double>(block_size_bytes) / 1e6);
  v1::LatencyReport& latency = *cluster.mutable_latency();
  latency.set_count(count);
  latency.set_sum_ns(sum_ns);
  if (count == 0) return;
  latency.set_avg_ns(static_cast<double>(sum_ns) / static_cast<double>(count));
  latency.set_p50_ns(Quantile(all, count, 0.5));
  latency.set_p99_ns(Quantile(all, count, 0.99));
  latency.set_p99_9_ns(Quantile(all, count, 0.999));
  latency.set_max_ns(static_cast<uint64_t>(std::exp2((all.rbegin()->first + 1) / kBucketsPerOctave)));
}

// An AR(1) process with variance 1, from its stationary law on.
class Wanderer {
 public:
  Wanderer(double phi, std::mt19937_64& random) : phi_(phi), random_(random), value_(normal_(random_)) {}
  double Next() {
    value_ = phi_ * value_ + std::sqrt(1 - phi_ * phi_) * normal_(random_);
    return value_;
  }

 private:
  double phi_;
  std::mt19937_64& random_;
  std::normal_distribution<double> normal_;
  double value_;
};

double NormalShare(double deviations) {
  return 0.5 * std::erfc(-deviations / std::sqrt(2.0));
}

std::vector<Second> SimulateSeconds(const SimulatedLaw& law, std::mt19937_64& random) {
  Wanderer latency(law.phi, random);
  Wanderer tail(law.phi, random);
  std::uniform_real_distribution<double> uniform;
  std::vector<Second> seconds(law.seconds);
  for (Second& second : seconds) {
    const double scale = std::max(1 + law.variation * latency.Next(), 0.1);
    const double middle_ns = law.latency_ns * scale;
    const double writes = law.writes / scale;
    const double in_tail = law.restless_tail ? 0.01 * std::exp(0.5 * tail.Next()) : 0.01;
    const double in_burst = law.bursts && uniform(random) < 1.0 / 30 ? 0.03 : 0;
    const auto share_below = [&](double ns) {
      const double usual = (1 - in_tail) * NormalShare(std::log(ns / middle_ns) / 0.15) +
                           in_tail * NormalShare(std::log(ns / (3 * middle_ns)) / 0.5);
      return (1 - in_burst) * usual + in_burst * NormalShare(std::log(ns / (20 * middle_ns)) / 0.3);
    };
    const auto first = static_cast<uint32_t>(kBucketsPerOctave * std::log2(0.4 * middle_ns));
    const auto last = static_cast<uint32_t>(kBucketsPerOctave * std::log2((in_burst > 0 ? 80 : 25) * middle_ns));
    double below = 0;
    for (uint32_t bucket = first; bucket <= last; ++bucket) {
      const double up_to = share_below(std::exp2((bucket + 1) / kBucketsPerOctave));
      const double expected = writes * (up_to - below);
      below = up_to;
      if (!(expected > 1e-7)) continue;
      if (const auto number = std::poisson_distribution<uint64_t>(expected)(random); number > 0)
        second[bucket] = number;
    }
  }
  return seconds;
}

}  // namespace

v1::Report SimulateReport(const SimulatedLaw& law, const std::vector<uint64_t>& block_sizes, std::mt19937_64& random) {
  v1::Report report = EmptyReport(std::to_string(random()));
  for (const uint64_t size : block_sizes) AddStep(size, SimulateSeconds(law, random), report);
  return report;
}

v1::Report SteadyReport(const std::string& id, const std::vector<uint64_t>& block_sizes, size_t seconds,
                        const std::vector<uint64_t>& latencies_ns) {
  v1::Report report = EmptyReport(id);
  Second second;
  for (const uint64_t latency_ns : latencies_ns) {
    ++second[static_cast<uint32_t>(kBucketsPerOctave * std::log2(static_cast<double>(latency_ns)))];
  }
  for (const uint64_t size : block_sizes) AddStep(size, std::vector<Second>(seconds, second), report);
  return report;
}

}  // namespace plimsoll::tests
