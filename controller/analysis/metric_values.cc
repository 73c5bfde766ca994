#include "controller/analysis/metric_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr char kDataMissing[] = "data are missing: some were refused or never came";
constexpr char kInFlight[] = "a write was still in flight when the data end";
constexpr char kCoarseClock[] = "the clock is too coarse for this limit";
constexpr char kHarness[] = "the load generator was the bottleneck";
// A writer that waited longer than this share of the time for its recorder measured the harness.
constexpr double kHarnessShare = 0.001;

Reading At(const v1::ScopeReport& scope) {
  Reading reading;
  reading.kind = scope.kind();
  reading.host = scope.host();
  reading.qm = scope.qm();
  reading.storage = scope.storage();
  return reading;
}

Reading At(const ScopeFigures& figures) {
  Reading reading = At(figures.scope);
  reading.of_lost_host =
      figures.sums.lost && (reading.kind == v1::SCOPE_KIND_QM || reading.kind == v1::SCOPE_KIND_HOST);
  return reading;
}

Reading Without(Reading reading, const std::string& why) {
  reading.doubt = why;
  return reading;
}

void SetExact(double value, Reading& reading) {
  reading.value = reading.least = reading.most = value;
}

void Widen(double least, double most, const std::string& why, Reading& reading) {
  if (least >= reading.least && most <= reading.most) return;
  reading.least = std::min(reading.least, least);
  reading.most = std::max(reading.most, most);
  if (reading.doubt.empty()) reading.doubt = why;
}

bool IsLimitedByHarness(const ScopeSums& sums) {
  return static_cast<double>(sums.ring_full_wait_ns) > kHarnessShare * static_cast<double>(sums.elapsed_ns);
}

// Writes of which the scope's latencies lack the value; UINT64_MAX: nobody knows how many.
uint64_t MissingOf(const Criterion& criterion, const ScopeFigures& figures) {
  const ScopeSums& sums = figures.sums;
  if (criterion.service_time || sums.missing_writes == UINT64_MAX) return sums.missing_writes;
  if (sums.unserved_unknown) return UINT64_MAX;
  const uint64_t responses = figures.response.count();
  return sums.missing_writes + (sums.latency.count() > responses ? sums.latency.count() - responses : 0);
}

// How far a latency may be off for the clock's sake.
double ClockStep(const ScopeSums& sums) {
  return sums.clock_step_ns > 1 ? static_cast<double>(sums.clock_step_ns) : 0;
}

const Histogram& LatencyOf(const Criterion& criterion, const ScopeFigures& figures) {
  return criterion.service_time ? figures.sums.latency : figures.response;
}

// Writes that do not fulfil the criterion by the highest value of their bucket, as percentiles have it. A write of
// `shift_ns` less, or more, counts as the limit's.
uint64_t CountBeyond(const Criterion& criterion, const Histogram& writes, double shift_ns) {
  if (writes.count() == 0) return 0;
  const double limit_ns =
      std::clamp(criterion.limit + shift_ns, 0.0, static_cast<double>(HistogramLayout::kMaxValueNs));
  Criterion shifted = criterion;
  shifted.limit = limit_ns;
  const auto whole_ns = static_cast<uint64_t>(limit_ns);
  const uint32_t index = HistogramLayout::IndexOf(whole_ns);
  const uint64_t highest_ns = std::min(HistogramLayout::HighestNs(index), writes.max_ns());
  const uint64_t lowest_ns = HistogramLayout::LowestNs(index);
  const uint64_t above = writes.CountAbove(whole_ns);
  const uint64_t from_bucket = lowest_ns == 0 ? writes.count() : writes.CountAbove(lowest_ns - 1);
  const bool bucket_fulfils = Fulfils(shifted, static_cast<double>(highest_ns));
  if (WantsSmall(criterion)) return bucket_fulfils ? above : from_bucket;
  return writes.count() - (bucket_fulfils ? from_bucket : above);
}

BeyondLimit MakeBeyond(const Criterion& criterion, const ScopeFigures& figures) {
  const Histogram& writes = LatencyOf(criterion, figures);
  const bool small = WantsSmall(criterion);
  const double step_ns = ClockStep(figures.sums);
  BeyondLimit beyond;
  beyond.writes = writes.count();
  beyond.measured_ns = figures.scope.measured_ns();
  beyond.missing = MissingOf(criterion, figures);
  beyond.certain = CountBeyond(criterion, writes, small ? step_ns : -step_ns);
  beyond.possible = CountBeyond(criterion, writes, small ? -step_ns : step_ns);
  if (small && !criterion.service_time && IsLimitedByHarness(figures.sums)) {
    beyond.certain = std::min(beyond.certain, CountBeyond(criterion, figures.sums.latency, step_ns));
  }
  for (const int64_t age_ns : figures.sums.in_flight_ages_ns) {
    ++beyond.writes;
    const bool fulfils = Fulfils(criterion, static_cast<double>(std::max<int64_t>(age_ns, 0)));
    // It takes this long at least.
    if (small && !fulfils) ++beyond.certain;
    if (small || !fulfils) ++beyond.possible;
  }
  return beyond;
}

Reading Latency(const Criterion& criterion, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const ScopeSums& sums = figures.sums;
  const Histogram& writes = LatencyOf(criterion, figures);
  if (writes.count() == 0 && sums.in_flight_ages_ns.empty()) return Without(reading, "there was no write");
  const auto value_of = [&criterion](const Histogram& of) {
    switch (criterion.metric) {
      case Metric::kPercentile:
        return static_cast<double>(of.PercentileNs(criterion.percentile));
      case Metric::kMin:
        return static_cast<double>(of.min_ns());
      case Metric::kAverage:
        return of.mean_ns();
      case Metric::kWeightedAverage:
        return of.WeightedMeanNs();
      default:
        return static_cast<double>(of.max_ns());
    }
  };
  SetExact(value_of(writes), reading);
  if (criterion.metric == Metric::kPercentile) {
    reading.beyond = MakeBeyond(criterion, figures);
    if (reading.beyond->missing > 0) {
      reading.doubt = kDataMissing;
    } else if (ClockStep(sums) > 0) {
      reading.doubt = kCoarseClock;
    } else if (!sums.in_flight_ages_ns.empty()) {
      reading.doubt = kInFlight;
    }
    return reading;
  }
  const bool is_max = criterion.metric == Metric::kMax;
  const bool is_min = criterion.metric == Metric::kMin;
  const double value = *reading.value;
  if (is_max && !sums.in_flight_ages_ns.empty()) {
    const auto oldest_ns =
        static_cast<double>(*std::max_element(sums.in_flight_ages_ns.begin(), sums.in_flight_ages_ns.end()));
    if (oldest_ns > value) SetExact(oldest_ns, reading);
    Widen(*reading.value, kNoBound, kInFlight, reading);
  }
  if (MissingOf(criterion, figures) > 0) Widen(is_max ? value : 0, is_min ? value : kNoBound, kDataMissing, reading);
  if (const double step_ns = ClockStep(sums); step_ns > 0) {
    Widen(std::max(reading.least - step_ns, 0.0), reading.most + step_ns, kCoarseClock, reading);
  }
  if (!criterion.service_time && sums.asked_iops > 0 && IsLimitedByHarness(sums)) {
    Widen(value_of(sums.latency), reading.most, kHarness, reading);
  }
  return reading;
}

// A number of writes, or of what grows with it, that can only be larger than what came.
void WidenByMissing(const ScopeFigures& figures, Reading& reading) {
  const ScopeSums& sums = figures.sums;
  const double value = *reading.value;
  const auto count = static_cast<double>(sums.latency.count());
  if (sums.missing_writes == UINT64_MAX || (sums.missing_writes > 0 && count == 0)) {
    Widen(value, kNoBound, kDataMissing, reading);
  } else if (sums.missing_writes > 0) {
    Widen(value, value * (count + static_cast<double>(sums.missing_writes)) / count, kDataMissing, reading);
  }
  const auto elapsed_ns = static_cast<double>(sums.elapsed_ns);
  const auto waited_ns = static_cast<double>(sums.ring_full_wait_ns);
  if (IsLimitedByHarness(sums) && elapsed_ns > waited_ns) {
    Widen(value, value * elapsed_ns / (elapsed_ns - waited_ns), kHarness, reading);
  }
  reading.lost_more = sums.lost;
}

Reading Throughput(const Criterion& criterion, const ScopeFigures& figures) {
  Reading reading = At(figures);
  if (figures.scope.measured_ns() <= 0) return Without(reading, "nothing was measured");
  switch (criterion.metric) {
    case Metric::kWritesPerSecond:
      SetExact(figures.scope.iops(), reading);
      break;
    case Metric::kBytesPerSecond:
      SetExact(figures.scope.mb_per_second() * kBytesPerMegabyte, reading);
      break;
    default:
      SetExact(static_cast<double>(figures.scope.writes()), reading);
      if (figures.cut_short) Widen(*reading.value, kNoBound, "the step ended early", reading);
  }
  WidenByMissing(figures, reading);
  return reading;
}

Reading WorstSecond(const Criterion& criterion, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const SecondExtremes& extremes = figures.extremes;
  if (extremes.seconds == 0) return Without(reading, "there was no whole second");
  const double unit = criterion.metric == Metric::kMinBytesPerSecond && figures.scope.writes() > 0
                          ? static_cast<double>(figures.scope.bytes()) / static_cast<double>(figures.scope.writes())
                          : 1;
  SetExact(static_cast<double>(extremes.min_writes) * unit, reading);
  if (extremes.averaged_seconds > 0) {
    Widen(0, static_cast<double>(extremes.most_min_writes) * unit,
          absl::StrCat("of ", extremes.averaged_seconds, " seconds only averages are known"), reading);
  }
  if (figures.sums.missing_writes > 0) Widen(*reading.value, kNoBound, kDataMissing, reading);
  WidenByMissing(figures, reading);
  return reading;
}

Reading RateAchieved(const Criterion& /*criterion*/, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const ScopeSums& sums = figures.sums;
  if (sums.rate_due == 0) return Without(reading, "too short for one write at the target rate");
  const auto due = static_cast<double>(sums.rate_due);
  SetExact(100 * static_cast<double>(sums.rate_completed) / due, reading);
  WidenByMissing(figures, reading);
  reading.most = std::min(reading.most, 100.0);
  return reading;
}

Reading NotIssued(const Criterion& /*criterion*/, const ScopeFigures& figures) {
  Reading reading = At(figures);
  SetExact(static_cast<double>(figures.sums.unserved), reading);
  if (figures.sums.unserved_unknown) Widen(*reading.value, kNoBound, "a writer's own count is missing", reading);
  reading.lost_more = figures.sums.lost;
  return reading;
}

constexpr char kNoStalls[] = "the hosts do not report stalls";

// What is in no figure of the stalls could make them more.
void WidenStalls(const StepFigures& figures, Reading& reading) {
  if (figures.data_missing) Widen(reading.least, kNoBound, kDataMissing, reading);
  if (figures.report.stalls().left_out() > 0) Widen(reading.least, kNoBound, "stalls were left out", reading);
}

uint64_t StallsOf(const Criterion& criterion, const v1::StallsReport& stalls) {
  if (criterion.stall_class == v1::STALL_CLASS_UNSPECIFIED) return stalls.count();
  for (const v1::StallCount& one : stalls.classes()) {
    if (one.stall_class() == criterion.stall_class) return one.count();
  }
  return 0;
}

std::vector<Reading> Stalls(const Criterion& criterion, const StepFigures& figures) {
  if (!figures.report.has_stalls()) return {Without({}, kNoStalls)};
  Reading reading;
  SetExact(static_cast<double>(StallsOf(criterion, figures.report.stalls())), reading);
  WidenStalls(figures, reading);
  return {reading};
}

std::vector<Reading> LongestStall(const Criterion& criterion, const StepFigures& figures) {
  if (!figures.report.has_stalls()) return {Without({}, kNoStalls)};
  const v1::StallsReport& stalls = figures.report.stalls();
  Reading reading;
  SetExact(0, reading);
  bool listed = false;
  bool open = false;
  int64_t shortest_listed_ns = INT64_MAX;
  for (const v1::StallReport& stall : stalls.stalls()) {
    shortest_listed_ns = std::min(shortest_listed_ns, stall.length_ns());
    if (criterion.stall_class != v1::STALL_CLASS_UNSPECIFIED && stall.stall_class() != criterion.stall_class) continue;
    listed = true;
    open = open || stall.open();
    const auto length_ns = static_cast<double>(stall.length_ns());
    const auto error_ns = static_cast<double>(stall.error_ns());
    reading.value = std::max(*reading.value, length_ns);
    reading.least = std::max(reading.least, length_ns - error_ns);
    reading.most = std::max(reading.most, length_ns + error_ns);
  }
  if (reading.least < reading.most) reading.doubt = "the clocks' errors leave it open";
  // The list holds the longest of all classes.
  if (!listed && StallsOf(criterion, stalls) > 0) {
    Widen(0, static_cast<double>(shortest_listed_ns), "none of its class is among those that are listed", reading);
  }
  if (open) Widen(reading.least, kNoBound, "a stall was still open when the data end", reading);
  WidenStalls(figures, reading);
  return {reading};
}

// A figure of the step's trend, which needs every second.
std::vector<Reading> OfTrend(const StepFigures& figures, double value) {
  if (!figures.report.has_trend()) return {Without({}, "the step has fewer than five whole seconds")};
  if (!std::isfinite(value)) return {Without({}, "a third of the step is without a write")};
  if (figures.data_missing) return {Without({}, kDataMissing)};
  for (const v1::ScopeReport& scope : figures.report.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_CLUSTER && scope.bandwidth().averaged_seconds() > 0) {
      return {
          Without({}, absl::StrCat("of ", scope.bandwidth().averaged_seconds(), " seconds only averages are known"))};
    }
  }
  Reading reading;
  SetExact(value, reading);
  return {reading};
}

std::vector<Reading> Steady(const Criterion& /*criterion*/, const StepFigures& figures) {
  return OfTrend(figures, figures.report.trend().steady() ? 1 : 0);
}

std::vector<Reading> DriftIops(const Criterion& /*criterion*/, const StepFigures& figures) {
  return OfTrend(figures, figures.report.trend().iops_change_percent());
}

std::vector<Reading> DriftLatency(const Criterion& /*criterion*/, const StepFigures& figures) {
  return OfTrend(figures, figures.report.trend().avg_change_percent());
}

std::vector<Reading> Fairness(const Criterion& criterion, const StepFigures& figures) {
  const v1::FairnessReport& fairness = figures.report.fairness();
  const bool of_hosts = criterion.scope == CriterionScope::kHost;
  const double value = of_hosts ? fairness.hosts() : fairness.queue_managers();
  if (value == 0)
    return {Without({}, of_hosts ? "there are fewer than two hosts" : "there are fewer than two queue managers")};
  if (figures.data_missing) return {Without({}, kDataMissing)};
  Reading reading;
  SetExact(value, reading);
  return {reading};
}

std::vector<Reading> StartSkew(const Criterion& /*criterion*/, const StepFigures& figures) {
  if (!figures.report.has_start_skew()) return {Without({}, "no first write is known")};
  const v1::StartSkewReport& skew = figures.report.start_skew();
  const auto value = static_cast<double>(skew.skew_ns());
  const auto error = static_cast<double>(skew.error_ns());
  Reading reading;
  SetExact(value, reading);
  Widen(std::max(value - error, 0.0), value + error, "the clocks' errors leave it open", reading);
  uint64_t hosts = 0;
  for (const v1::ScopeReport& scope : figures.report.scopes()) hosts += scope.kind() == v1::SCOPE_KIND_HOST ? 1U : 0U;
  if (static_cast<uint64_t>(skew.hosts_size()) < hosts) {
    Widen(reading.least, kNoBound, "a host has no first write, or its clock is not known", reading);
  }
  return {reading};
}

std::vector<Reading> NfsRetransmits(const Criterion& criterion, const StepFigures& figures) {
  Reading all;
  SetExact(0, all);
  std::vector<Reading> each;
  for (const v1::ScopeReport& scope : figures.report.scopes()) {
    if (scope.kind() != v1::SCOPE_KIND_HOST) continue;
    Reading& one = each.emplace_back(At(scope));
    const auto load = std::find_if(figures.report.load().begin(), figures.report.load().end(),
                                   [&scope](const v1::HostLoadReport& of) { return of.host() == scope.host(); });
    if (load == figures.report.load().end() || !load->has_nfs()) {
      one.doubt = "the host reports no NFS mount below its directory";
      Widen(all.least, kNoBound, absl::StrCat(scope.host(), " reports no NFS mount below its directory"), all);
      continue;
    }
    const auto retransmits =
        static_cast<double>(load->nfs().write().retransmits() + load->nfs().commit().retransmits());
    SetExact(retransmits, one);
    all.value = *all.value + retransmits;
    all.least += retransmits;
    all.most += retransmits;
  }
  if (criterion.scope == CriterionScope::kHost) return each;
  return {all};
}

std::vector<Reading> Hosts(const Criterion& /*criterion*/, const StepFigures& figures) {
  Reading reading;
  SetExact(static_cast<double>(figures.hosts_to_end), reading);
  Widen(reading.least, reading.least + static_cast<double>(figures.hosts_undecided),
        "the data end before the step does", reading);
  return {reading};
}

std::vector<Reading> ClockError(const v1::Report& report) {
  std::vector<Reading> readings;
  for (const v1::HostReport& host : report.hosts()) {
    Reading& reading = readings.emplace_back();
    reading.kind = v1::SCOPE_KIND_HOST;
    reading.host = host.label();
    if (host.clock().probes() == 0) {
      reading.doubt = "no clock probe was answered";
    } else {
      SetExact(static_cast<double>(host.clock().error_ns()), reading);
    }
    reading.of_lost_host = host.has_lost();
  }
  return readings;
}

}  // namespace

const std::vector<MetricGetter>& MetricGetters() {
  static const auto& getters = *new std::vector<MetricGetter>{
      {Metric::kPercentile, Latency},
      {Metric::kMin, Latency},
      {Metric::kMax, Latency},
      {Metric::kAverage, Latency},
      {Metric::kWeightedAverage, Latency},
      {Metric::kWritesPerSecond, Throughput},
      {Metric::kBytesPerSecond, Throughput},
      {Metric::kMinWritesPerSecond, WorstSecond},
      {Metric::kMinBytesPerSecond, WorstSecond},
      {Metric::kWrites, Throughput},
      {Metric::kRateAchieved, RateAchieved},
      {Metric::kNotIssued, NotIssued},
      {Metric::kStalls, nullptr, Stalls},
      {Metric::kLongestStall, nullptr, LongestStall},
      {Metric::kSteady, nullptr, Steady},
      {Metric::kDriftIops, nullptr, DriftIops},
      {Metric::kDriftLatency, nullptr, DriftLatency},
      {Metric::kFairness, nullptr, Fairness},
      {Metric::kStartSkew, nullptr, StartSkew},
      {Metric::kClockError, nullptr, nullptr, ClockError},
      {Metric::kNfsRetransmits, nullptr, NfsRetransmits},
      {Metric::kHosts, nullptr, Hosts},
  };
  return getters;
}

}  // namespace plimsoll
