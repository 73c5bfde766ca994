#include "controller/export/fio_json_job.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/export/fio_histogram.h"

namespace plimsoll {
namespace {

constexpr double kBytesPerKib = 1024;
// Those that fio tells where nothing else is asked.
constexpr std::array kPercentiles = {1.0,  5.0,  10.0, 20.0, 30.0, 40.0, 50.0,  60.0, 70.0,
                                     80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99};

void Put(JsonWriter& json, const std::string& key, uint64_t value) {
  json.Key(key);
  json.UInt(value);
}
void Put(JsonWriter& json, const std::string& key, double value) {
  json.Key(key);
  json.Double(value);
}
void Put(JsonWriter& json, const std::string& key, const std::string& value) {
  json.Key(key);
  json.String(value);
}

void PutNoLatency(JsonWriter& json, const std::string& key) {
  json.Key(key);
  json.BeginObject();
  Put(json, "min", uint64_t{0});
  Put(json, "max", uint64_t{0});
  Put(json, "mean", 0.0);
  Put(json, "stddev", 0.0);
  Put(json, "N", uint64_t{0});
  json.EndObject();
}

void PutLatency(JsonWriter& json, const std::string& key, const FioJob& job) {
  const v1::LatencyReport& latency = job.scope.latency();
  if (latency.count() == 0) {
    PutNoLatency(json, key);
    return;
  }
  json.Key(key);
  json.BeginObject();
  Put(json, "min", latency.min_ns());
  Put(json, "max", latency.max_ns());
  Put(json, "mean", latency.avg_ns());
  Put(json, "stddev", StandardDeviationNs(job.latency));
  Put(json, "N", latency.count());
  json.Key("percentile");
  json.BeginObject();
  for (const double percent : kPercentiles) {
    Put(json, absl::StrFormat("%.6f", percent), job.latency.PercentileNs(percent));
  }
  json.EndObject();
  json.Key("bins");
  json.BeginObject();
  for (const auto& [middle_ns, count] : FioBins(job.latency)) Put(json, absl::StrCat(middle_ns), count);
  json.EndObject();
  json.EndObject();
}

// Writes of the step's whole seconds.
std::vector<double> WholeSeconds(const FioJob& job) {
  std::vector<double> writes;
  if (job.series == nullptr) return writes;
  std::set<uint32_t> irregular;
  for (const v1::IrregularRow& row : job.series->irregular()) irregular.insert(row.row());
  for (int row = 0; row < job.series->writes_size(); ++row) {
    if (!irregular.contains(static_cast<uint32_t>(row))) writes.push_back(static_cast<double>(job.series->writes(row)));
  }
  return writes;
}

double Deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

// Bandwidth (KiB/s) and writes per second over whole seconds.
void PutSeconds(JsonWriter& json, const FioJob& job) {
  const v1::BandwidthReport& bandwidth = job.scope.bandwidth();
  const auto block = static_cast<double>(job.step.block_size_bytes());
  const auto samples = uint64_t{bandwidth.seconds()};
  const double deviation = Deviation(WholeSeconds(job));
  Put(json, "bw_min", static_cast<uint64_t>(static_cast<double>(bandwidth.min_bytes_per_second()) / kBytesPerKib));
  Put(json, "bw_max", static_cast<uint64_t>(static_cast<double>(bandwidth.max_bytes_per_second()) / kBytesPerKib));
  Put(json, "bw_agg", 100.0);
  Put(json, "bw_mean", bandwidth.avg_bytes_per_second() / kBytesPerKib);
  Put(json, "bw_dev", deviation * block / kBytesPerKib);
  Put(json, "bw_samples", samples);
  Put(json, "iops_min", bandwidth.min_bytes_per_second() / std::max<uint64_t>(job.step.block_size_bytes(), 1));
  Put(json, "iops_max", bandwidth.max_bytes_per_second() / std::max<uint64_t>(job.step.block_size_bytes(), 1));
  Put(json, "iops_mean", block > 0 ? bandwidth.avg_bytes_per_second() / block : 0.0);
  Put(json, "iops_stddev", deviation);
  Put(json, "iops_samples", samples);
}

void PutWrites(JsonWriter& json, const FioJob& job) {
  const v1::ScopeReport& scope = job.scope;
  const double bytes_per_second = scope.iops() * static_cast<double>(job.step.block_size_bytes());
  json.Key("write");
  json.BeginObject();
  Put(json, "io_bytes", scope.bytes());
  Put(json, "io_kbytes", scope.bytes() / 1024);
  Put(json, "bw_bytes", static_cast<uint64_t>(std::llround(bytes_per_second)));
  Put(json, "bw", static_cast<uint64_t>(std::llround(bytes_per_second / kBytesPerKib)));
  Put(json, "iops", scope.iops());
  Put(json, "runtime", static_cast<uint64_t>(std::max<int64_t>(scope.measured_ns(), 0) / kNsPerMs));
  Put(json, "total_ios", scope.writes());
  Put(json, "short_ios", uint64_t{0});
  Put(json, "drop_ios", uint64_t{0});
  PutNoLatency(json, "slat_ns");
  PutLatency(json, "clat_ns", job);
  PutLatency(json, "lat_ns", job);
  PutSeconds(json, job);
  json.EndObject();
}

// A direction in which nothing was done.
void PutNothing(JsonWriter& json, const std::string& direction) {
  json.Key(direction);
  json.BeginObject();
  for (const char* key : {"io_bytes", "io_kbytes", "bw_bytes", "bw"}) Put(json, key, uint64_t{0});
  Put(json, "iops", 0.0);
  for (const char* key : {"runtime", "total_ios", "short_ios", "drop_ios"}) Put(json, key, uint64_t{0});
  for (const char* key : {"slat_ns", "clat_ns", "lat_ns"}) PutNoLatency(json, key);
  json.EndObject();
}

// Percent of the writes below each limit and not below the one before.
void PutShares(JsonWriter& json, const Histogram& latency) {
  struct Unit {
    const char* key;
    uint64_t ns;
    uint64_t least;  // limits begin above this many ns
    std::vector<uint64_t> limits;
  };
  const Unit units[] = {{"latency_ns", 1, 0, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}},
                        {"latency_us", 1000, 1000, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000}},
                        {"latency_ms", 1'000'000, 1'000'000, {2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000}}};
  const auto all = static_cast<double>(std::max<uint64_t>(latency.count(), 1));
  uint64_t below = 0;
  for (const Unit& unit : units) {
    json.Key(unit.key);
    json.BeginObject();
    for (const uint64_t limit : unit.limits) {
      // Buckets wholly below the limit: one that reaches it counts as not below.
      const uint64_t limit_ns = limit * unit.ns;
      const uint32_t last = HistogramLayout::IndexOf(limit_ns - 1);
      const uint64_t from_ns = HistogramLayout::HighestNs(last) < limit_ns ? limit_ns : HistogramLayout::LowestNs(last);
      const uint64_t until = latency.count() - latency.CountAbove(from_ns - 1);
      Put(json, absl::StrCat(limit), 100 * static_cast<double>(until - below) / all);
      below = until;
    }
    if (unit.ns == 1'000'000) Put(json, ">=2000", 100 * static_cast<double>(latency.count() - below) / all);
    json.EndObject();
  }
}

}  // namespace

void WriteFioJob(const FioJob& job, JsonWriter& json) {
  json.BeginObject();
  Put(json, "jobname", job.name);
  Put(json, "groupid", uint64_t{job.step.number()} - 1);
  Put(json, "error", uint64_t{0});
  Put(json, "elapsed",
      static_cast<uint64_t>(std::max<int64_t>(job.step.measured_ns() + job.step.warmup_ns(), 0) / kNsPerSecond));
  json.Key("job options");
  json.BeginObject();
  Put(json, "name", job.name);
  Put(json, "rw", std::string("write"));
  Put(json, "bs", absl::StrCat(job.step.block_size_bytes()));
  Put(json, "runtime", absl::StrCat(job.step.duration_ns() / kNsPerMs, "ms"));
  json.EndObject();
  if (!job.host.empty()) Put(json, "hostname", job.host);
  PutNothing(json, "read");
  PutWrites(json, job);
  PutNothing(json, "trim");
  json.Key("sync");
  json.BeginObject();
  Put(json, "total_ios", uint64_t{0});
  PutNoLatency(json, "lat_ns");
  json.EndObject();
  Put(json, "job_runtime", static_cast<uint64_t>(std::max<int64_t>(job.scope.measured_ns(), 0) / kNsPerMs));
  PutShares(json, job.latency);
  json.EndObject();
}

}  // namespace plimsoll
