#include "controller/analysis/metric_values.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/analysis/cpu_wait.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// The doubt of readings that what is missing could change.
inline constexpr char kDataMissing[] = "data are missing: some were refused or never came";

// A reading of the scope, without a value yet.
Reading ReadingAt(const v1::ScopeReport& scope) {
  Reading reading;
  reading.kind = scope.kind();
  reading.host = scope.host();
  reading.qm = scope.qm();
  reading.storage = scope.storage();
  reading.queue_manager = scope.queue_manager();
  return reading;
}

// The reading, with `why` it has no value.
Reading Without(Reading reading, const std::string& why) {
  reading.doubt = why;
  return reading;
}

// Sets a value that is known for certain.
void SetExact(double value, Reading& reading) {
  reading.value = reading.least = reading.most = value;
}

// Moves the bounds of `reading` apart to hold `least` and `most`. `why` is the reading's doubt where something moved
// and there is none yet.
void Widen(double least, double most, const std::string& why, Reading& reading) {
  if (least >= reading.least && most <= reading.most) return;
  reading.least = std::min(reading.least, least);
  reading.most = std::max(reading.most, most);
  if (reading.doubt.empty()) reading.doubt = why;
}

constexpr char kInFlight[] = "a write was still in flight when the data end";
constexpr char kCoarseClock[] = "the clock is too coarse for this limit";
constexpr char kGeneratorBound[] = "the load generator was the bottleneck";
constexpr char kCpuBound[] = "the load generator may be CPU-bound";
// A writer that waited longer than this share of the time for its recorder measured the load generator.
constexpr double kGeneratorShare = 0.001;

Reading At(const ScopeFigures& figures) {
  Reading reading = ReadingAt(figures.scope);
  reading.of_lost_host =
      figures.sums.lost && (reading.kind == v1::SCOPE_KIND_QM || reading.kind == v1::SCOPE_KIND_HOST);
  return reading;
}

bool IsGeneratorBound(const ScopeSums& sums) {
  if (sums.generator_bound) return true;
  return static_cast<double>(sums.counts.ring_full_wait_ns()) > kGeneratorShare * static_cast<double>(sums.elapsed_ns);
}

const char* GeneratorText(const ScopeSums& sums) {
  return sums.generator_bound ? kCpuBound : kGeneratorBound;
}

// Writes of which the scope's latencies lack the value; UINT64_MAX if their number is not known.
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

// Lower bound of the response times beyond the limit that would be beyond it if no writer had started a write
// late.
uint64_t CountBeyondDespiteDelay(const Criterion& criterion, const Histogram& writes, const ScopeSums& sums,
                                 double step_ns) {
  const v1::StartDelay& delay = sums.start_delay;
  const auto beyond_by = [&](uint64_t delay_ns) {
    return CountBeyond(criterion, writes, step_ns + static_cast<double>(delay_ns));
  };
  // Each of them was late by the maximum; or those that count as late were, and the others by less than that takes.
  const uint64_t by_prompt = beyond_by(std::min(delay.max_ns(), kPromptStartNs));
  // And no response time is below the service time.
  return std::max({beyond_by(delay.max_ns()), by_prompt - std::min(by_prompt, delay.late_writes()),
                   CountBeyond(criterion, sums.latency, step_ns)});
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
  if (small && !criterion.service_time && IsGeneratorBound(figures.sums)) {
    beyond.certain = std::min(beyond.certain, CountBeyond(criterion, figures.sums.latency, step_ns));
  }
  if (small && !criterion.service_time) {
    beyond.certain = std::min(beyond.certain, CountBeyondDespiteDelay(criterion, writes, figures.sums, step_ns));
  }
  const double wait_ns = figures.sums.cpu_wait_ns;
  if (wait_ns > 0) {
    const Histogram& service = figures.sums.latency;
    const uint64_t explained = CountExplained(criterion, service, wait_ns);
    if (small) {
      const uint64_t slow = CountBeyond(criterion, service, step_ns);
      beyond.certain = std::min(beyond.certain, slow - std::min(slow, explained));
    } else {
      beyond.possible = std::max(beyond.possible, CountBeyond(criterion, service, step_ns) + explained);
    }
  }
  for (const int64_t age_ns : figures.sums.in_flight_ages_ns) {
    ++beyond.writes;
    const auto known_ns = static_cast<double>(std::max<int64_t>(age_ns, 0));
    const bool fulfils = Fulfils(criterion, known_ns);
    // It takes this long at least.
    if (small && !Fulfils(criterion, std::max(known_ns - wait_ns, 0.0))) ++beyond.certain;
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
  auto waited_ns = static_cast<double>(sums.counts.ring_full_wait_ns());
  // Between its writes a writer may have waited for a CPU all the time, in them for as long as the host's did in all.
  if (sums.generator_bound) {
    waited_ns = std::max(waited_ns, static_cast<double>(sums.between_ns)) + sums.cpu_wait_ns;
  }
  if (IsGeneratorBound(sums) && elapsed_ns > waited_ns) {
    Widen(value, value * elapsed_ns / (elapsed_ns - waited_ns), GeneratorText(sums), reading);
  } else if (sums.generator_bound) {
    Widen(value, kNoBound, GeneratorText(sums), reading);
  }
  reading.lost_more = sums.lost;
}

// The criterion's figure of latencies, which it is about.
double LatencyFigure(const Criterion& criterion, const Histogram& latency) {
  switch (criterion.metric) {
    case Metric::kPercentile:
      return static_cast<double>(latency.PercentileNs(criterion.percentile));
    case Metric::kMin:
      return static_cast<double>(latency.min_ns());
    case Metric::kMax:
      return static_cast<double>(latency.max_ns());
    case Metric::kAverage:
      return latency.mean_ns();
    case Metric::kWeightedAverage:
      return latency.WeightedMeanNs();
    // No latencies.
    case Metric::kWritesPerSecond:
    case Metric::kBytesPerSecond:
    case Metric::kMinWritesPerSecond:
    case Metric::kMinBytesPerSecond:
    case Metric::kWrites:
    case Metric::kRateAchieved:
    case Metric::kNotIssued:
    case Metric::kStalls:
    case Metric::kLongestStall:
    case Metric::kSteady:
    case Metric::kDriftIops:
    case Metric::kDriftLatency:
    case Metric::kFairness:
    case Metric::kStartSkew:
    case Metric::kClockError:
    case Metric::kNfsRetransmits:
    case Metric::kHosts:
      break;
  }
  return 0;
}

// A percentile, or the least, the largest or a mean of the latencies: the criterion's metric determines which.
Reading ScopeLatency(const Criterion& criterion, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const ScopeSums& sums = figures.sums;
  const Histogram& writes = LatencyOf(criterion, figures);
  if (writes.count() == 0 && sums.in_flight_ages_ns.empty()) return Without(reading, "there was no write");
  SetExact(LatencyFigure(criterion, writes), reading);
  if (criterion.metric == Metric::kPercentile) {
    reading.beyond = MakeBeyond(criterion, figures);
    if (reading.beyond->missing > 0) {
      reading.doubt = kDataMissing;
    } else if (ClockStep(sums) > 0) {
      reading.doubt = kCoarseClock;
    } else if (!sums.in_flight_ages_ns.empty()) {
      reading.doubt = kInFlight;
    } else if (IsGeneratorBound(sums)) {
      reading.doubt = GeneratorText(sums);
    } else if (reading.beyond->certain < reading.beyond->possible) {
      reading.doubt = StartDelayText(sums);
    }
    return reading;
  }
  const bool is_max = criterion.metric == Metric::kMax;
  const bool is_min = criterion.metric == Metric::kMin;
  if (is_max && !sums.in_flight_ages_ns.empty()) {
    const auto oldest_ns = static_cast<double>(*std::ranges::max_element(sums.in_flight_ages_ns));
    if (oldest_ns > *reading.value) SetExact(oldest_ns, reading);
    Widen(*reading.value, kNoBound, kInFlight, reading);
  } else if (!sums.in_flight_ages_ns.empty()) {
    // It takes as long as its age at least, and may take longer than all the others.
    const auto youngest_ns = static_cast<double>(*std::ranges::min_element(sums.in_flight_ages_ns));
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
  const double step_ns = ClockStep(sums);
  if (step_ns > 0) {
    Widen(std::max(reading.least - step_ns, 0.0), reading.most + step_ns, kCoarseClock, reading);
  }
  const double least_service_ns =
      std::max(LeastLatency(criterion, sums, LatencyFigure(criterion, sums.latency)) - step_ns, 0.0);
  if (IsGeneratorBound(sums) && (sums.cpu_wait_ns > 0 || (!criterion.service_time && sums.asked_iops > 0))) {
    Widen(least_service_ns, reading.most, GeneratorText(sums), reading);
  }
  if (!criterion.service_time && sums.start_delay.max_ns() > 0) {
    Widen(LeastResponse(criterion, sums, writes, reading.least, least_service_ns), reading.most, StartDelayText(sums),
          reading);
  }
  return reading;
}

// Writes of the step, or writes or bytes per second over it.
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

// Writes or bytes in the worst whole second.
Reading ScopeWorstSecond(const Criterion& criterion, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const SecondExtremes extremes = criterion.metric == Metric::kMinBytesPerSecond
                                      ? figures.sums.series.Extremes(figures.extremes.seconds, &WriteSums::bytes)
                                      : figures.extremes;
  if (extremes.seconds == 0) return Without(reading, "there was no whole second");
  SetExact(static_cast<double>(extremes.min), reading);
  if (extremes.averaged_seconds > 0) {
    Widen(0, static_cast<double>(extremes.most_min),
          absl::StrCat("of ", extremes.averaged_seconds, " seconds only averages are known"), reading);
  }
  if (figures.sums.missing_writes > 0) Widen(*reading.value, kNoBound, kDataMissing, reading);
  // All of the waiting may have been in one second.
  if (figures.sums.generator_bound) Widen(*reading.value, kNoBound, kCpuBound, reading);
  WidenByMissing(figures, reading);
  return reading;
}

// Writes completed, in percent of those that were due by the target rate. The scope has one.
Reading ScopeRateAchieved(const Criterion& /*criterion*/, const ScopeFigures& figures) {
  Reading reading = At(figures);
  const ScopeSums& sums = figures.sums;
  if (sums.rate_due == 0) return Without(reading, "too short for one write at the target rate");
  const auto due = static_cast<double>(sums.rate_due);
  const auto completed = static_cast<double>(sums.rate_completed);
  SetExact(100 * completed / due, reading);
  WidenByMissing(figures, reading);
  if (sums.missing_reads > 0) Widen(reading.least, 100, kDataMissing, reading);
  const double could = completed + static_cast<double>(sums.rate_open + sums.not_issued_by_delay);
  Widen(reading.least, 100 * could / due,
        sums.not_issued_by_delay > sums.rate_open
            ? StartDelayText(sums)
            : "a writer's last write may have been due too late to complete; use a longer step",
        reading);
  reading.most = std::min(reading.most, 100.0);
  return reading;
}

// Writes that were due and not issued when the step ended. The scope has a target rate.
Reading ScopeNotIssued(const Criterion& /*criterion*/, const ScopeFigures& figures) {
  Reading reading = At(figures);
  SetExact(static_cast<double>(figures.sums.not_issued), reading);
  // What came too late because its writer waited for a CPU says nothing of the storage.
  if (figures.sums.generator_bound) Widen(0, reading.most, kCpuBound, reading);
  const auto late = static_cast<double>(figures.sums.not_issued_by_delay);
  Widen(*reading.value - late, reading.most, StartDelayText(figures.sums), reading);
  if (figures.sums.not_issued_unknown) Widen(*reading.value, kNoBound, "a writer's own count is missing", reading);
  reading.lost_more = figures.sums.lost;
  return reading;
}

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
  if (figures.generator_bound) {
    const StallsByCpuWait may_be = CountByCpuWait(criterion, figures.stalls, figures.cpu_wait_ns);
    Widen(std::max(reading.least - may_be.none, 0.0), reading.most + may_be.more, kCpuBound, reading);
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
  double longest_error_ns = 0;
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
    longest_error_ns = std::max(longest_error_ns, error_ns);
    reading.value = std::max(*reading.value, length_ns);
    reading.least = std::max(reading.least, length_ns - error_ns);
    reading.most = std::max(reading.most, length_ns + error_ns);
  }
  if (reading.least < reading.most) reading.doubt = "undetermined within the clock error";
  // The list holds the longest of all classes.
  if (!listed && StallsOf(criterion, stalls) > 0) {
    Widen(0, static_cast<double>(shortest_listed_ns), "no listed stall is of this class", reading);
  }
  Widen(reading.least, undetermined_ns, kUndetermined, reading);
  // What is shorter is not a stall, and so not known.
  Widen(reading.least, static_cast<double>(std::max(stalls.threshold_ns(), stalls.largest_threshold_ns())),
        "shorter ones count as no stalls (--stall)", reading);
  if (open) Widen(reading.least, kNoBound, "a stall was still open when the data end", reading);
  if (figures.generator_bound) {
    const double least_ns = LeastLongestStall(criterion, figures.stalls) - longest_error_ns;
    Widen(std::max(least_ns, 0.0), reading.most, kCpuBound, reading);
  }
  WidenStalls(figures, reading);
  return {reading};
}

// A figure of the step's trend, which needs every second.
std::vector<Reading> OfTrend(const StepFigures& figures, double value) {
  if (!figures.report.has_trend()) return {Without({}, "the step has fewer than five whole seconds")};
  if (!std::isfinite(value)) return {Without({}, "a third of the step is without a write")};
  if (figures.data_missing) return {Without({}, kDataMissing)};
  const v1::ScopeReport* const cluster = ClusterOf(figures.report);
  if (cluster != nullptr && cluster->bandwidth().averaged_seconds() > 0) {
    return {
        Without({}, absl::StrCat("of ", cluster->bandwidth().averaged_seconds(), " seconds only averages are known"))};
  }
  Reading reading;
  SetExact(value, reading);
  return {reading};
}

// The figure with the bounds that it has where writers waited for a CPU: what is not as it should be may be for that.
std::vector<Reading> OfTrend(const StepFigures& figures, double value, double as_it_should_be) {
  std::vector<Reading> readings = OfTrend(figures, value);
  for (Reading& reading : readings) {
    if (figures.generator_bound && reading.value) Widen(as_it_should_be, as_it_should_be, kCpuBound, reading);
  }
  return readings;
}

std::vector<Reading> Steady(const Criterion& /*criterion*/, const StepFigures& figures) {
  return OfTrend(figures, figures.report.trend().steady() ? 1 : 0, 1);
}

std::vector<Reading> DriftIops(const Criterion& /*criterion*/, const StepFigures& figures) {
  return OfTrend(figures, figures.report.trend().iops_change_percent(), 0);
}

std::vector<Reading> DriftLatency(const Criterion& /*criterion*/, const StepFigures& figures) {
  return OfTrend(figures, figures.report.trend().avg_change_percent(), 0);
}

std::vector<Reading> Fairness(const Criterion& criterion, const StepFigures& figures) {
  const v1::FairnessReport& fairness = figures.report.fairness();
  const bool any_write =
      std::ranges::any_of(figures.report.scopes(), [](const v1::ScopeReport& scope) { return scope.writes() > 0; });
  if (!any_write) return {Without({}, "no write completed within the measured time")};
  const bool of_hosts = criterion.scope == CriterionScope::kHost;
  const double value = of_hosts ? fairness.hosts() : fairness.queue_managers();
  if (value == 0)
    return {Without({}, of_hosts ? "there are fewer than two hosts" : "there are fewer than two queue managers")};
  if (figures.data_missing) return {Without({}, kDataMissing)};
  Reading reading;
  SetExact(value, reading);
  if (figures.generator_bound) Widen(reading.least, 1, kCpuBound, reading);
  return {reading};
}

std::vector<Reading> StartSkew(const Criterion& /*criterion*/, const StepFigures& figures) {
  if (!figures.report.has_start_skew()) return {Without({}, "no first write is known")};
  const v1::StartSkewReport& skew = figures.report.start_skew();
  const auto value = static_cast<double>(skew.skew_ns());
  const auto error = static_cast<double>(skew.error_ns());
  Reading reading;
  SetExact(value, reading);
  Widen(std::max(value - error, 0.0), value + error, "undetermined within the clock error", reading);
  if (skew.hosts_size() < std::ranges::distance(OfKind(figures.report.scopes(), v1::SCOPE_KIND_HOST))) {
    Widen(reading.least, kNoBound, "a host has no first write, or its clock is not known", reading);
  }
  return {reading};
}

std::vector<Reading> NfsRetransmits(const Criterion& criterion, const StepFigures& figures) {
  Reading all;
  SetExact(0, all);
  std::vector<Reading> each;
  for (const v1::ScopeReport& scope : OfKind(figures.report.scopes(), v1::SCOPE_KIND_HOST)) {
    Reading& one = each.emplace_back(ReadingAt(scope));
    const auto load = std::ranges::find_if(
        figures.report.load(), [&scope](const v1::HostLoadReport& of) { return of.host() == scope.host(); });
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
    const auto retransmits =
        static_cast<double>(load->nfs().write().retransmits() + load->nfs().commit().retransmits());
    const RetransmitFigures& known = bounds->second;
    SetExact(retransmits, one);
    Widen(known.least, known.most, known.doubt, one);
    all.value = *all.value + retransmits;
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
