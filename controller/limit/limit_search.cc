#include "controller/limit/limit_search.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// Between steps: clocks are asked, hosts armed, the report made.
constexpr int64_t kBetweenStepsNs = 500 * kNsPerMs;
// A probe is as long as this, or a step where that is shorter.
constexpr int64_t kProbeNs = 2 * kNsPerSecond;
// A probe's median needs so many operations.
constexpr double kProbeOperations = 100;
// Its rate, as a share of the maximum.
constexpr double kProbeShare = 0.1;
// The baseline is there when a probe is not below this share of the one before it.
constexpr double kSettledShare = 0.8;
constexpr size_t kMostBaselineProbes = 5;
// The storage is back when a probe is at most so many times its baseline.
constexpr double kRecoveredFactor = 1.25;
constexpr size_t kMostProbes = 10;
// And at most so many times what the probe before the first overload showed: one at another rate.
constexpr double kBeforeFactor = 2;
// How often an undecided load is measured again, each time for twice as long.
constexpr int kMostExtensions = 3;
// Below this share of the maximum no load is searched.
constexpr double kLeastShare = 0.001;
// Least load factor that a plan can have.
constexpr double kLeastLoadFactor = 0.01;
// How much beyond a maximum that meets the criteria the search goes on.
constexpr double kBeyondFactor = 1.1;
constexpr double kMostOverMaximum = 4;
// Around loads that stay undecided the bounds are searched to within this share of the tolerance.
constexpr double kFineShare = 0.25;
// Points of the curve, as shares of the answer; a measured one within `kNearShare` of it serves.
constexpr double kCurveShares[] = {0.1, 0.5, 0.7, 0.8, 0.9, 0.95};
constexpr double kNearShare = 0.025;
// Around the knee a gap that is wider than this share of the answer gets a point.
constexpr double kKneeGapShare = 0.1;
// A point of the curve is measured until the host with the fewest operations has so many of those that the curve shows,
// if the budget allows it: p99 needs 1,000. It takes at most kMostCurveSteps times as long as other steps.
constexpr double kCurveOperations = 1100;
constexpr double kMostCurveSteps = 8;
// All numbers of queue managers are shown up to here.
constexpr double kMostListedQms = 16;
// Ratio of two neighbouring numbers of clients on the curve.
constexpr double kClientsRatio = 1.5;

bool Overloads(const LimitResult& result) {
  return result.purpose == v1::STEP_PURPOSE_MAXIMUM ||
         (result.purpose != v1::STEP_PURPOSE_PROBE && result.state == v1::LIMIT_STATE_EXCEEDS);
}

// Loads that come from the same arithmetic are equal; what went through text may differ in its last digits.
bool SameLoad(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

// Four digits, so that plans and reports show the load that was measured.
double Round(double load) {
  const double unit = std::pow(10, std::floor(std::log10(load)) - 3);
  return std::round(load / unit) * unit;
}

}  // namespace

bool LimitSearch::Decides(const LimitResult& result) const {
  // The maximum is one of the loads where these have a highest one.
  return result.purpose == v1::STEP_PURPOSE_SEARCH || result.purpose == v1::STEP_PURPOSE_HOLD ||
         result.purpose == v1::STEP_PURPOSE_CHECK || (!over_rate() && result.purpose == v1::STEP_PURPOSE_MAXIMUM);
}

bool LimitSearch::IsOnCurve(const LimitResult& result) const {
  return Decides(result) || result.purpose == v1::STEP_PURPOSE_CURVE;
}

bool LimitSearch::IsLast(const LimitResult& result) const {
  return Decides(result) && LastOf(result.load) == &result;
}

void LimitSearch::Add(const LimitResult& result, int64_t elapsed_ns) {
  results_.push_back(result);
  elapsed_ns_ = std::max(elapsed_ns_, elapsed_ns);
}

int64_t LimitSearch::CostNs(const LimitStep& step) const {
  return step.duration_ns + options_.warmup_ns + kBetweenStepsNs;
}

bool LimitSearch::Affords(const LimitStep& step, int64_t reserve_ns) const {
  return CostNs(step) <= options_.budget_ns - elapsed_ns_ - reserve_ns;
}

double LimitSearch::maximum() const {
  for (const LimitResult& result : results_) {
    if (result.purpose == v1::STEP_PURPOSE_MAXIMUM) return result.rate;
  }
  return 0;
}

const LimitResult* LimitSearch::LastOf(double load) const {
  for (size_t i = results_.size(); i-- > 0;) {
    if (Decides(results_[i]) && SameLoad(results_[i].load, load)) return &results_[i];
  }
  return nullptr;
}

int LimitSearch::UndecidedCount(double load) const {
  return static_cast<int>(std::count_if(results_.begin(), results_.end(), [this, load](const LimitResult& result) {
    return Decides(result) && SameLoad(result.load, load) && result.state == v1::LIMIT_STATE_UNDECIDED;
  }));
}

LimitBounds LimitSearch::bounds() const {
  LimitBounds bounds;
  const auto lower = [](std::optional<double>& bound, double load) { bound = std::min(bound.value_or(load), load); };
  for (const LimitResult& result : results_) {
    if (IsLast(result) && result.state == v1::LIMIT_STATE_EXCEEDS) {
      lower(bounds.exceeds, result.load);
    }
  }
  for (size_t i = 0; i < results_.size(); ++i) {
    const LimitResult& result = results_[i];
    if (!IsLast(result) || result.state != v1::LIMIT_STATE_MEETS || result.load <= bounds.meets ||
        result.load >= bounds.exceeds.value_or(INFINITY))
      continue;
    bounds.meets = result.load;
    bounds.meets_result = i;
  }
  for (const LimitResult& result : results_) {
    const bool above = options_.rules >= 4 && result.load > bounds.meets;
    if (above && result.purpose == v1::STEP_PURPOSE_CURVE && result.state == v1::LIMIT_STATE_EXCEEDS) {
      lower(bounds.exceeds, result.load);
    }
  }
  bounds.above = bounds.exceeds;
  bounds.undecided = bounds.meets;
  for (const LimitResult& result : results_) {
    const bool undecided = IsLast(result) && result.state == v1::LIMIT_STATE_UNDECIDED;
    if (!undecided || result.load <= bounds.meets || result.load >= bounds.exceeds.value_or(INFINITY)) continue;
    lower(bounds.above, result.load);
    bounds.undecided = std::max(bounds.undecided, result.load);
  }
  return bounds;
}

std::optional<double> LimitSearch::upper_end() const {
  return options_.rules >= 5 && held() && Check() ? std::nullopt : bounds().exceeds;
}

bool LimitSearch::held() const {
  const LimitBounds known = bounds();
  return known.meets > 0 && results_[known.meets_result].purpose == v1::STEP_PURPOSE_HOLD;
}

std::optional<LimitSearch::Contradiction> LimitSearch::contradiction() const {
  std::optional<Contradiction> nearest;
  if (options_.rules < 4) return nearest;
  const std::vector<size_t> failed = FailedOnce();
  const auto fails = [&](size_t i) {
    return results_[i].state == v1::LIMIT_STATE_EXCEEDS ||
           (failed.size() >= 2 && std::find(failed.begin(), failed.end(), i) != failed.end());
  };
  for (size_t i = 0; i < results_.size(); ++i) {
    const LimitResult& meets = results_[i];
    if (!IsOnCurve(meets) || meets.state != v1::LIMIT_STATE_MEETS) continue;
    for (size_t j = 0; j < results_.size(); ++j) {
      const LimitResult& exceeds = results_[j];
      if (!IsOnCurve(exceeds) || !fails(j)) continue;
      // What a short step carries need not last for --hold.
      const bool longer = exceeds.purpose == v1::STEP_PURPOSE_HOLD && meets.purpose != v1::STEP_PURPOSE_HOLD;
      // Nor is a part of a recording that the other step did not reach the storage's change.
      const bool played_more = over_load_factor() && exceeds.load * static_cast<double>(exceeds.duration_ns) >
                                                         meets.load * static_cast<double>(meets.duration_ns);
      if (longer || played_more || (exceeds.load > meets.load && !SameLoad(exceeds.load, meets.load))) continue;
      const Contradiction pair{std::min(i, j), std::max(i, j)};
      if (!nearest || pair.second - pair.first < nearest->second - nearest->first) nearest = pair;
    }
  }
  return nearest;
}

LimitSearch::Recovery LimitSearch::RecoveryAfter(size_t results) const {
  return std::max(RecoveryBy(&LimitResult::median_ns, results), RecoveryBy(&LimitResult::other_median_ns, results));
}

LimitSearch::Recovery LimitSearch::RecoveryBy(double LimitResult::* median_ns, size_t results) const {
  // Medians of the probe before any overload, of those between the first one and the second, and since the last one.
  double before = 0;
  std::vector<double> first;
  std::vector<double> since;
  size_t overloads = 0;
  for (size_t i = 0; i < results; ++i) {
    const LimitResult& result = results_[i];
    if (Overloads(result)) {
      since.clear();
      ++overloads;
    } else if (result.purpose == v1::STEP_PURPOSE_PROBE) {
      if (overloads == 0) before = result.*median_ns;
      if (overloads == 1) first.push_back(result.*median_ns);
      since.push_back(result.*median_ns);
    }
  }
  if (overloads == 0) return Recovery::kDone;
  const double most = before > 0 ? kBeforeFactor * before : INFINITY;
  bool done = false;
  if (overloads == 1) {
    const bool settled = first.size() >= 2 && first.back() >= kSettledShare * first[first.size() - 2];
    done = (settled || first.size() >= kMostBaselineProbes) && first.back() <= most;
  } else if (first.empty()) {
    // No budget was left for a baseline.
    done = !since.empty() && since.back() <= most;
  } else {
    const double baseline = *std::min_element(first.begin(), first.end());
    done = !since.empty() && since.back() <= std::min(kRecoveredFactor * baseline, most);
  }
  if (done) return Recovery::kDone;
  return since.size() >= kMostProbes ? Recovery::kInVain : Recovery::kProbe;
}

double LimitSearch::RateOf(double load) const {
  return over_load_factor() ? maximum() * load / options_.most_load : load;
}

LimitStep LimitSearch::ProbeStep() const {
  LimitStep probe{v1::STEP_PURPOSE_PROBE, 1, std::min(kProbeNs, options_.duration_ns)};
  if (counts()) return probe;
  probe.load = over_rate() ? Round(std::max(kProbeShare * maximum(), 0.001))
                           : Round(std::max(kProbeShare * options_.most_load, kLeastLoadFactor));
  const double needed_ns = kProbeOperations / (RateOf(probe.load) * std::max(options_.writers, 1.0)) * kNsPerSecond;
  probe.duration_ns =
      std::max(probe.duration_ns, static_cast<int64_t>(std::min(needed_ns, static_cast<double>(options_.duration_ns))));
  return probe;
}

std::optional<LimitStep> LimitSearch::Probe() const {
  return RecoveryAfter(results_.size()) == Recovery::kProbe ? std::optional(ProbeStep()) : std::nullopt;
}

std::optional<LimitStep> LimitSearch::Extension() const {
  // Probes may have come between.
  const auto last =
      std::find_if(results_.rbegin(), results_.rend(), [this](const LimitResult& result) { return Decides(result); });
  if (last == results_.rend() || last->state != v1::LIMIT_STATE_UNDECIDED || last->purpose == v1::STEP_PURPOSE_HOLD) {
    return std::nullopt;
  }
  const int undecided = UndecidedCount(last->load);
  if (undecided > kMostExtensions) return std::nullopt;
  // Down at first, to a load that the generator can issue; above that, what was in its way may have passed.
  const int most = bounds().meets > 0 ? 1 : 0;
  if (options_.rules >= 4 && last->generator_bound && undecided > most) return std::nullopt;
  const bool check = last->purpose == v1::STEP_PURPOSE_CHECK;
  return LimitStep{check ? v1::STEP_PURPOSE_CHECK : v1::STEP_PURPOSE_SEARCH, last->load, 2 * last->duration_ns};
}

std::optional<double> LimitSearch::NextLoad() const {
  const LimitBounds known = bounds();
  const double low = known.meets;
  // The largest one meets the criteria.
  if (!over_rate() && !known.above) return std::nullopt;
  if (counts()) {
    // One client more or less is within what chance does to many.
    const double narrow = over_clients() ? low * (1 + options_.tolerance) : low;
    const double middle = std::floor((low + *known.above) / 2);
    return middle > low && *known.above > narrow ? std::optional(middle) : std::nullopt;
  }
  const double most = over_rate() ? maximum() : options_.most_load;
  if (most <= 0) return std::nullopt;
  if (!known.above) {
    if (low == 0) return Round(most / 2);
    if (low >= kMostOverMaximum * most) return std::nullopt;
    if (low >= most) return Round(low * kBeyondFactor);
    return low * (1 + options_.tolerance) >= most ? Round(most) : Round((low + most) / 2);
  }
  const double high = *known.above;
  if (low == 0) {
    if (high < kLeastShare * most || (over_load_factor() && high < 2 * kLeastLoadFactor)) return std::nullopt;
    return Round(high / 2);
  }
  const auto between = [](double a, double b) -> std::optional<double> {
    const double middle = Round(b > 4 * a ? std::sqrt(a * b) : (a + b) / 2);
    return middle > a && middle < b ? std::optional(middle) : std::nullopt;
  };
  if (known.exceeds && *known.exceeds <= low * (1 + options_.tolerance)) return std::nullopt;
  if (high > low * (1 + options_.tolerance)) return between(low, high);
  // What stays undecided lies between the two; the load that is beyond it is searched from above.
  if (!known.exceeds) {
    if (over_load_factor()) return std::nullopt;  // it is the highest one
    // A load generator that is in the way at this load is so at higher ones.
    if (options_.rules >= 4 && LastOf(known.undecided)->generator_bound) return std::nullopt;
    return known.undecided < kMostOverMaximum * most ? std::optional(Round(known.undecided * kBeyondFactor))
                                                     : std::nullopt;
  }
  if (*known.exceeds > known.undecided * (1 + options_.tolerance)) return between(known.undecided, *known.exceeds);
  // Both bounds are known, and too far from one another: as near to what is undecided as is worth a step.
  const double fine = 1 + kFineShare * options_.tolerance;
  if (high > low * fine) return between(low, high);
  if (*known.exceeds > known.undecided * fine) return between(known.undecided, *known.exceeds);
  return std::nullopt;
}

LimitStep LimitSearch::Hold() const {
  return {v1::STEP_PURPOSE_HOLD, bounds().meets, options_.hold_ns};
}

std::optional<LimitStep> LimitSearch::Check() const {
  const LimitBounds known = bounds();
  if (options_.rules < 4 || known.meets == 0 || !known.exceeds) return std::nullopt;
  LimitStep check{v1::STEP_PURPOSE_CHECK, *known.exceeds, options_.duration_ns};
  for (size_t i = 0; i < results_.size(); ++i) {
    const LimitResult& result = results_[i];
    if (result.state != v1::LIMIT_STATE_EXCEEDS || !SameLoad(result.load, check.load)) continue;
    if (result.purpose == v1::STEP_PURPOSE_CHECK && i > known.meets_result) return std::nullopt;
    check.duration_ns = result.duration_ns;
  }
  return check;
}

double LimitSearch::knee() const {
  double best_power = 0;
  double load = 0;
  size_t points = 0;
  for (const size_t i : curve()) {
    const LimitResult& result = results_[i];
    if (result.load <= 0 || result.mean_ns <= 0) continue;
    ++points;
    const double total = result.rate * (options_.over == v1::LIMIT_OVER_QM ? result.load : 1);
    if (const double power = total / result.mean_ns; power > best_power) {
      best_power = power;
      load = result.load;
    }
  }
  return points >= 3 ? load : 0;
}

std::vector<size_t> LimitSearch::curve() const {
  std::map<double, size_t> last;
  for (size_t i = 0; i < results_.size(); ++i) {
    const LimitResult& result = results_[i];
    if (IsOnCurve(result)) last[result.load] = i;
  }
  std::vector<size_t> results;
  results.reserve(last.size());
  for (const auto& [load, result] : last) results.push_back(result);
  return results;
}

LimitStep LimitSearch::CurveStep(double load) const {
  LimitStep step{v1::STEP_PURPOSE_CURVE, load, options_.duration_ns};
  if (counts()) return step;
  const double seconds =
      kCurveOperations / (RateOf(load) * std::max(options_.host_writers, 1.0) * options_.curve_share);
  const double longest = kMostCurveSteps * static_cast<double>(options_.duration_ns);
  LimitStep longer = step;
  longer.duration_ns = std::max(step.duration_ns, static_cast<int64_t>(std::min(seconds * kNsPerSecond, longest)));
  return Affords(longer, 0) ? longer : step;
}

std::vector<size_t> LimitSearch::FailedOnce() const {
  std::vector<size_t> failed;
  if (options_.rules < 5) return failed;
  const double meets = bounds().meets;
  for (const size_t i : curve()) {
    const LimitResult& result = results_[i];
    const bool undecided = result.failed_once && result.state == v1::LIMIT_STATE_UNDECIDED;
    if (undecided && result.purpose == v1::STEP_PURPOSE_CURVE && result.load < meets) failed.push_back(i);
  }
  return failed;
}

std::optional<LimitStep> LimitSearch::CurvePoint() const {
  std::optional<LimitStep> again;
  for (const size_t i : FailedOnce()) {
    again = LimitStep{v1::STEP_PURPOSE_CURVE, results_[i].load, results_[i].duration_ns};
    if (Affords(*again, 0)) return again;
  }
  const std::optional<LimitStep> point = NewCurvePoint();
  return point ? point : again;
}

std::optional<LimitStep> LimitSearch::NewCurvePoint() const {
  const double meets = bounds().meets;
  if (meets <= 0) return std::nullopt;
  const std::vector<size_t> points = curve();
  const auto measured = [&](double load, double near) {
    return std::any_of(points.begin(), points.end(), [&](size_t i) {
      if (std::abs(results_[i].load - load) > near) return false;
      // One of the search that is too short for p99 serves where the budget has no room for a longer one.
      return results_[i].purpose == v1::STEP_PURPOSE_CURVE ||
             results_[i].duration_ns >= CurveStep(results_[i].load).duration_ns;
    });
  };
  if (over_clients()) {
    const double most = std::min(options_.most_load, bounds().exceeds.value_or(INFINITY));
    double clients = 1;
    while (clients <= most) {
      if (!measured(clients, kNearShare * clients)) return CurveStep(clients);
      clients = std::ceil(clients * kClientsRatio);
    }
    return std::nullopt;
  }
  if (counts()) {
    double qms = 1;
    while (qms <= options_.most_load) {
      if (!measured(qms, 0.5)) return CurveStep(qms);
      qms = qms < kMostListedQms ? qms + 1 : std::ceil(qms * 1.25);
    }
    return std::nullopt;
  }
  for (const double share : kCurveShares) {
    const double load = Round(share * meets);
    if (over_load_factor() && load < kLeastLoadFactor) continue;
    if (!measured(load, kNearShare * meets)) return CurveStep(load);
  }
  const auto at = std::find_if(points.begin(), points.end(),
                               [load = knee(), this](size_t i) { return SameLoad(results_[i].load, load); });
  if (at == points.end()) return std::nullopt;
  const double knee = results_[*at].load;
  for (const auto& neighbour : {at == points.begin() ? points.end() : at - 1, at + 1}) {
    if (neighbour == points.end()) continue;
    const double load = results_[*neighbour].load;
    if (load > meets || std::abs(load - knee) <= 2 * kKneeGapShare * meets) continue;
    return CurveStep(Round((load + knee) / 2));
  }
  return std::nullopt;
}

std::optional<LimitStep> LimitSearch::Next() const {
  if (std::none_of(results_.begin(), results_.end(),
                   [](const LimitResult& result) { return result.purpose == v1::STEP_PURPOSE_MAXIMUM; })) {
    return LimitStep{v1::STEP_PURPOSE_MAXIMUM, 0, options_.duration_ns};
  }
  if (maximum() <= 0 || contradiction()) return std::nullopt;
  const std::optional<LimitStep> check = Check();
  // What the answer's hold takes, a probe before it, and the check after it, is kept for them as soon as there is an
  // answer.
  const int64_t reserve_ns =
      bounds().meets == 0 || held() ? 0 : CostNs(Hold()) + CostNs(ProbeStep()) + (check ? CostNs(*check) : 0);
  const std::optional<LimitStep> probe = Probe();
  std::optional<LimitStep> next = Extension();
  if (!next && held()) next = check;
  if (!next) {
    if (const std::optional<double> load = NextLoad()) {
      next = LimitStep{v1::STEP_PURPOSE_SEARCH, *load, options_.duration_ns};
    }
  }
  if (next && Affords(*next, reserve_ns + (probe ? CostNs(*probe) : 0))) return probe ? probe : next;
  if (bounds().meets == 0) return std::nullopt;
  // Approached from below: nothing that was overloaded is left in the storage.
  if (!held()) {
    next = Hold();
  } else {
    next = CurvePoint();
  }
  if (!next) return std::nullopt;
  if (probe && Affords(*next, CostNs(*probe))) return probe;
  return Affords(*next, 0) ? next : std::nullopt;
}

std::string LimitSearch::ended() const {
  if (Next() || maximum() <= 0 || contradiction()) return "";
  const bool narrow = !NextLoad() && !Extension();
  const char* const what = bounds().meets > 0 && !held() ? "the answer was held"
                           : Check() && (narrow || options_.rules >= 5)
                               ? "the interval's upper end was measured once more"
                           : !narrow      ? "the interval was narrow enough"
                           : CurvePoint() ? "the curve was complete"
                                          : nullptr;
  if (what == nullptr) return "";
  return absl::StrCat("--budget (", FormatDuration(options_.budget_ns), ") ended before ", what);
}

}  // namespace plimsoll
