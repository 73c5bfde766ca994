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

double PerSecondOf(uint64_t amount, int64_t length_ns) {
  return length_ns > 0 ? static_cast<double>(amount) * kSecondNs / static_cast<double>(length_ns) : 0;
}

double MeanOf(uint64_t sum, uint64_t count) {
  return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
}

// The growth of a counter; 0 if it went back, because the device was replaced.
uint64_t Grown(uint64_t first, uint64_t last) {
  return last > first ? last - first : 0;
}

// The mean of two means, each over so many operations per second.
double MeanOfTwo(double mean, double rate, double other_mean, double other_rate) {
  return rate + other_rate > 0 ? (mean * rate + other_mean * other_rate) / (rate + other_rate) : 0;
}

// Reads add up if they are known of both.
std::optional<XdiskDeviceReads> ReadsOfBoth(const std::optional<XdiskDeviceReads>& reads,
                                            const std::optional<XdiskDeviceReads>& other) {
  if (!reads.has_value() || !other.has_value()) return std::nullopt;
  return XdiskDeviceReads{.per_second = reads->per_second + other->per_second,
                          .bytes_per_second = reads->bytes_per_second + other->bytes_per_second,
                          .read_ms = MeanOfTwo(reads->read_ms, reads->per_second, other->read_ms, other->per_second)};
}

std::optional<XdiskDeviceReads> ReadsOver(const v1::DiskReport& disk, int64_t length_ns) {
  if (!disk.has_reads()) return std::nullopt;
  return XdiskDeviceReads{.per_second = PerSecondOf(disk.reads(), length_ns),
                          .bytes_per_second = PerSecondOf(disk.read_bytes(), length_ns),
                          .read_ms = disk.read_ms()};
}

XdiskDevices DevicesOver(const v1::DiskReport& disk, int64_t length_ns) {
  return {.name = disk.device(),
          .writes_per_second = PerSecondOf(disk.writes(), length_ns),
          .bytes_per_second = PerSecondOf(disk.written_bytes(), length_ns),
          .write_ms = disk.write_ms(),
          .flushes_per_second = PerSecondOf(disk.flushes(), length_ns),
          .flush_ms = disk.flush_ms(),
          .busy_percent = disk.busy_percent(),
          .reads = ReadsOver(disk, length_ns)};
}

// The devices of a host in a step; unknown ones if the step has no load of the host.
XdiskDevices DevicesOfHost(const v1::StepReport& step, const std::string& host) {
  const auto load = std::ranges::find(step.load(), host, &v1::HostLoadReport::host);
  if (load == step.load().end() || !load->has_disk()) return {};
  return DevicesOver(load->disk(), load->sampled_ns());
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
  (only_reads ? figures.reads : figures.writes) =
      XdiskSideOf(scope.latency(), scope.iops(), DistributionOf(step.distributions(), scope));
  const v1::OperationReport* const reads = ReadsOf(step);
  const v1::OperationScopeReport* const own = reads == nullptr ? nullptr : FindScope(*reads, scope);
  if (own == nullptr) return figures;
  figures.reads = XdiskSideOf(own->latency(), own->throughput().iops(), DistributionOf(reads->distributions(), scope));
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
  XdiskSide side{.count = histogram.count(),
                 .per_second = per_second,
                 .min_ns = static_cast<double>(histogram.min_ns()),
                 .max_ns = static_cast<double>(histogram.max_ns()),
                 .avg_ns = histogram.mean_ns(),
                 .weighted_avg_ns = histogram.WeightedMeanNs()};
  histogram.ForEachBucket(
      [&side](uint64_t lowest_ns, uint64_t count) { side.buckets[XdiskBucketOf(lowest_ns)] += count; });
  return side;
}

XdiskSide XdiskSideOf(const v1::LatencyReport& latency, double per_second, const v1::DistributionReport* distribution) {
  XdiskSide side{.count = latency.count(),
                 .per_second = per_second,
                 .min_ns = static_cast<double>(latency.min_ns()),
                 .max_ns = static_cast<double>(latency.max_ns()),
                 .avg_ns = latency.avg_ns(),
                 .weighted_avg_ns = latency.wavg_ns()};
  if (distribution == nullptr) return side;
  // A bucket of the report begins at each power of two of a microsecond, too, so that no bucket is split.
  for (int i = 0; i < distribution->from_ns_size(); ++i) {
    side.buckets[XdiskBucketOf(distribution->from_ns(i))] += distribution->count(i);
  }
  return side;
}

void XdiskDevices::Add(const XdiskDevices& other) {
  if (other.name.empty()) return;
  reads = name.empty() ? other.reads : ReadsOfBoth(reads, other.reads);
  // Devices of several hosts may have one name.
  const std::vector<std::string> names = absl::StrSplit(name, ',');
  if (std::ranges::find(names, other.name) == names.end()) absl::StrAppend(&name, name.empty() ? "" : ",", other.name);
  write_ms = MeanOfTwo(write_ms, writes_per_second, other.write_ms, other.writes_per_second);
  flush_ms = MeanOfTwo(flush_ms, flushes_per_second, other.flush_ms, other.flushes_per_second);
  writes_per_second += other.writes_per_second;
  bytes_per_second += other.bytes_per_second;
  flushes_per_second += other.flushes_per_second;
  busy_percent = std::max(busy_percent, other.busy_percent);
}

XdiskDevices XdiskDevicesOf(const v1::DiskCounters& first, const v1::DiskCounters& last, int64_t length_ns) {
  v1::DiskReport disk;
  disk.set_device(last.device());
  disk.set_writes(Grown(first.writes(), last.writes()));
  disk.set_written_bytes(Grown(first.written_bytes(), last.written_bytes()));
  disk.set_write_ms(MeanOf(Grown(first.write_time_ms(), last.write_time_ms()), disk.writes()));
  disk.set_flushes(Grown(first.flushes(), last.flushes()));
  disk.set_flush_ms(MeanOf(Grown(first.flush_time_ms(), last.flush_time_ms()), disk.flushes()));
  // Milliseconds per second are thousandths.
  disk.set_busy_percent(std::min(100.0, PerSecondOf(Grown(first.busy_ms(), last.busy_ms()), length_ns) / 10));
  if (first.has_reads() && last.has_reads()) {
    disk.set_reads(Grown(first.reads(), last.reads()));
    disk.set_read_bytes(Grown(first.read_bytes(), last.read_bytes()));
    disk.set_read_ms(MeanOf(Grown(first.read_time_ms(), last.read_time_ms()), disk.reads()));
  }
  return DevicesOver(disk, length_ns);
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
    host.devices = DevicesOfHost(step, host.host);
    result.all.devices.Add(host.devices);
    result.all.reads.per_second += host.reads.per_second;
    result.all.writes.per_second += host.writes.per_second;
  }
  return result;
}

}  // namespace plimsoll
