// fio's json+.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/analysis/scope_sums.h"
#include "controller/analysis/seconds.h"
#include "controller/export/formats.h"
#include "controller/export/output.h"
#include "controller/render/json.h"
#include "controller/render/text.h"
#include "controller/report/scopes.h"
#include "controller/timeline/timeline.h"
#include "plimsoll/v1/report.pb.h"

namespace plimsoll {
namespace {

using Layout = HistogramLayout;

constexpr uint32_t kBits = 6;                      // 64 buckets for each power of two
constexpr uint64_t kLargest = uint64_t{1} << 34U;  // what is not below this is in the last bucket

uint32_t LastIndex(const Histogram& histogram) {
  return Layout::IndexOf(std::min(histogram.max_ns(), Layout::kMaxValueNs));
}

// The middle of the bucket that holds a value.
uint64_t BinOf(uint64_t value_ns) {
  value_ns = std::min(value_ns, kLargest - 1);
  const auto power = static_cast<uint32_t>(63 - std::countl_zero(value_ns | 1U));
  if (power <= kBits) return value_ns;
  const uint32_t shift = power - kBits;
  return ((value_ns >> shift) << shift) + (uint64_t{1} << (shift - 1));
}
static_assert(kBits < Layout::kSubBucketHalfBits);

}  // namespace

std::map<uint64_t, uint64_t> FioBins(const Histogram& histogram) {
  std::map<uint64_t, uint64_t> bins;
  if (histogram.count() == 0) return bins;
  for (uint32_t index = 0; index <= LastIndex(histogram); ++index) {
    const uint64_t count = histogram.CountAt(index);
    if (count > 0) bins[BinOf(Layout::LowestNs(index))] += count;
  }
  return bins;
}

double StandardDeviationNs(const Histogram& histogram) {
  if (histogram.count() < 2) return 0;
  double squares = 0;
  for (uint32_t index = 0; index <= LastIndex(histogram); ++index) {
    const auto count = static_cast<double>(histogram.CountAt(index));
    const double away = static_cast<double>(Layout::MiddleNs(index)) - histogram.mean_ns();
    squares += count * away * away;
  }
  return std::sqrt(squares / (static_cast<double>(histogram.count()) - 1));
}

namespace {

// Latencies and seconds of the reads beside a step's writes.
struct FioReads {
  Histogram latency;
  PerTime<SecondSeries> series;

  // Adds a frame of the measured part.
  absl::Status Add(const v1::Frame& frame, int64_t interval_ns) {
    PLIMSOLL_RETURN_IF_ERROR(latency.Merge(frame.latency()));
    StepShape shape;
    shape.interval_ns = interval_ns;
    if (frame.closing() || frame.latency().count() == 0) return absl::OkStatus();
    AddToSeries(shape, /*rated=*/false, frame, series);
    return absl::OkStatus();
  }
  void Merge(const FioReads& other) {
    latency.Merge(other.latency);
    series[TimeKind::kService].Merge(other.series[TimeKind::kService]);
  }
  // Sums by second.
  const SecondSeries& seconds() const { return series[TimeKind::kService]; }
};

// What a job is made from. Nothing is owned.
struct FioJob {
  std::string name;
  // The host's label; empty for all hosts.
  std::string host;
  const v1::LogStep& spec;
  const v1::StepReport& step;
  const v1::ScopeReport& scope;
  // Its per-second figures; null: not known.
  const v1::SeriesReport* series = nullptr;
  const Histogram& latency;
  // The sizes of its writes with their shares, as fio's option bssplit has them; empty: they have one size.
  std::string sizes;
  // Of the syncs behind the writes, where they are measured.
  const Histogram& syncs;
  // Figures of the reads beside the writes; empty if there are none.
  const FioReads& reads;
  // Whether the step, and the run, ended as planned on the host, or on all of them: no write or read failed.
  bool completed = true;

  // Whether all operations of the step read.
  bool only_reads() const { return ReadOperationOf(spec) == kMainOperation; }
};

constexpr double kBytesPerKib = 1024;
// fio's default list.
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

void PutLatency(JsonWriter& json, const std::string& key, const Histogram& latency) {
  if (latency.count() == 0) {
    PutNoLatency(json, key);
    return;
  }
  json.Key(key);
  json.BeginObject();
  Put(json, "min", latency.min_ns());
  Put(json, "max", latency.max_ns());
  Put(json, "mean", latency.mean_ns());
  Put(json, "stddev", StandardDeviationNs(latency));
  Put(json, "N", latency.count());
  json.Key("percentile");
  json.BeginObject();
  for (const double percent : kPercentiles) Put(json, absl::StrFormat("%.6f", percent), latency.PercentileNs(percent));
  json.EndObject();
  json.Key("bins");
  json.BeginObject();
  for (const auto& [middle_ns, count] : FioBins(latency)) Put(json, absl::StrCat(middle_ns), count);
  json.EndObject();
  json.EndObject();
}

// Operations, or their bytes, of the step's whole seconds.
std::vector<double> WholeSeconds(const FioJob& job, bool bytes = false) {
  std::vector<double> values;
  if (job.series == nullptr) return values;
  std::set<uint32_t> irregular;
  for (const v1::IrregularRow& row : job.series->irregular()) irregular.insert(row.row());
  const auto& column = bytes ? job.series->bytes() : job.series->writes();
  for (int row = 0; row < column.size(); ++row) {
    if (!irregular.contains(static_cast<uint32_t>(row))) values.push_back(static_cast<double>(column.Get(row)));
  }
  return values;
}

// Size of each of the job's blocks; 0: they differ.
uint64_t BlockBytesOf(const FioJob& job) {
  if (job.step.block_size_bytes() > 0 || !job.sizes.empty() || job.scope.kind() != v1::SCOPE_KIND_QM ||
      job.scope.writes() == 0) {
    return job.step.block_size_bytes();
  }
  return job.scope.bytes() / job.scope.writes();
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

// Figures over whole seconds: bytes and operations of each. What the report has no seconds for is left out.
struct FioSeconds {
  uint64_t samples = 0;
  uint64_t min_bytes = 0;
  uint64_t max_bytes = 0;
  double mean_bytes = 0;
  std::optional<double> deviation_bytes;
  std::optional<uint64_t> min_ios;
  std::optional<uint64_t> max_ios;
  std::optional<double> mean_ios;
  std::optional<double> deviation_ios;
};

// Whether the job's series lacks seconds: those of a host or queue manager end early in a step that was folded by age.
bool LacksSeconds(const FioJob& job) {
  return job.step.has_whole_seconds() && job.scope.kind() != v1::SCOPE_KIND_CLUSTER &&
         job.step.whole_seconds() < job.scope.bandwidth().seconds();
}

// Returns the figures of the step's main operation; nothing if the step had no whole second.
std::optional<FioSeconds> SecondsOfMain(const FioJob& job) {
  const v1::BandwidthReport& bandwidth = job.scope.bandwidth();
  if (bandwidth.seconds() == 0) return std::nullopt;
  const uint64_t block_bytes = BlockBytesOf(job);
  const auto block = static_cast<double>(block_bytes);
  const std::vector<double> ios = WholeSeconds(job);
  FioSeconds seconds;
  seconds.samples = bandwidth.seconds();
  seconds.min_bytes = bandwidth.min_bytes_per_second();
  seconds.max_bytes = bandwidth.max_bytes_per_second();
  seconds.mean_bytes = bandwidth.avg_bytes_per_second();
  const bool lacks_seconds = LacksSeconds(job);
  if (!lacks_seconds) {
    seconds.deviation_ios = Deviation(ios);
    seconds.deviation_bytes = block > 0 ? *seconds.deviation_ios * block : Deviation(WholeSeconds(job, true));
  }
  if (block > 0 || (ios.empty() && !lacks_seconds)) {
    seconds.min_ios = seconds.min_bytes / std::max<uint64_t>(block_bytes, 1);
    seconds.max_ios = seconds.max_bytes / std::max<uint64_t>(block_bytes, 1);
    seconds.mean_ios = block > 0 ? seconds.mean_bytes / block : 0.0;
  } else if (!lacks_seconds) {
    seconds.min_ios = static_cast<uint64_t>(*std::min_element(ios.begin(), ios.end()));
    seconds.max_ios = static_cast<uint64_t>(*std::max_element(ios.begin(), ios.end()));
    seconds.mean_ios = std::accumulate(ios.begin(), ios.end(), 0.0) / static_cast<double>(ios.size());
  }
  return seconds;
}

// Returns the figures of the reads beside the writes, over the seconds of SecondsOfMain.
std::optional<FioSeconds> SecondsOfReads(const FioJob& job) {
  const uint32_t samples = job.scope.bandwidth().seconds();
  if (samples == 0) return std::nullopt;
  const SecondExtremes bytes = job.reads.seconds().Extremes(samples, &WriteSums::bytes);
  const SecondExtremes ios = job.reads.seconds().Extremes(samples);
  std::vector<double> bytes_each;
  std::vector<double> ios_each;
  job.reads.seconds().ForEachRow(samples, [&](const SeriesRow& row) {
    if (row.first != row.last) return;
    bytes_each.push_back(static_cast<double>(row.sums.bytes));
    ios_each.push_back(static_cast<double>(row.sums.writes));
  });
  FioSeconds seconds;
  seconds.samples = samples;
  seconds.min_bytes = bytes.min;
  seconds.max_bytes = bytes.max;
  seconds.mean_bytes = static_cast<double>(bytes.sum) / samples;
  seconds.deviation_bytes = Deviation(bytes_each);
  seconds.min_ios = ios.min;
  seconds.max_ios = ios.max;
  seconds.mean_ios = static_cast<double>(ios.sum) / samples;
  seconds.deviation_ios = Deviation(ios_each);
  return seconds;
}

// Puts figures over whole seconds, bandwidth in KiB/s.
void PutSeconds(JsonWriter& json, const FioSeconds& seconds) {
  Put(json, "bw_min", static_cast<uint64_t>(static_cast<double>(seconds.min_bytes) / kBytesPerKib));
  Put(json, "bw_max", static_cast<uint64_t>(static_cast<double>(seconds.max_bytes) / kBytesPerKib));
  Put(json, "bw_mean", seconds.mean_bytes / kBytesPerKib);
  if (seconds.deviation_bytes) Put(json, "bw_dev", *seconds.deviation_bytes / kBytesPerKib);
  Put(json, "bw_samples", seconds.samples);
  if (seconds.min_ios) Put(json, "iops_min", *seconds.min_ios);
  if (seconds.max_ios) Put(json, "iops_max", *seconds.max_ios);
  if (seconds.mean_ios) Put(json, "iops_mean", *seconds.mean_ios);
  if (seconds.deviation_ios) Put(json, "iops_stddev", *seconds.deviation_ios);
  Put(json, "iops_samples", seconds.samples);
}

// Puts what a job did in one direction. `figures`: a ScopeReport, or the throughput of an operation.
template <typename Throughput>
void PutDirection(JsonWriter& json, const FioJob& job, const std::string& direction, uint64_t ios,
                  const Throughput& figures, const Histogram& latency, const std::optional<FioSeconds>& seconds) {
  const uint64_t block_bytes = BlockBytesOf(job);
  const double bytes_per_second =
      block_bytes > 0 ? figures.iops() * static_cast<double>(block_bytes) : figures.mb_per_second() * kBytesPerMegabyte;
  json.Key(direction);
  json.BeginObject();
  Put(json, "io_bytes", figures.bytes());
  Put(json, "io_kbytes", figures.bytes() / 1024);
  Put(json, "bw_bytes", static_cast<uint64_t>(std::llround(bytes_per_second)));
  Put(json, "bw", static_cast<uint64_t>(std::llround(bytes_per_second / kBytesPerKib)));
  Put(json, "iops", figures.iops());
  Put(json, "runtime", static_cast<uint64_t>(std::max<int64_t>(job.scope.measured_ns(), 0) / kNsPerMs));
  Put(json, "total_ios", ios);
  Put(json, "short_ios", uint64_t{0});
  PutLatency(json, "clat_ns", latency);
  PutLatency(json, "lat_ns", latency);
  if (seconds) PutSeconds(json, *seconds);
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

// The throughput of the reads beside the writes; null: there are none, or nothing of them is known.
const v1::OperationThroughputReport* ReadThroughput(const FioJob& job) {
  for (const v1::OperationReport& operation : job.step.operations()) {
    if (operation.name() != kReadName) continue;
    const v1::OperationScopeReport* const scope = FindScope(operation, job.scope);
    if (scope != nullptr && scope->has_throughput()) return &scope->throughput();
  }
  return nullptr;
}

// Puts both directions of the job.
void PutDirections(JsonWriter& json, const FioJob& job) {
  const auto put_main = [&](const char* direction) {
    PutDirection(json, job, direction, job.scope.writes(), job.scope, job.latency, SecondsOfMain(job));
  };
  if (job.only_reads()) {
    put_main("read");
    return PutNothing(json, "write");
  }
  if (const v1::OperationThroughputReport* const reads = ReadThroughput(job); reads != nullptr) {
    PutDirection(json, job, "read", reads->count(), *reads, job.reads.latency, SecondsOfReads(job));
  } else {
    PutNothing(json, "read");
  }
  put_main("write");
}

// fio's name of what the step does: "write", "randread", "rw" and so on.
std::string RwOf(const v1::LogStep& step) {
  const uint32_t reads = step.read_percent();
  return absl::StrCat(step.random_order() ? "rand" : "", reads == 0 ? "write" : reads == kOnlyReads ? "read" : "rw");
}

// Percent of the writes and reads below each limit and not below the one before.
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

// Writes the job as one object.
void WriteFioJob(const FioJob& job, JsonWriter& json) {
  json.BeginObject();
  Put(json, "jobname", job.name);
  Put(json, "groupid", uint64_t{job.step.number()} - 1);
  if (job.completed) Put(json, "error", uint64_t{0});
  Put(json, "elapsed",
      static_cast<uint64_t>(std::max<int64_t>(job.step.measured_ns() + job.step.warmup_ns(), 0) / kNsPerSecond));
  json.Key("job options");
  json.BeginObject();
  Put(json, "name", job.name);
  Put(json, "rw", RwOf(job.spec));
  if (!job.only_reads() && job.spec.read_percent() > 0) {
    Put(json, "rwmixread", absl::StrCat(job.spec.read_percent()));
  }
  if (job.sizes.empty()) {
    Put(json, "bs", absl::StrCat(BlockBytesOf(job)));
  } else {
    Put(json, "bssplit", job.sizes);
  }
  Put(json, "runtime", absl::StrCat(job.step.duration_ns() / kNsPerMs, "ms"));
  json.EndObject();
  if (!job.host.empty()) Put(json, "hostname", job.host);
  PutDirections(json, job);
  PutNothing(json, "trim");
  if (job.syncs.count() > 0) {
    json.Key("sync");
    json.BeginObject();
    Put(json, "total_ios", job.syncs.count());
    PutLatency(json, "lat_ns", job.syncs);
    json.EndObject();
  }
  Put(json, "job_runtime", static_cast<uint64_t>(std::max<int64_t>(job.scope.measured_ns(), 0) / kNsPerMs));
  Histogram all;
  all.Merge(job.latency);
  all.Merge(job.reads.latency);
  PutShares(json, all);
  json.EndObject();
}

class FioJson {
 public:
  FioJson(const RunIndex& index, const WriteFilter& filter, Output& output)
      : index_(index), filter_(filter), output_(output) {
    for (const v1::StepReport& step : index.report().steps()) steps_[step.number() - 1] = &step;
  }

  absl::StatusOr<uint64_t> Write() {
    Begin();
    PLIMSOLL_RETURN_IF_ERROR(index_.ForEachFrame([this](uint32_t writer, const v1::Frame& frame) -> absl::Status {
      const bool warmup = !frame.closing() && frame.first_interval() < 0;
      if (warmup || (filter_.step && *filter_.step != frame.step())) return absl::OkStatus();
      if (frame.step() != step_) EndStep();
      step_ = frame.step();
      if (frame.operation() == kMainOperation) return latencies_[writer].Merge(frame.latency());
      if (index_.IsRead(step_, frame.operation())) {
        return reads_[writer].Add(frame, index_.report().run().frame_interval_ns());
      }
      return frame.operation() == kSyncOperation ? syncs_[writer].Merge(frame.latency()) : absl::OkStatus();
    }));
    EndStep();
    json_.EndArray();
    json_.EndObject();
    // fio's client mode has its jobs under another name, where its readers look for them.
    std::string text = json_.Take();
    constexpr std::string_view kJobs = "\"jobs\": ";
    const size_t begin = text.find(kJobs) + kJobs.size();
    const size_t end = text.rfind(']') + 1;
    text.insert(end, absl::StrCat(",\n  \"client_stats\": ", text.substr(begin, end - begin)));
    PLIMSOLL_RETURN_IF_ERROR(output_.Append(text));
    return writes_;
  }

 private:
  void Begin() {
    const google::protobuf::Timestamp& begin = index_.report().run().begin();
    json_.BeginObject();
    json_.Key("fio version");
    json_.String(absl::StrCat("plimsoll-", index_.report().run().version()));
    json_.Key("timestamp");
    json_.Int(begin.seconds());
    json_.Key("timestamp_ms");
    json_.Int(begin.seconds() * 1000 + begin.nanos() / kNsPerMs);
    json_.Key("time");
    json_.String(FormatUtc(begin.seconds() * kNsPerSecond + begin.nanos()));
    json_.Key("jobs");
    json_.BeginArray();
  }

  // The jobs of the step whose frames have come.
  void EndStep() {
    const auto found = steps_.find(step_);
    if (!latencies_.empty() && found != steps_.end()) {
      const v1::StepReport& step = *found->second;
      Histogram all;
      Histogram all_syncs;
      FioReads all_reads;
      for (const v1::ScopeReport& scope : OfKind(step.scopes(), v1::SCOPE_KIND_QM)) {
        PutWriter(step, scope, all, all_syncs, all_reads);
      }
      if (const v1::ScopeReport* const cluster = ClusterOf(step); cluster != nullptr) {
        WriteFioJob({"All clients", "", SpecOfStep(step), step, *cluster, ClusterOf(step.series()), all, SizesOf(step),
                     all_syncs, all_reads, Completed(step, "")},
                    json_);
      }
    }
    latencies_.clear();
    syncs_.clear();
    reads_.clear();
  }

  // Returns what is known of the scope's writer; `none` if nothing is.
  template <typename Known>
  const Known& OfScope(const std::map<uint32_t, Known>& known, const v1::ScopeReport& scope, const Known& none) const {
    for (const auto& [place, of_writer] : known) {
      const IndexedWriter& writer = index_.writers()[place];
      if (writer.qm == scope.qm() && index_.hosts().at(writer.host).label == scope.host()) return of_writer;
    }
    return none;
  }

  void PutWriter(const v1::StepReport& step, const v1::ScopeReport& scope, Histogram& all, Histogram& all_syncs,
                 FioReads& all_reads) {
    const Histogram none;
    const FioReads no_reads = FioReads();
    const Histogram& latency = OfScope(latencies_, scope, none);
    const Histogram& syncs = OfScope(syncs_, scope, none);
    const FioReads& reads = OfScope(reads_, scope, no_reads);
    WriteFioJob({absl::StrCat(scope.host(), "/", QmText(index_.report(), scope.host(), scope.qm())), scope.host(),
                 SpecOfStep(step), step, scope, SeriesOf(step, scope), latency, SizesOf(step), syncs, reads,
                 Completed(step, scope.host())},
                json_);
    all.Merge(latency);
    all_syncs.Merge(syncs);
    all_reads.Merge(reads);
    writes_ += scope.latency().count() + reads.latency.count();
  }

  const v1::LogStep& SpecOfStep(const v1::StepReport& step) const { return index_.steps().at(step.number() - 1).step; }

  std::string SizesOf(const v1::StepReport& step) const {
    return absl::StrJoin(SpecOfStep(step).size_mix(), ":", [](std::string* text, const v1::SizeShare& share) {
      absl::StrAppend(text, share.block_size_bytes(), "/", share.percent());
    });
  }

  // `host`: its label; empty: of all hosts.
  bool Completed(const v1::StepReport& step, const std::string& host) const {
    const auto& hosts = index_.report().hosts();
    if (index_.report().run().state() != v1::RUN_STATE_COMPLETE) return false;
    return step.cut_short().empty() && std::none_of(hosts.begin(), hosts.end(), [&](const v1::HostReport& each) {
             return each.has_lost() && (host.empty() || each.label() == host);
           });
  }

  static const v1::SeriesReport* SeriesOf(const v1::StepReport& step, const v1::ScopeReport& scope) {
    for (const v1::SeriesReport& series : OfKind(step.series(), scope.kind())) {
      if (series.host() == scope.host() && series.qm() == scope.qm()) return &series;
    }
    return nullptr;
  }

  const RunIndex& index_;
  const WriteFilter filter_;
  Output& output_;
  // By number, from 0.
  std::map<uint32_t, const v1::StepReport*> steps_;
  uint32_t step_ = 0;
  // Latencies of the step whose frames come, by place of the writer.
  std::map<uint32_t, Histogram> latencies_;
  std::map<uint32_t, Histogram> syncs_;
  std::map<uint32_t, FioReads> reads_;
  JsonWriter json_;
  uint64_t writes_ = 0;
};

}  // namespace

absl::StatusOr<uint64_t> ExportFioJson(const RunIndex& index, const WriteFilter& filter, Output& output) {
  return FioJson(index, filter, output).Write();
}

}  // namespace plimsoll
