#include "controller/xdisk/xdisk_figures.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

constexpr double kSecondNs = 1e9;
constexpr double kMillisecondNs = 1e6;

double PerSecondOf(uint64_t amount, int64_t length_ns) {
  return length_ns > 0 ? static_cast<double>(amount) * kSecondNs / static_cast<double>(length_ns) : 0;
}

double MeanOf(uint64_t sum, uint64_t count) {
  return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
}

// A counter starts anew where a device was replaced.
uint64_t Grown(uint64_t first, uint64_t last) {
  return last > first ? last - first : 0;
}

// The mean of two means, each over so many operations per second.
double MeanOfBoth(double mean, double rate, double other_mean, double other_rate) {
  return rate + other_rate > 0 ? (mean * rate + other_mean * other_rate) / (rate + other_rate) : 0;
}

XdiskDevices DevicesOf(const v1::HostLoadReport& load) {
  XdiskDevices devices;
  if (!load.has_disk()) return devices;
  const v1::DiskReport& disk = load.disk();
  devices.name = disk.device();
  devices.writes_per_second = PerSecondOf(disk.writes(), load.sampled_ns());
  devices.bytes_per_second = PerSecondOf(disk.written_bytes(), load.sampled_ns());
  devices.write_ms = disk.write_ms();
  devices.flushes_per_second = PerSecondOf(disk.flushes(), load.sampled_ns());
  devices.flush_ms = disk.flush_ms();
  devices.busy_percent = disk.busy_percent();
  return devices;
}

// The distribution of a scope among those of an operation; null if there is none.
const v1::DistributionReport* DistributionOf(
    const google::protobuf::RepeatedPtrField<v1::DistributionReport>& distributions, const v1::ScopeReport& scope) {
  const auto found = std::ranges::find_if(distributions, [&scope](const v1::DistributionReport& each) {
    return each.kind() == scope.kind() && each.host() == scope.host();
  });
  return found == distributions.end() ? nullptr : &*found;
}

XdiskFigures FiguresOfScope(const v1::StepReport& step, const v1::ScopeReport& scope, bool only_reads) {
  XdiskFigures figures;
  figures.host = scope.host();
  XdiskSide& main = only_reads ? figures.reads : figures.writes;
  main = XdiskSideOf(scope.latency(), scope.iops(), DistributionOf(step.distributions(), scope));
  if (const v1::OperationReport* const reads = ReadsOf(step); reads != nullptr) {
    if (const v1::OperationScopeReport* const own = FindScope(*reads, scope); own != nullptr) {
      figures.reads =
          XdiskSideOf(own->latency(), own->throughput().iops(), DistributionOf(reads->distributions(), scope));
    }
  }
  return figures;
}

}  // namespace

size_t XdiskBucketOf(uint64_t time_ns) {
  size_t bucket = 0;
  for (uint64_t from_ns = 1'000; time_ns >= from_ns && bucket + 1 < std::tuple_size_v<XdiskBuckets>; from_ns *= 2) {
    ++bucket;
  }
  return bucket;
}

XdiskSide XdiskSideOf(const Histogram& histogram, double per_second) {
  XdiskSide side;
  side.count = histogram.count();
  side.per_second = per_second;
  side.min_ns = static_cast<double>(histogram.min_ns());
  side.max_ns = static_cast<double>(histogram.max_ns());
  side.avg_ns = histogram.mean_ns();
  side.weighted_avg_ns = histogram.WeightedMeanNs();
  histogram.ForEachBucket(
      [&side](uint64_t lowest_ns, uint64_t count) { side.buckets[XdiskBucketOf(lowest_ns)] += count; });
  return side;
}

XdiskSide XdiskSideOf(const v1::LatencyReport& latency, double per_second, const v1::DistributionReport* distribution) {
  XdiskSide side;
  side.count = latency.count();
  side.per_second = per_second;
  side.min_ns = static_cast<double>(latency.min_ns());
  side.max_ns = static_cast<double>(latency.max_ns());
  side.avg_ns = latency.avg_ns();
  side.weighted_avg_ns = latency.wavg_ns();
  // Buckets of the report begin at each power of two of a microsecond, too: none is split.
  for (int i = 0; distribution != nullptr && i < distribution->from_ns_size(); ++i) {
    side.buckets[XdiskBucketOf(distribution->from_ns(i))] += distribution->count(i);
  }
  return side;
}

void XdiskDevices::Add(const XdiskDevices& other) {
  if (other.name.empty()) return;
  // Hosts call their devices by the same names.
  const std::vector<std::string> names = absl::StrSplit(name, ',');
  if (std::ranges::find(names, other.name) == names.end()) absl::StrAppend(&name, name.empty() ? "" : ",", other.name);
  write_ms = MeanOfBoth(write_ms, writes_per_second, other.write_ms, other.writes_per_second);
  flush_ms = MeanOfBoth(flush_ms, flushes_per_second, other.flush_ms, other.flushes_per_second);
  writes_per_second += other.writes_per_second;
  bytes_per_second += other.bytes_per_second;
  flushes_per_second += other.flushes_per_second;
  busy_percent = std::max(busy_percent, other.busy_percent);
}

XdiskDevices XdiskDevicesOf(const v1::DiskCounters& first, const v1::DiskCounters& last, int64_t length_ns) {
  XdiskDevices devices;
  devices.name = last.device();
  const uint64_t writes = Grown(first.writes(), last.writes());
  const uint64_t flushes = Grown(first.flushes(), last.flushes());
  devices.writes_per_second = PerSecondOf(writes, length_ns);
  devices.bytes_per_second = PerSecondOf(Grown(first.written_bytes(), last.written_bytes()), length_ns);
  devices.write_ms = MeanOf(Grown(first.write_time_ms(), last.write_time_ms()), writes);
  devices.flushes_per_second = PerSecondOf(flushes, length_ns);
  devices.flush_ms = MeanOf(Grown(first.flush_time_ms(), last.flush_time_ms()), flushes);
  const double busy_ms = static_cast<double>(Grown(first.busy_ms(), last.busy_ms()));
  if (length_ns > 0)
    devices.busy_percent = std::min(100.0, 100 * busy_ms * kMillisecondNs / static_cast<double>(length_ns));
  return devices;
}

std::optional<XdiskResult> XdiskResultOf(const v1::Report& report) {
  if (report.steps().empty()) return std::nullopt;
  const v1::StepReport& step = report.steps(0);
  const v1::ScopeReport* const cluster = ClusterOf(step);
  if (cluster == nullptr) return std::nullopt;
  const bool only_reads = OnlyReads(report.plan());
  XdiskResult result;
  result.all = FiguresOfScope(step, *cluster, only_reads);
  result.all.reads.per_second = 0;
  result.all.writes.per_second = 0;
  for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_HOST)) {
    XdiskFigures& host = result.hosts.emplace_back(FiguresOfScope(step, scope, only_reads));
    for (const v1::HostLoadReport& load : step.load()) {
      if (load.host() == host.host) host.devices = DevicesOf(load);
    }
    result.all.devices.Add(host.devices);
    result.all.reads.per_second += host.reads.per_second;
    result.all.writes.per_second += host.writes.per_second;
  }
  return result;
}

}  // namespace plimsoll
