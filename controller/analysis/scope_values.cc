#include "controller/analysis/scope_values.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/analysis/metric_reading.h"

namespace plimsoll {
namespace {

constexpr char kInFlight[] = "a write was still in flight when the data end";
constexpr char kCoarseClock[] = "the clock is too coarse for this limit";
constexpr char kHarness[] = "the load generator was the bottleneck";
// A writer that waited longer than this share of the time for its recorder measured the harness.
constexpr double kHarnessShare = 0.001;

Reading At(const ScopeFigures& figures) {
  Reading reading = ReadingAt(figures.scope);
  reading.of_lost_host =
      figures.sums.lost && (reading.kind == v1::SCOPE_KIND_QM || reading.kind == v1::SCOPE_KIND_HOST);
  return reading;
}

bool IsLimitedByHarness(const ScopeSums& sums) {
  return static_cast<double>(sums.ring_full_wait_ns) > kHarnessShare * static_cast<double>(sums.elapsed_ns);
}

// Writes of which the scope's latencies lack the value; UINT64_MAX: nobody knows how many.
uint64_t MissingOf(const Criterion& criterion, const ScopeFigures& figures) {
  const ScopeSums& sums = figures.sums;
  if (criterion.service_time || sums.missing_writes == UINT64_MAX) return sums.missing_writes;
  if (sums.not_issued_unknown) return UINT64_MAX;
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

}  // namespace

Reading ScopeLatency(const Criterion& criterion, const ScopeFigures& figures) {
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
  if (is_max && !sums.in_flight_ages_ns.empty()) {
    const auto oldest_ns =
        static_cast<double>(*std::max_element(sums.in_flight_ages_ns.begin(), sums.in_flight_ages_ns.end()));
    if (oldest_ns > *reading.value) SetExact(oldest_ns, reading);
    Widen(*reading.value, kNoBound, kInFlight, reading);
  } else if (!sums.in_flight_ages_ns.empty()) {
    // It takes as long as its age at least, and may take longer than all the others.
    const auto youngest_ns =
        static_cast<double>(*std::min_element(sums.in_flight_ages_ns.begin(), sums.in_flight_ages_ns.end()));
    const bool bounded = is_min && writes.count() > 0;
    Widen(writes.count() > 0 ? std::min(*reading.value, youngest_ns) : youngest_ns, bounded ? *reading.value : kNoBound,
          kInFlight, reading);
  }
  if (criterion.metric == Metric::kWeightedAverage && writes.clamped() > 0) {
    Widen(reading.least, static_cast<double>(writes.max_ns()), "of writes above 1 h only sum and maximum are known",
          reading);
  }
  if (MissingOf(criterion, figures) > 0) {
    // What is missing can only raise a maximum, and lower a minimum.
    Widen(is_max ? reading.least : 0, is_min ? reading.most : kNoBound, kDataMissing, reading);
  }
  if (const double step_ns = ClockStep(sums); step_ns > 0) {
    Widen(std::max(reading.least - step_ns, 0.0), reading.most + step_ns, kCoarseClock, reading);
  }
  if (!criterion.service_time && sums.asked_iops > 0 && IsLimitedByHarness(sums)) {
    Widen(value_of(sums.latency), reading.most, kHarness, reading);
  }
  return reading;
}

Reading ScopeThroughput(const Criterion& criterion, const ScopeFigures& figures) {
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

Reading ScopeWorstSecond(const Criterion& criterion, const ScopeFigures& figures) {
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

Reading ScopeRateAchieved(const Criterion& /*criterion*/, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const ScopeSums& sums = figures.sums;
  if (sums.rate_due == 0) return Without(reading, "too short for one write at the target rate");
  const auto due = static_cast<double>(sums.rate_due);
  const auto completed = static_cast<double>(sums.rate_completed);
  SetExact(100 * completed / due, reading);
  Widen(reading.least, 100 * (completed + static_cast<double>(sums.rate_open)) / due,
        "the last write of a writer may have been due too late to complete: a longer step decides", reading);
  WidenByMissing(figures, reading);
  reading.most = std::min(reading.most, 100.0);
  return reading;
}

Reading ScopeNotIssued(const Criterion& /*criterion*/, const ScopeFigures& figures) {
  Reading reading = At(figures);
  SetExact(static_cast<double>(figures.sums.not_issued), reading);
  if (figures.sums.not_issued_unknown) Widen(*reading.value, kNoBound, "a writer's own count is missing", reading);
  reading.lost_more = figures.sums.lost;
  return reading;
}

}  // namespace plimsoll
