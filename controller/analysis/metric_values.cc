#include "controller/analysis/metric_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "controller/analysis/metric_reading.h"
#include "controller/analysis/scope_values.h"

namespace plimsoll {
namespace {

constexpr char kNoStalls[] = "the hosts do not report stalls";

// What is in no figure of the stalls could make them more.
void WidenStalls(const StepFigures& figures, Reading& reading) {
  if (figures.data_missing) Widen(reading.least, kNoBound, kDataMissing, reading);
  if (figures.report.stalls().left_out() > 0) Widen(reading.least, kNoBound, "stalls were left out", reading);
}

uint64_t CountOf(v1::StallClass stall_class, const v1::StallsReport& stalls) {
  for (const v1::StallCount& one : stalls.classes()) {
    if (one.stall_class() == stall_class) return one.count();
  }
  return 0;
}

uint64_t StallsOf(const Criterion& criterion, const v1::StallsReport& stalls) {
  return criterion.stall_class == v1::STALL_CLASS_UNSPECIFIED ? stalls.count() : CountOf(criterion.stall_class, stalls);
}

// A stall of a single host may have been one of the storage or of the host's path.
bool MayBe(v1::StallClass stall_class, v1::StallClass other) {
  return stall_class == v1::STALL_CLASS_SINGLE_HOST &&
         (other == v1::STALL_CLASS_ALL_HOSTS || other == v1::STALL_CLASS_ONE_HOST);
}

constexpr char kUndetermined[] = "whether a stall was the storage's or one host's path is undetermined";

std::vector<Reading> Stalls(const Criterion& criterion, const StepFigures& figures) {
  if (!figures.report.has_stalls()) return {Without({}, kNoStalls)};
  Reading reading;
  const v1::StallsReport& stalls = figures.report.stalls();
  SetExact(static_cast<double>(StallsOf(criterion, stalls)), reading);
  if (MayBe(v1::STALL_CLASS_SINGLE_HOST, criterion.stall_class)) {
    const auto undetermined = static_cast<double>(CountOf(v1::STALL_CLASS_SINGLE_HOST, stalls));
    Widen(reading.least, reading.most + undetermined, kUndetermined, reading);
  }
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
  double undetermined_ns = 0;
  for (const v1::StallReport& stall : stalls.stalls()) {
    shortest_listed_ns = std::min(shortest_listed_ns, stall.length_ns());
    if (MayBe(stall.stall_class(), criterion.stall_class)) {
      undetermined_ns = std::max(undetermined_ns, stall.open() ? kNoBound : static_cast<double>(stall.length_ns()));
    }
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
  Widen(reading.least, undetermined_ns, kUndetermined, reading);
  // What is shorter is no stall, and so not known.
  Widen(reading.least, static_cast<double>(std::max(stalls.threshold_ns(), stalls.largest_threshold_ns())),
        "shorter ones count as no stalls (--stall)", reading);
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
  const bool any_write = std::any_of(figures.report.scopes().begin(), figures.report.scopes().end(),
                                     [](const v1::ScopeReport& scope) { return scope.writes() > 0; });
  if (!any_write) return {Without({}, "no write completed within the measured time")};
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
    Reading& one = each.emplace_back(ReadingAt(scope));
    const auto load = std::find_if(figures.report.load().begin(), figures.report.load().end(),
                                   [&scope](const v1::HostLoadReport& of) { return of.host() == scope.host(); });
    const auto bounds = figures.retransmits.find(scope.host());
    // The data of a host that left early end before the step does.
    one.of_lost_host = one.lost_more = scope.has_data_until();
    all.lost_more = all.lost_more || one.lost_more;
    if (load == figures.report.load().end() || !load->has_nfs() || bounds == figures.retransmits.end()) {
      one.doubt = "the host reports no NFS mount below its directory";
      if (!one.of_lost_host) {
        Widen(all.least, kNoBound, absl::StrCat(scope.host(), " reports no NFS mount below its directory"), all);
      }
      continue;
    }
    const auto told = static_cast<double>(load->nfs().write().retransmits() + load->nfs().commit().retransmits());
    const RetransmitFigures& known = bounds->second;
    SetExact(told, one);
    Widen(known.least, known.most, known.doubt, one);
    all.value = *all.value + told;
    all.least += one.least;
    all.most += one.most;
    if (all.doubt.empty() && !one.doubt.empty()) all.doubt = absl::StrCat(scope.host(), ": ", one.doubt);
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
      {Metric::kPercentile, ScopeLatency},
      {Metric::kMin, ScopeLatency},
      {Metric::kMax, ScopeLatency},
      {Metric::kAverage, ScopeLatency},
      {Metric::kWeightedAverage, ScopeLatency},
      {Metric::kWritesPerSecond, ScopeThroughput},
      {Metric::kBytesPerSecond, ScopeThroughput},
      {Metric::kMinWritesPerSecond, ScopeWorstSecond},
      {Metric::kMinBytesPerSecond, ScopeWorstSecond},
      {Metric::kWrites, ScopeThroughput},
      {Metric::kRateAchieved, ScopeRateAchieved},
      {Metric::kNotIssued, ScopeNotIssued},
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
