#include "controller/compare/step_data.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/histogram.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/report/main_operation.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// Largest share of seconds without a distribution.
constexpr double kLargestShareUnknown = 0.05;

// Writes of the cluster that were in flight at the step's end. Reports of earlier versions have them in the series'
// closing row alone, and count them among the writes.
uint64_t ClosingWrites(const v1::StepReport& step, const v1::ScopeReport& cluster) {
  uint64_t writes = 0;
  if (cluster.has_closing()) {
    writes = cluster.closing().writes();
  } else if (const v1::SeriesReport* series = ClusterOf(step.series()); series != nullptr) {
    for (const v1::IrregularRow& row : series->irregular()) {
      if (row.closing() && row.row() < static_cast<uint32_t>(series->writes_size())) {
        writes += series->writes(static_cast<int>(row.row()));
      }
    }
  }
  return std::min(writes, cluster.latency().count());
}

bool WasMeasured(const v1::StepReport& step) {
  const v1::ScopeReport* cluster = ClusterOf(step);
  return cluster != nullptr && cluster->latency().count() > 0 && cluster->measured_ns() > 0;
}

std::vector<const v1::StepReport*> StepsOf(const v1::Report& report, uint64_t block_size_bytes) {
  std::vector<const v1::StepReport*> steps;
  for (const v1::StepReport& step : report.steps()) {
    if (step.block_size_bytes() == block_size_bytes && WasMeasured(step)) steps.push_back(&step);
  }
  return steps;
}

// Returns the step's operation of that name. Null if the cluster lacks the rates of the reads, or the part's time of
// each write, as where only some hosts measure it.
const v1::OperationReport* FindOperation(const v1::StepReport& step, const std::string& name) {
  const auto found = absl::c_find_if(
      step.operations(), [&name](const v1::OperationReport& operation) { return operation.name() == name; });
  if (found == step.operations().end()) return nullptr;
  const v1::OperationScopeReport* cluster = ClusterOf(found->scopes());
  const v1::ScopeReport* writes = ClusterOf(step);
  if (cluster == nullptr || writes == nullptr || cluster->latency().count() == 0) return nullptr;
  if (!IsPartName(name)) return cluster->has_throughput() ? &*found : nullptr;
  const uint64_t count = cluster->latency().count();
  const bool of_each = count >= writes->writes() && count - writes->writes() <= writes->closing().writes();
  return of_each ? &*found : nullptr;
}

// Returns the cluster's figures of a measured step, with the times of `operation` instead of the writes'.
v1::StepReport WithTimesOf(const v1::OperationReport& operation, const v1::StepReport& step) {
  const v1::OperationScopeReport& times = *ClusterOf(operation.scopes());
  v1::StepReport own;
  own.set_block_size_bytes(step.block_size_bytes());
  v1::ScopeReport& cluster = *own.add_scopes();
  cluster = *ClusterOf(step);
  *cluster.mutable_latency() = times.latency();
  // ClosingWrites counts the closing row of a part's series instead.
  cluster.clear_closing();
  if (times.has_throughput()) {
    const uint64_t count = times.latency().count();
    cluster.mutable_closing()->set_writes(count - std::min(times.throughput().count(), count));
    cluster.set_bytes(times.throughput().bytes());
  }
  if (const v1::SeriesReport* series = ClusterOf(operation.series()); series != nullptr) *own.add_series() = *series;
  if (step.has_whole_seconds()) own.set_whole_seconds(step.whole_seconds());
  if (const v1::SeriesReport* minutes = ClusterOf(operation.minutes()); minutes != nullptr) {
    *own.add_minutes() = *minutes;
  }
  const v1::DistributionReport* distribution = ClusterOf(operation.distributions());
  if (distribution != nullptr) *own.add_distributions() = *distribution;
  return own;
}

// Percentiles of several steps together: of their added distributions.
class AddedDistribution {
 public:
  // False where a step does not have one.
  bool Add(const v1::StepReport& step) {
    const v1::DistributionReport* distribution = ClusterOf(step.distributions());
    if (distribution == nullptr || distribution->from_ns_size() != distribution->count_size()) return false;
    for (int i = 0; i < distribution->from_ns_size(); ++i) {
      counts_[distribution->from_ns(i)] += distribution->count(i);
      total_ += distribution->count(i);
    }
    return total_ > 0;
  }

  // Highest value of the bucket that holds the percentile.
  double PercentileNs(double percent) const {
    const uint64_t rank = PercentileRank(total_, percent);
    uint64_t below = 0;
    for (const auto& [from_ns, count] : counts_) {
      below += count;
      if (below < rank) continue;
      return static_cast<double>(DistributionEndNs(from_ns));
    }
    return 0;
  }

 private:
  std::map<uint64_t, uint64_t> counts_;
  uint64_t total_ = 0;
};

void SetPercentiles(const std::vector<const v1::StepReport*>& steps, v1::RunFigures& figures) {
  const uint64_t writes = figures.writes() + figures.closing_writes();
  double p50_ns = 0;
  double p99_ns = 0;
  double p99_9_ns = 0;
  if (steps.size() == 1) {
    const v1::LatencyReport& latency = ClusterOf(*steps.front())->latency();
    p50_ns = static_cast<double>(latency.p50_ns());
    p99_ns = static_cast<double>(latency.p99_ns());
    p99_9_ns = static_cast<double>(latency.p99_9_ns());
  } else {
    AddedDistribution added;
    for (const v1::StepReport* step : steps) {
      if (!added.Add(*step)) return;
    }
    p50_ns = std::min(added.PercentileNs(50), figures.max_ns());
    p99_ns = std::min(added.PercentileNs(99), figures.max_ns());
    p99_9_ns = std::min(added.PercentileNs(99.9), figures.max_ns());
  }
  if (IsKnown(writes, 50) && p50_ns > 0) figures.set_p50_ns(p50_ns);
  if (IsKnown(writes, 99) && p99_ns > 0) figures.set_p99_ns(p99_ns);
  if (IsKnown(writes, 99.9) && p99_9_ns > 0) figures.set_p99_9_ns(p99_9_ns);
}

void SetFigures(const std::vector<const v1::StepReport*>& steps, v1::RunFigures& figures) {
  double bytes = 0;
  double sum_ns = 0;
  double max_ns = 0;
  for (const v1::StepReport* step : steps) {
    const v1::ScopeReport& cluster = *ClusterOf(*step);
    const uint64_t closing = ClosingWrites(*step, cluster);
    const uint64_t completed = cluster.latency().count() - closing;
    figures.set_writes(figures.writes() + completed);
    figures.set_closing_writes(figures.closing_writes() + closing);
    int64_t measured_ns = 0;
    const bool too_long = __builtin_add_overflow(figures.measured_ns(), cluster.measured_ns(), &measured_ns);
    figures.set_measured_ns(too_long ? INT64_MAX : measured_ns);
    bytes += step->block_size_bytes() > 0
                 ? static_cast<double>(completed) * static_cast<double>(step->block_size_bytes())
                 : static_cast<double>(cluster.bytes());
    sum_ns += cluster.latency().avg_ns() * static_cast<double>(cluster.latency().count());
    max_ns = std::max(max_ns, static_cast<double>(cluster.latency().max_ns()));
  }
  figures.set_repetitions(static_cast<uint32_t>(steps.size()));
  const double seconds = static_cast<double>(figures.measured_ns()) / static_cast<double>(kNsPerSecond);
  figures.set_iops(static_cast<double>(figures.writes()) / seconds);
  figures.set_mb_per_second(bytes / kBytesPerMegabyte / seconds);
  figures.set_avg_ns(sum_ns / static_cast<double>(figures.writes() + figures.closing_writes()));
  figures.set_max_ns(max_ns);
  SetPercentiles(steps, figures);
}

using Buckets = std::vector<SecondHistograms::Bucket>;

// Distributions of a step's seconds, by second.
std::map<uint32_t, Buckets> BucketsOf(const v1::SecondDistributionsReport& seconds) {
  std::map<uint32_t, Buckets> by_second;
  int next = 0;
  for (int row = 0; row < std::min(seconds.second_size(), seconds.buckets_size()); ++row) {
    Buckets& buckets = by_second[seconds.second(row)];
    for (uint32_t i = 0; i < seconds.buckets(row); ++i, ++next) {
      if (next >= seconds.bucket_size() || next >= seconds.count_size()) return {};  // contradicts itself
      buckets.push_back({seconds.bucket(next), seconds.count(next)});
    }
  }
  return by_second;
}

struct Second {
  double writes = 0;
  double latency_sum_ns = 0;
  // Empty: not known.
  std::optional<Buckets> buckets;
};

// Whole rows of a series, in order, each with its distribution where `distributions` has it. `seconds` may become one
// for each row of the series.
void AddRows(const v1::SeriesReport& series, std::map<uint32_t, Buckets> distributions, std::vector<Second>& seconds,
             std::vector<uint32_t>& begins, std::vector<v1::IrregularRow>& coalesced) {
  const int rows = std::min({series.second_size(), series.writes_size(), series.latency_sum_ns_size()});
  std::set<uint32_t> irregular;
  for (const v1::IrregularRow& row : series.irregular()) {
    irregular.insert(row.row());
    if (row.coalesced()) coalesced.push_back(row);
  }
  for (int row = 0; row < rows; ++row) {
    if (irregular.count(static_cast<uint32_t>(row)) > 0) continue;
    begins.push_back(series.second(row));
    Second& second = seconds.emplace_back();
    second.writes = static_cast<double>(series.writes(row));
    second.latency_sum_ns = static_cast<double>(series.latency_sum_ns(row));
    const auto found = distributions.find(series.second(row));
    if (found != distributions.end()) {
      second.buckets = std::move(found->second);
    } else if (series.writes(row) == 0) {
      second.buckets = Buckets();
    }
  }
}

// Adds up the seconds of each minute. Minutes that lack one of their seconds are left out; how many of them lack it for
// more reasons than that the step ended is added to `left_out`.
std::vector<Second> MinutesOf(std::vector<Second> seconds, const std::vector<uint32_t>& begins, size_t& left_out) {
  constexpr uint32_t kLength = static_cast<uint32_t>(TimeUnit::kMinute);
  std::vector<Second> minutes;
  uint32_t next = 0;
  for (size_t first = 0; first < seconds.size();) {
    const uint32_t minute = begins[first] / kLength;
    size_t end = first;
    Second sum;
    sum.buckets.emplace();
    for (; end < seconds.size() && begins[end] / kLength == minute; ++end) {
      sum.writes += seconds[end].writes;
      sum.latency_sum_ns += seconds[end].latency_sum_ns;
      if (!seconds[end].buckets) {
        sum.buckets.reset();
      } else if (sum.buckets) {
        sum.buckets->insert(sum.buckets->end(), seconds[end].buckets->begin(), seconds[end].buckets->end());
      }
    }
    const bool whole = end - first == kLength;
    left_out += minute - std::min(next, minute) + (whole || end == seconds.size() ? 0 : 1);
    next = minute + 1;
    if (whole) minutes.push_back(std::move(sum));
    first = end;
  }
  return minutes;
}

// Whole seconds of one step, or minutes, in order.
void AddSeconds(const v1::StepReport& step, Histograms histograms, TimeUnit unit, std::vector<Second>& seconds,
                size_t& left_out) {
  const bool minutes = unit == TimeUnit::kMinute;
  const bool folded = minutes && step.has_whole_seconds();
  const v1::SeriesReport* series = ClusterOf(folded ? step.minutes() : step.series());
  if (series == nullptr) return;
  std::vector<Second> rows;
  std::vector<uint32_t> begins;
  std::vector<v1::IrregularRow> coalesced;
  AddRows(*series, BucketsOf(folded ? step.minute_distributions() : step.seconds()), rows, begins, coalesced);
  if (minutes && !folded) {
    rows = MinutesOf(std::move(rows), begins, left_out);
  } else {
    for (const v1::IrregularRow& row : coalesced) {
      const auto length = row.length_ns() / (static_cast<int64_t>(unit) * kNsPerSecond);
      left_out += static_cast<size_t>(std::max<int64_t>(length, 1));
    }
  }
  for (Second& row : rows) {
    if (histograms == Histograms::kLeaveOut && row.buckets) row.buckets->clear();
    seconds.push_back(std::move(row));
  }
}

void AddHistograms(const std::vector<Second>& seconds, Histograms histograms, SecondsData& data) {
  const auto unknown = static_cast<size_t>(absl::c_count_if(seconds, [](const Second& s) { return !s.buckets; }));
  if (unknown == seconds.size()) {
    data.no_histograms = absl::StrCat("the report has no distributions by ", NameOf(data.unit));
    return;
  }
  if (static_cast<double>(unknown) > kLargestShareUnknown * static_cast<double>(seconds.size())) {
    data.no_histograms = absl::StrCat("the distributions of ", unknown, " of ", seconds.size(), " ", NameOf(data.unit),
                                      "s are not known");
    return;
  }
  if (histograms == Histograms::kLeaveOut) return;
  data.histograms.emplace();
  uint32_t lowest = UINT32_MAX;
  uint32_t highest = 0;
  for (size_t i = 0; i < seconds.size() / data.group * data.group; ++i) {
    if (!seconds[i].buckets) continue;
    for (const SecondHistograms::Bucket& bucket : *seconds[i].buckets) {
      if (bucket.bucket >= SecondHistograms::kBuckets) continue;
      lowest = std::min(lowest, bucket.bucket);
      highest = std::max(highest, bucket.bucket);
    }
  }
  if (lowest <= highest) data.histograms->Expect(lowest, highest);
  for (size_t begin = 0; begin + data.group <= seconds.size(); begin += data.group) {
    Buckets buckets;
    for (size_t i = begin; i < begin + data.group; ++i) {
      if (seconds[i].buckets) buckets.insert(buckets.end(), seconds[i].buckets->begin(), seconds[i].buckets->end());
    }
    data.histograms->Add(buckets);
  }
}

// Writes over time and time in writes over writes, in groups of so many seconds. What does not fill a group at the end
// is left out: at most a few seconds in hours.
void AddSeries(const std::vector<Second>& seconds, TimeUnit unit, size_t group, RatioSeries& rate, RatioSeries& mean) {
  for (size_t begin = 0; begin + group <= seconds.size(); begin += group) {
    double writes = 0;
    double sum_ns = 0;
    for (size_t i = begin; i < begin + group; ++i) {
      writes += seconds[i].writes;
      sum_ns += seconds[i].latency_sum_ns;
    }
    rate.numerator.push_back(writes);
    rate.denominator.push_back(static_cast<double>(group) * static_cast<double>(unit));
    mean.numerator.push_back(sum_ns);
    mean.denominator.push_back(writes);
  }
}

SecondsData MakeSeconds(const std::vector<const v1::StepReport*>& steps, Histograms histograms, TimeUnit unit) {
  SecondsData data;
  data.unit = unit;
  std::vector<Second> seconds;
  for (const v1::StepReport* step : steps) AddSeconds(*step, histograms, unit, seconds, data.left_out);
  data.seconds = seconds.size();
  data.group = std::max<size_t>((seconds.size() + kMaxObservations - 1) / kMaxObservations, 1);
  AddSeries(seconds, unit, data.group, data.rate, data.mean);
  if (data.group > 1) AddSeries(seconds, unit, 1, data.rate_by_second, data.mean_by_second);
  AddHistograms(seconds, histograms, data);
  return data;
}

}  // namespace

const char* NameOf(TimeUnit unit) {
  return unit == TimeUnit::kMinute ? "minute" : "second";
}

TimeUnit CommonUnit(const std::vector<SideInput>& sides, uint64_t block_size_bytes) {
  for (const SideInput& side : sides) {
    for (const RunInput& run : side.runs) {
      const std::vector<const v1::StepReport*> steps = StepsOf(run.report, block_size_bytes);
      if (absl::c_any_of(steps, [](const v1::StepReport* step) { return step->has_whole_seconds(); })) {
        return TimeUnit::kMinute;
      }
    }
  }
  return TimeUnit::kSecond;
}

std::vector<uint64_t> BlockSizes(const v1::Report& report) {
  std::set<uint64_t> sizes;
  for (const v1::StepReport& step : report.steps()) {
    if (WasMeasured(step)) sizes.insert(step.block_size_bytes());
  }
  return {sizes.begin(), sizes.end()};
}

uint64_t DistributionEndNs(uint64_t from_ns) {
  const int shift = std::max(63 - std::countl_zero(from_ns | 1) - 7, 0);
  return from_ns + ((uint64_t{1} << shift) - 1);
}

std::vector<std::string> OperationsOf(const v1::Report& report, uint64_t block_size_bytes) {
  std::vector<std::string> names;
  const std::vector<const v1::StepReport*> steps = StepsOf(report, block_size_bytes);
  if (steps.empty()) return names;
  for (const v1::OperationReport& operation : steps.front()->operations()) {
    const std::string& name = operation.name();
    const auto measured = [&name](const v1::StepReport* step) { return FindOperation(*step, name) != nullptr; };
    const bool named = !name.empty() && !absl::c_linear_search(names, name);
    if (named && absl::c_all_of(steps, measured)) names.push_back(name);
  }
  return names;
}

StepData MakeStepData(const v1::Report& report, uint64_t block_size_bytes, Histograms histograms,
                      const std::string& operation, TimeUnit unit) {
  std::vector<const v1::StepReport*> steps = StepsOf(report, block_size_bytes);
  std::vector<v1::StepReport> of_operation;
  of_operation.reserve(steps.size());
  for (const v1::StepReport*& step : steps) {
    if (operation.empty()) break;
    step = &of_operation.emplace_back(WithTimesOf(*FindOperation(*step, operation), *step));
  }
  const bool is_part = IsPartName(operation);
  StepData data;
  SetFigures(steps, data.figures);
  if (is_part) {
    data.figures.clear_iops();
    data.figures.clear_mb_per_second();
  }
  data.seconds = MakeSeconds(steps, histograms, unit);
  if (!operation.empty()) {
    data.seconds.histograms.reset();
    data.seconds.no_histograms = absl::StrCat("reports have no distributions of ",
                                              is_part ? "a part" : WholeOperations(operation), " by ", NameOf(unit));
  }
  if (unit != TimeUnit::kSecond) data.figures.set_observation_seconds(static_cast<uint32_t>(unit));
  data.figures.set_seconds(static_cast<uint32_t>(data.seconds.seconds));
  data.figures.set_left_out_seconds(static_cast<uint32_t>(data.seconds.left_out));
  data.figures.set_no_percentiles(data.seconds.no_histograms);
  return data;
}

namespace {

bool HasResponseTimes(const v1::StepReport& step) {
  const v1::SeriesReport* const series = ClusterOf(step.response().series());
  return ClusterOf(step)->has_rate() && series != nullptr && series->latency_sum_ns_size() == series->second_size();
}

void UseResponseTimes(v1::StepReport& step) {
  v1::ResponseReport& response = *step.mutable_response();
  step.mutable_series()->Swap(response.mutable_series());
  step.mutable_distributions()->Swap(response.mutable_distributions());
  step.mutable_seconds()->Swap(response.mutable_seconds());
  step.mutable_minutes()->Swap(response.mutable_minutes());
  step.mutable_minute_distributions()->Swap(response.mutable_minute_distributions());
  for (v1::ScopeReport& scope : *step.mutable_scopes()) {
    if (!scope.has_rate()) continue;
    *scope.mutable_latency() = scope.rate().response();
    scope.mutable_closing()->set_writes(scope.closing().writes() + scope.rate().unserved());
  }
}

}  // namespace

void UseResponseTimes(std::vector<SideInput>& sides) {
  const auto ready = [](const RunInput& run) {
    return run.response_times ||
           std::all_of(run.report.steps().begin(), run.report.steps().end(),
                       [](const v1::StepReport& step) { return !WasMeasured(step) || HasResponseTimes(step); });
  };
  for (const SideInput& side : sides) {
    if (!std::all_of(side.runs.begin(), side.runs.end(), ready)) return;
  }
  for (SideInput& side : sides) {
    for (RunInput& run : side.runs) {
      if (run.response_times) continue;
      run.response_times = true;
      for (v1::StepReport& step : *run.report.mutable_steps()) {
        if (WasMeasured(step)) UseResponseTimes(step);
      }
    }
  }
}

std::optional<double> FigureOf(const v1::RunFigures& figures, v1::Figure figure) {
  switch (figure) {
    case v1::FIGURE_IOPS:
      return figures.has_iops() ? std::optional(figures.iops()) : std::nullopt;
    case v1::FIGURE_MB_PER_SECOND:
      return figures.has_mb_per_second() ? std::optional(figures.mb_per_second()) : std::nullopt;
    case v1::FIGURE_AVG:
      return figures.has_avg_ns() ? std::optional(figures.avg_ns()) : std::nullopt;
    case v1::FIGURE_P50:
      return figures.has_p50_ns() ? std::optional(figures.p50_ns()) : std::nullopt;
    case v1::FIGURE_P99:
      return figures.has_p99_ns() ? std::optional(figures.p99_ns()) : std::nullopt;
    case v1::FIGURE_P99_9:
      return figures.has_p99_9_ns() ? std::optional(figures.p99_9_ns()) : std::nullopt;
    case v1::FIGURE_MAX:
      return figures.has_max_ns() ? std::optional(figures.max_ns()) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace plimsoll
