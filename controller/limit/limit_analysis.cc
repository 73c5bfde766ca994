#include "controller/limit/limit_analysis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/algorithm.h"
#include "common/units.h"
#include "controller/plan/criteria.h"

namespace plimsoll {
namespace {

// A step that misses its rate alone, and by less than this, is measured for longer: random arrivals come in bursts, and
// the last one may be open still. One that is so many times as long as others counts.
constexpr double kBurstPercent = 95;
constexpr int64_t kBurstSteps = 4;
// Hosts whose latency is within this factor of the worst one are affected like it.
constexpr double kAlikeFactor = 2;

// What callers felt: response times where there is a rate.
const v1::LatencyReport& Felt(const v1::ScopeReport& scope) {
  return scope.has_rate() ? scope.rate().response() : scope.latency();
}

void SetLatency(const v1::LatencyReport& latency, v1::LimitLatency& point) {
  point.set_avg_ns(latency.avg_ns());
  point.set_p50_ns(latency.p50_ns());
  point.set_p99_ns(latency.p99_ns());
  point.set_p99_9_ns(latency.p99_9_ns());
  point.set_max_ns(latency.max_ns());
  *point.mutable_thin() = latency.thin();
}

// The criterion as it is in one step.
v1::CriterionReport InStep(const v1::CriterionReport& criterion, const v1::CriterionStepReport& step) {
  v1::CriterionReport report;
  report.set_criterion(criterion.criterion());
  report.set_added(criterion.added());
  report.set_scope(criterion.scope());
  report.set_outcome(step.outcome());
  report.set_value(step.value());
  report.set_value_text(step.value_text());
  report.set_step(step.step());
  report.set_kind(step.kind());
  report.set_host(step.host());
  report.set_qm(step.qm());
  report.set_storage(step.storage());
  report.set_reason(step.reason());
  *report.add_steps() = step;
  return report;
}

// The number of the first one of the worst outcomes, of at least one.
size_t Decisive(const std::vector<v1::Outcome>& outcomes) {
  const auto rank = [](v1::Outcome one) { return one == v1::OUTCOME_FAIL ? 2 : one == v1::OUTCOME_PASS ? 0 : 1; };
  const auto worst =
      std::max_element(outcomes.begin(), outcomes.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
  return static_cast<size_t>(worst - outcomes.begin());
}

std::vector<Criterion> ReadableCriteria(const v1::TestPlan& plan) {
  std::vector<Criterion> criteria;
  for (const std::string& text : plan.criteria()) {
    absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    if (!criterion.ok()) continue;
    // As the judge's reports name it.
    criterion->text = text;
    criteria.push_back(*std::move(criterion));
  }
  return criteria;
}

// A criterion about a percentile by its interval: what chance may have made is undecided.
v1::Outcome BeyondChance(v1::Outcome outcome, const BeyondShare& share) {
  const bool chance = (outcome == v1::OUTCOME_PASS && share.high > share.allowed) ||
                      (outcome == v1::OUTCOME_FAIL && share.low <= share.allowed);
  return chance ? v1::OUTCOME_INCONCLUSIVE : outcome;
}

void SetConfidence(const std::string& criterion, const BeyondShare& share, v1::LimitConfidence& confidence) {
  confidence.set_criterion(criterion);
  confidence.set_beyond_percent(100 * share.measured);
  confidence.set_low_percent(100 * share.low);
  confidence.set_high_percent(100 * share.high);
  confidence.set_allowed_percent(100 * share.allowed);
}

double Milliseconds(uint64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

bool IsLatency(const Criterion& criterion) {
  return InfoOf(criterion.metric).has_service_time;
}

bool IsThin(const v1::LatencyReport& latency, const std::string& percentile) {
  return std::find(latency.thin().begin(), latency.thin().end(), percentile) != latency.thin().end();
}

// The next percentile from `wanted` on that a report has; nothing where it has too few writes for that one.
std::optional<double> PercentileOf(double wanted, const v1::LatencyReport& latency) {
  struct Known {
    double percentile;
    const char* name;
    uint64_t value_ns;
  };
  const Known known[] = {{50, "p50", latency.p50_ns()},
                         {90, "p90", latency.p90_ns()},
                         {99, "p99", latency.p99_ns()},
                         {99.9, "p99_9", latency.p99_9_ns()},
                         {99.99, "p99_99", latency.p99_99_ns()}};
  for (const Known& one : known) {
    if (wanted > one.percentile) continue;
    return IsThin(latency, one.name) ? std::nullopt : std::optional(static_cast<double>(one.value_ns));
  }
  return static_cast<double>(latency.max_ns());
}

// The criterion's figure of a distribution, which it is about. Nothing where a percentile has too few writes.
std::optional<double> FigureOf(const Criterion& criterion, const v1::LatencyReport& latency) {
  switch (criterion.metric) {
    case Metric::kMin:
      return static_cast<double>(latency.min_ns());
    case Metric::kAverage:
      return latency.avg_ns();
    case Metric::kWeightedAverage:
      return latency.wavg_ns();
    case Metric::kMax:
      return static_cast<double>(latency.max_ns());
    case Metric::kPercentile:
      return PercentileOf(criterion.percentile, latency);
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
  return std::nullopt;
}

}  // namespace

LimitAnalysis::LimitAnalysis(const v1::TestPlan& plan, uint32_t rules)
    : plan_(plan), by_interval_(rules >= 3), criteria_(ReadableCriteria(plan)), parts_(criteria_) {}

LimitSearch::Options LimitAnalysis::SearchOptions() const {
  const v1::LimitPlan& limit = plan_.limit();
  LimitSearch::Options options;
  options.over = limit.over();
  options.most_load = plan_.workload().qm();
  uint32_t writers = 0;
  uint32_t fewest = UINT32_MAX;
  for (const auto& [number, host] : hosts_) {
    writers += host.writers;
    fewest = std::min(fewest, host.writers);
  }
  options.writers = writers;
  options.host_writers = std::min(writers, fewest);
  options.tolerance = limit.tolerance_percent() / 100;
  options.budget_ns = limit.budget_ns();
  options.duration_ns = plan_.duration_ns();
  options.warmup_ns = plan_.warmup_ns();
  options.hold_ns = limit.hold_ns();
  return options;
}

absl::Status LimitAnalysis::Take(const v1::JournalRecord& record, const Timeline& /*timeline*/) {
  if (record.has_host_joined()) {
    const v1::HostJoined& joined = record.host_joined();
    hosts_.try_emplace(joined.host(), Host{joined.label(), joined.plan().log().workload().qm()});
  }
  broken_ = broken_ || record.has_host_lost() || record.has_fault();
  if (record.has_step_begin() && !begin_ns_) begin_ns_ = record.time_ns();
  return absl::OkStatus();
}

void LimitAnalysis::OnFrame(uint32_t host, const v1::Frame& frame) {
  if (by_interval_) parts_.Add(host, frame);
}

bool LimitAnalysis::IsClosedLoop() const {
  return plan_.limit().over() == v1::LIMIT_OVER_QM && plan_.workload().rate_per_second() <= 0;
}

void LimitAnalysis::OnStep(const v1::StepReport& report, const std::vector<v1::CriterionReport>& criteria,
                           int64_t now_ns) {
  if (!search_) search_.emplace(SearchOptions());
  Step& step = steps_.emplace_back();
  v1::LimitPoint& point = step.point;
  const bool over_rate = plan_.limit().over() == v1::LIMIT_OVER_RATE;
  point.set_step(report.number());
  point.set_purpose(report.purpose());
  point.set_load(over_rate                     ? report.rate_per_second()
                 : report.has_queue_managers() ? report.queue_managers()
                                               : plan_.workload().qm());
  point.set_measured_ns(report.measured_ns());

  uint64_t writers = 0;
  const v1::ScopeReport* worst = nullptr;
  std::map<std::string, uint32_t> storages_by_label;
  for (const v1::ScopeReport& scope : report.scopes()) {
    if (scope.kind() == v1::SCOPE_KIND_QM) ++writers;
    if (scope.kind() == v1::SCOPE_KIND_HOST) {
      step.hosts.push_back({scope.host(), Felt(scope), scope.latency(), ""});
      storages_by_label[scope.host()] = scope.storage();
      const bool known = Felt(scope).count() > 0 && !IsThin(Felt(scope), "p99");
      if (known && (worst == nullptr || Felt(scope).p99_ns() > Felt(*worst).p99_ns())) worst = &scope;
    }
    if (scope.kind() != v1::SCOPE_KIND_CLUSTER) continue;
    point.set_iops(scope.iops());
    SetLatency(Felt(scope), *point.mutable_cluster());
  }
  if (worst != nullptr) {
    SetLatency(Felt(*worst), *point.mutable_worst());
    point.set_worst_host(worst->host());
  }
  for (const v1::HostLoadReport& load : report.load()) {
    for (HostFact& host : step.hosts) {
      if (host.label == load.host()) host.bottleneck = load.bottleneck();
    }
  }
  for (const v1::CriterionReport& criterion : criteria) {
    for (const v1::CriterionStepReport& in_step : criterion.steps()) {
      if (in_step.step() == report.number()) step.criteria.push_back(InStep(criterion, in_step));
    }
  }
  std::map<uint32_t, uint32_t> storages;
  for (const auto& [number, host] : hosts_) storages[number] = storages_by_label[host.label];
  std::vector<v1::Outcome> outcomes;
  double nearest = -1;
  for (const v1::CriterionReport& criterion : step.criteria) {
    outcomes.push_back(criterion.outcome());
    const std::optional<BeyondShare> share = parts_.ShareOf(criterion.criterion(), report.measured_ns(), storages);
    if (!share) continue;
    if (report.purpose() != v1::STEP_PURPOSE_HOLD || criterion.outcome() == v1::OUTCOME_FAIL) {
      outcomes.back() = BeyondChance(criterion.outcome(), *share);
    }
    if (share->high / share->allowed <= nearest) continue;
    nearest = share->high / share->allowed;
    SetConfidence(criterion.criterion(), *share, *point.mutable_confidence());
  }
  parts_ = StepParts(criteria_);
  if (!step.criteria.empty()) {
    const v1::CriterionReport& decisive = step.criteria[Decisive(outcomes)];
    point.set_criterion(decisive.criterion());
    point.set_value(decisive.value_text());
  }
  point.set_state(StateOf(report, outcomes, step.criteria));
  search_->Add({report.purpose(), point.load(), point.state(), report.duration_ns(),
                writers == 0 ? 0 : point.iops() / static_cast<double>(writers), point.cluster().avg_ns(),
                static_cast<double>(point.cluster().p50_ns())},
               now_ns - begin_ns_.value_or(now_ns));
  // What a probe shows does not depend on it.
  const bool decides = report.purpose() != v1::STEP_PURPOSE_PROBE && report.purpose() != v1::STEP_PURPOSE_MAXIMUM;
  if (decides && !search_->recovered(steps_.size() - 1)) point.set_not_recovered(true);
}

v1::LimitState LimitAnalysis::StateOf(const v1::StepReport& report, const std::vector<v1::Outcome>& outcomes,
                                      const std::vector<v1::CriterionReport>& criteria) const {
  bool meets = !outcomes.empty() && report.cut_short().empty() && report.measured_ns() >= report.duration_ns();
  bool exceeds = false;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    meets = meets && outcomes[i] == v1::OUTCOME_PASS;
    // Only because of a burst at the step's end, perhaps.
    const bool burst = criteria[i].added() && criteria[i].value() >= kBurstPercent &&
                       report.duration_ns() < kBurstSteps * plan_.duration_ns();
    exceeds = exceeds || (outcomes[i] == v1::OUTCOME_FAIL && !burst);
  }
  return exceeds ? v1::LIMIT_STATE_EXCEEDS : meets ? v1::LIMIT_STATE_MEETS : v1::LIMIT_STATE_UNDECIDED;
}

std::optional<v1::LogStep> LimitAnalysis::NextStep() const {
  const std::optional<LimitStep> next = search_ && !broken_ ? search_->Next() : std::nullopt;
  if (!next) return std::nullopt;
  v1::LogStep step;
  step.set_block_size_bytes(plan_.block_size_bytes_size() > 0 ? plan_.block_size_bytes(0) : 0);
  step.set_duration_ns(next->duration_ns);
  step.set_warmup_ns(plan_.warmup_ns());
  step.set_purpose(next->purpose);
  if (plan_.limit().over() == v1::LIMIT_OVER_RATE) {
    step.set_rate_per_second(next->load);
  } else {
    step.set_qm(static_cast<uint32_t>(next->load));
  }
  return step;
}

std::string LimitAnalysis::LastStepText() const {
  if (steps_.empty()) return "";
  const v1::LimitPoint& point = steps_.back().point;
  const bool decides = point.purpose() != v1::STEP_PURPOSE_PROBE && point.load() > 0;
  const char* const purpose = point.purpose() == v1::STEP_PURPOSE_MAXIMUM ? "maximum"
                              : point.purpose() == v1::STEP_PURPOSE_PROBE ? "probe"
                              : point.purpose() == v1::STEP_PURPOSE_HOLD  ? "hold"
                              : point.purpose() == v1::STEP_PURPOSE_CURVE ? "curve"
                                                                          : "search";
  const char* const state = point.state() == v1::LIMIT_STATE_MEETS     ? "criteria met"
                            : point.state() == v1::LIMIT_STATE_EXCEEDS ? "criteria exceeded"
                                                                       : "undecided";
  return absl::StrCat(
      "step ", point.step(), ", ", purpose, ": ", point.load() > 0 ? LoadText(point.load()) : "no target rate",
      absl::StrFormat(", %s writes/s of all hosts, mean %.3f ms, p99 %.3f ms", FormatRate(point.iops()),
                      point.cluster().avg_ns() / static_cast<double>(kNsPerMs), Milliseconds(point.cluster().p99_ns())),
      decides ? absl::StrCat(": ", state) : "");
}

std::string LimitAnalysis::LoadText(double load) const {
  return plan_.limit().over() == v1::LIMIT_OVER_RATE
             ? absl::StrCat(FormatTargetRate(load), " writes/s per queue manager")
             : absl::StrFormat("%.0f queue manager%s per host", load, load == 1 ? "" : "s");
}

const LimitAnalysis::Step* LimitAnalysis::LastOf(double load, v1::LimitState state) const {
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(), [load, state](const Step& step) {
    return step.point.state() == state && step.point.purpose() != v1::STEP_PURPOSE_CURVE &&
           step.point.purpose() != v1::STEP_PURPOSE_PROBE && std::abs(step.point.load() - load) <= 1e-9 * load;
  });
  return found == steps_.rend() ? nullptr : &*found;
}

const LimitAnalysis::Step* LimitAnalysis::Exceeding() const {
  if (!search_ || !search_->bounds().exceeds) return nullptr;
  return LastOf(*search_->bounds().exceeds, v1::LIMIT_STATE_EXCEEDS);
}

const LimitAnalysis::Step* LimitAnalysis::GeneratorBound() const {
  const auto is_bound = [](const Step& step) {
    return std::any_of(step.hosts.begin(), step.hosts.end(),
                       [](const HostFact& host) { return !host.bottleneck.empty(); });
  };
  const Step* const exceeding = Exceeding();
  if (exceeding != nullptr && is_bound(*exceeding)) return exceeding;
  const LimitBounds bounds = search_->bounds();
  if (!IsClosedLoop()) {
    // A rate that was reached all the same, was; but the next higher one may be undecided because of it.
    if (exceeding != nullptr || !bounds.above) return nullptr;
    const Step* const undecided = LastOf(*bounds.above, v1::LIMIT_STATE_UNDECIDED);
    return undecided != nullptr && is_bound(*undecided) ? undecided : nullptr;
  }
  // In a closed loop a writer that waits for a CPU writes less than it could, so that the storage is not shown to bear
  // the load.
  if (bounds.meets > 0 && is_bound(steps_[bounds.meets_result])) return &steps_[bounds.meets_result];
  if (exceeding != nullptr) return nullptr;
  const auto found = std::find_if(steps_.begin(), steps_.end(), is_bound);
  return found == steps_.end() ? nullptr : &*found;
}

void LimitAnalysis::SetCause(v1::LimitReport& limit) const {
  const Step* const bound = GeneratorBound();
  const Step* const step = bound != nullptr ? bound : Exceeding();
  if (step == nullptr) {
    limit.set_cause_text(limit.limit() > 0 ? "no higher load was shown to exceed the criteria" : "");
    return;
  }
  const std::string at = absl::StrCat("at ", step->point.load() > 0 ? LoadText(step->point.load()) : "no target rate",
                                      " (step ", step->point.step(), ") ");
  if (bound == nullptr) {
    CompareHosts(*step, at, limit);
    return;
  }
  const HostFact& slow = *std::find_if(step->hosts.begin(), step->hosts.end(),
                                       [](const HostFact& host) { return !host.bottleneck.empty(); });
  limit.set_cause(v1::LIMIT_CAUSE_LOAD_GENERATOR);
  limit.set_host(slow.label);
  limit.set_cause_text(absl::StrCat(at, "the load generator on ", slow.label, " may be CPU-bound: ", slow.bottleneck,
                                    "; the storage may carry more"));
}

void LimitAnalysis::CompareHosts(const Step& step, const std::string& at, v1::LimitReport& limit) const {
  if (step.hosts.size() < 2) {
    limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
    limit.set_cause_text("the storage or this host's path to it: one host alone cannot show which");
    return;
  }
  // By the criterion that the load exceeds, or else the plan's first one about a latency; without any, by p99.
  std::vector<std::string> texts = {step.point.criterion()};
  texts.insert(texts.end(), plan_.criteria().begin(), plan_.criteria().end());
  Criterion criterion = ParseCriterion("p99<1h").value();
  std::string name = "p99";
  for (const std::string& text : texts) {
    absl::StatusOr<Criterion> parsed = ParseCriterion(text);
    if (!parsed.ok() || !IsLatency(*parsed)) continue;
    criterion = *std::move(parsed);
    name = text.substr(0, text.find_first_of("@<>="));
    break;
  }
  struct Figure {
    std::string label;
    double value_ns = 0;
  };
  std::vector<Figure> figures;
  for (const HostFact& host : step.hosts) {
    const std::optional<double> figure = FigureOf(criterion, criterion.service_time ? host.service : host.felt);
    if (!figure) {
      limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
      limit.set_cause_text(absl::StrCat("storage or path: ", at, host.label, " had too few writes for ", name));
      return;
    }
    figures.push_back({host.label, *figure});
  }
  StableSort(figures, [](const Figure& a, const Figure& b) { return a.value_ns > b.value_ns; });
  const double worst_ns = figures[0].value_ns;
  const auto alike = static_cast<size_t>(std::count_if(figures.begin(), figures.end(), [&](const Figure& host) {
    return host.value_ns * kAlikeFactor >= worst_ns || !Fulfils(criterion, host.value_ns);
  }));
  const auto text = [](double value_ns) {
    return absl::StrFormat("%.3f ms", value_ns / static_cast<double>(kNsPerMs));
  };
  if (alike == figures.size()) {
    limit.set_cause(v1::LIMIT_CAUSE_STORAGE);
    limit.set_cause_text(absl::StrCat(at, "all ", figures.size(), " hosts are affected, ", name, " from ",
                                      text(figures.back().value_ns), " to ", text(worst_ns)));
  } else if (alike == 1) {
    limit.set_cause(v1::LIMIT_CAUSE_HOST_PATH);
    limit.set_host(figures[0].label);
    limit.set_cause_text(absl::StrCat(at, figures[0].label, " has a ", name, " of ", text(worst_ns),
                                      ", the other hosts at most ", text(figures[1].value_ns)));
  } else {
    limit.set_cause(v1::LIMIT_CAUSE_UNDETERMINED);
    limit.set_cause_text(absl::StrCat("storage or path: ", at, alike, " of ", figures.size(), " hosts are affected, ",
                                      name, " of at least ", text(figures[alike - 1].value_ns)));
  }
}

void LimitAnalysis::AddReasons(const v1::LimitReport& limit, std::vector<std::string>& reasons) const {
  if (!search_) {
    reasons.emplace_back("Nothing was measured.");
    return;
  }
  if (limit.cause() == v1::LIMIT_CAUSE_LOAD_GENERATOR) {
    reasons.push_back(absl::StrCat("The limit is the load generator, not the storage",
                                   limit.limit() > 0 ? ": the result is a lower bound; " : ": ", limit.cause_text(),
                                   "."));
  }
  if (limit.limit() > 0 && !limit.held()) {
    reasons.push_back(limit.ended().empty() ? "The answer was not held." : absl::StrCat(limit.ended(), "."));
  }
  const Step* const exceeding = Exceeding();
  if (limit.limit() == 0 && (exceeding == nullptr || search_->bounds().above < exceeding->point.load())) {
    reasons.push_back(limit.ended().empty()
                          ? "No load was shown to meet the criteria, nor the lowest one to exceed them."
                          : absl::StrCat(limit.ended(), "."));
  } else if (limit.limit() == 0 && !limit.ended().empty()) {
    reasons.push_back(absl::StrCat(limit.ended(), "; lower loads were not measured."));
  }
  std::vector<const Step*> decisive;
  if (limit.limit() > 0) decisive.push_back(&steps_[search_->bounds().meets_result]);
  if (exceeding != nullptr) decisive.push_back(exceeding);
  for (const Step* const step : decisive) {
    if (!step->point.not_recovered()) continue;
    reasons.push_back(absl::StrCat("Step ", step->point.step(), ", at ", LoadText(step->point.load()),
                                   ", was measured although the storage had not recovered from the load before it: the "
                                   "low-rate probe was not back at its baseline."));
  }
  for (const Step& step : steps_) {
    if (step.point.purpose() == v1::STEP_PURPOSE_CURVE && step.point.state() == v1::LIMIT_STATE_EXCEEDS &&
        step.point.load() < limit.limit()) {
      reasons.push_back(absl::StrCat("Step ", step.point.step(), " exceeds the criteria (", step.point.criterion(),
                                     ": ", step.point.value(), ") at ", LoadText(step.point.load()),
                                     ", although a higher load met them: the storage is not steady."));
    }
  }
}

void LimitAnalysis::Finish(const Timeline& /*timeline*/, const std::function<std::string(uint32_t host)>& /*label_of*/,
                           v1::Report& report, std::vector<std::string>& reasons) {
  limit_.set_over(plan_.limit().over());
  for (const Step& step : steps_) *limit_.add_points() = step.point;
  if (search_) {
    const LimitBounds bounds = search_->bounds();
    limit_.set_limit(bounds.meets);
    if (bounds.exceeds) limit_.set_exceeded_at(*bounds.exceeds);
    limit_.set_held(search_->held());
    if (bounds.meets > 0) {
      limit_.set_step(steps_[bounds.meets_result].point.step());
      limit_.set_iops(steps_[bounds.meets_result].point.iops());
    }
    limit_.set_maximum(search_->maximum());
    limit_.set_ended(search_->ended());
    limit_.set_knee(search_->knee());
    for (const size_t point : search_->curve()) limit_.mutable_points(static_cast<int>(point))->set_curve(true);
    SetCause(limit_);
  }
  AddReasons(limit_, reasons);
  *report.mutable_limit() = limit_;
}

v1::VerdictReport LimitAnalysis::Judge(const std::vector<std::string>& reasons) const {
  v1::VerdictReport verdict;
  for (const std::string& reason : reasons) verdict.add_reasons(reason);
  // The criteria at the answer; where there is none, at the lowest load that exceeds them.
  const Step* decisive = nullptr;
  if (limit_.limit() > 0) {
    decisive = &steps_[search_->bounds().meets_result];
  } else {
    decisive = Exceeding();
  }
  if (decisive != nullptr) {
    for (const v1::CriterionReport& criterion : decisive->criteria) *verdict.add_criteria() = criterion;
  }
  if (limit_.limit() > 0 && limit_.held() && !limit_.ended().empty()) verdict.set_remark(limit_.ended());
  verdict.set_outcome(!reasons.empty() || decisive == nullptr ? v1::OUTCOME_INCONCLUSIVE
                      : limit_.limit() > 0                    ? v1::OUTCOME_PASS
                                                              : v1::OUTCOME_FAIL);
  return verdict;
}

}  // namespace plimsoll
