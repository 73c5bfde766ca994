#include "controller/limit/limit_analysis.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/scopes.h"

namespace plimsoll {
namespace {

// A step that misses its rate alone, and by less than this, is measured for longer: random arrivals come in bursts, and
// the last one may be open still. One that is so many times as long as others counts.
constexpr double kBurstPercent = 95;
constexpr int64_t kBurstSteps = 4;
// An idle host starts no operation later than this after it was due.
constexpr uint64_t kLateStartNs = kNsPerMs;
// In a mixed run, reads or writes that are a smaller percentage of the operations do not show whether the storage has
// recovered: a probe has too few of them for a median.
constexpr uint32_t kWatchedPercent = 25;

// Response times of an operation; service times of a part of a write, which has no response times.
const v1::LatencyReport& FeltOf(const v1::OperationScopeReport& scope) {
  return scope.has_response() ? scope.response() : scope.latency();
}

// What the cluster read beside its writes; null if it did not.
const v1::OperationScopeReport* ClusterReads(const v1::StepReport& report) {
  for (const v1::OperationReport& operation : report.operations()) {
    if (operation.name() == kReadName) return ClusterOf(operation.scopes());
  }
  return nullptr;
}

// What callers felt in a scope: with group commit, how long their commits took.
const v1::LatencyReport& CallersLatency(const v1::StepReport& report, const v1::ScopeReport& scope) {
  const v1::OperationReport* const commits = CommitsOf(report);
  const v1::OperationScopeReport* const own = commits == nullptr ? nullptr : FindScope(*commits, scope);
  return own == nullptr ? FeltLatency(scope) : own->latency();
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
template <typename Judged>
size_t Decisive(const std::vector<Judged>& judged) {
  const auto rank = [](const Judged& one) {
    return one.outcome == v1::OUTCOME_FAIL ? 2 : one.outcome == v1::OUTCOME_PASS ? 0 : 1;
  };
  const auto worst =
      std::ranges::max_element(judged, [&](const Judged& a, const Judged& b) { return rank(a) < rank(b); });
  return static_cast<size_t>(worst - judged.begin());
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

// A criterion by its figure's interval: what chance may have made is undecided.
v1::Outcome BeyondChance(v1::Outcome outcome, const StepFigure& figure) {
  const bool chance = (outcome == v1::OUTCOME_PASS && figure.high > figure.allowed) ||
                      (outcome == v1::OUTCOME_FAIL && figure.low <= figure.allowed);
  return chance ? v1::OUTCOME_INCONCLUSIVE : outcome;
}

void SetConfidence(const std::string& criterion, const StepFigure& figure, v1::LimitConfidence& confidence) {
  confidence.Clear();
  confidence.set_criterion(criterion);
  if (figure.is_average) {
    confidence.set_average_ns(figure.measured);
    confidence.set_low_ns(figure.low);
    confidence.set_high_ns(figure.high);
    confidence.set_allowed_ns(figure.allowed);
    return;
  }
  confidence.set_beyond_percent(100 * figure.measured);
  confidence.set_low_percent(100 * figure.low);
  confidence.set_high_percent(100 * figure.high);
  confidence.set_allowed_percent(100 * figure.allowed);
}

const char* PurposeName(v1::StepPurpose purpose) {
  return purpose == v1::STEP_PURPOSE_MAXIMUM ? "maximum"
         : purpose == v1::STEP_PURPOSE_PROBE ? "probe"
         : purpose == v1::STEP_PURPOSE_HOLD  ? "hold"
         : purpose == v1::STEP_PURPOSE_CURVE ? "curve"
         : purpose == v1::STEP_PURPOSE_CHECK ? "check"
                                             : "search";
}

double Milliseconds(uint64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerMs);
}

}  // namespace

LimitAnalysis::LimitAnalysis(const v1::TestPlan& plan, uint32_t rules)
    : plan_(plan), rules_(rules), criteria_(ReadableCriteria(plan)), parts_(criteria_, rules >= 4) {}

LimitSearch::Options LimitAnalysis::SearchOptions() const {
  const v1::LimitPlan& limit = plan_.limit();
  LimitSearch::Options options;
  options.over = limit.over();
  options.most_load = MostLoad();
  uint32_t writers = 0;
  uint32_t fewest = UINT32_MAX;
  for (const auto& [number, host] : hosts_) {
    writers += host.writers;
    fewest = std::min(fewest, host.writers);
  }
  options.writers = writers;
  options.host_writers = std::min(writers, fewest);
  if (!OnlyReads(plan_)) options.curve_share = 1 - plan_.read_percent() / 100.0;
  options.tolerance = limit.tolerance_percent() / 100;
  options.budget_ns = limit.budget_ns();
  options.duration_ns = plan_.duration_ns();
  options.warmup_ns = plan_.warmup_ns();
  options.hold_ns = limit.hold_ns();
  options.rules = rules_;
  return options;
}

absl::Status LimitAnalysis::Take(const v1::JournalRecord& record, const Timeline& /*timeline*/) {
  if (record.has_host_joined()) {
    const v1::HostJoined& joined = record.host_joined();
    const v1::LogWork& work = joined.plan().log();
    hosts_.try_emplace(joined.host(), Host{joined.label(), work.workload().qm()});
    if (!work.steps().empty()) first_step_ = work.steps(0);
  }
  broken_ = broken_ || record.has_host_lost() || record.has_fault();
  if (record.has_step_begin() && !begin_ns_) begin_ns_ = record.time_ns();
  return absl::OkStatus();
}

void LimitAnalysis::OnFrame(uint32_t host, const v1::Frame& frame, const std::string& operation) {
  if (rules_ >= 3) parts_.Add(host, frame, operation);
  // A part of a write has no scheduled start.
  if (!operation.empty() && operation != kReadName) return;
  uint64_t& delay_ns = start_delays_ns_[host];
  if (frame.first_interval() >= 0) delay_ns = std::max(delay_ns, frame.start_delay().max_ns());
}

bool LimitAnalysis::IsClosedLoop() const {
  return plan_.limit().over() != v1::LIMIT_OVER_RATE && plan_.workload().rate_per_second() <= 0 && !PlaysPattern(plan_);
}

double LimitAnalysis::MostLoad() const {
  return OverClients()      ? plan_.group_commit().clients()
         : OverLoadFactor() ? plan_.group_commit().load_factor()
                            : plan_.workload().qm();
}

double LimitAnalysis::LoadOf(const v1::StepReport& report) const {
  switch (plan_.limit().over()) {
    case v1::LIMIT_OVER_RATE:
      return report.rate_per_second();
    case v1::LIMIT_OVER_CLIENTS:
      return report.clients();
    case v1::LIMIT_OVER_LOAD_FACTOR:
      return report.load_factor();
    default:
      return report.has_queue_managers() ? report.queue_managers() : plan_.workload().qm();
  }
}

void LimitAnalysis::OnStep(const v1::StepReport& report, const std::vector<v1::CriterionReport>& criteria,
                           int64_t now_ns) {
  if (!search_) search_.emplace(SearchOptions());
  Step& step = steps_.emplace_back();
  v1::LimitPoint& point = step.point;
  point.set_step(report.number());
  point.set_purpose(report.purpose());
  point.set_load(LoadOf(report));
  point.set_measured_ns(report.measured_ns());

  LimitResult result = TakeCluster(report, point);
  const v1::ScopeReport* worst = nullptr;
  std::map<std::string, uint32_t> storages_by_label;
  for (const v1::ScopeReport& scope : OfKind(report.scopes(), v1::SCOPE_KIND_HOST)) {
    step.hosts.push_back({scope.host(), FeltLatency(scope), scope.latency(), ""});
    storages_by_label[scope.host()] = scope.storage();
    const v1::LatencyReport& felt = CallersLatency(report, scope);
    if (!IsKnown(felt, "p99")) continue;
    if (worst == nullptr || felt.p99_ns() > CallersLatency(report, *worst).p99_ns()) worst = &scope;
  }
  if (worst != nullptr) {
    SetLatency(CallersLatency(report, *worst), *point.mutable_worst());
    point.set_worst_host(worst->host());
  }
  for (const v1::HostLoadReport& load : report.load()) {
    for (HostFact& host : step.hosts) {
      if (host.label == load.host()) host.bottleneck = load.bottleneck();
    }
  }
  for (const v1::OperationReport& operation : report.operations()) {
    for (const v1::OperationScopeReport& scope : OfKind(operation.scopes(), v1::SCOPE_KIND_HOST)) {
      for (HostFact& host : step.hosts) {
        if (host.label == scope.host()) host.operations[operation.name()] = FeltOf(scope);
      }
    }
  }
  for (const v1::CriterionReport& criterion : criteria) {
    for (const v1::CriterionStepReport& in_step : criterion.steps()) {
      if (in_step.step() == report.number()) step.criteria.push_back(InStep(criterion, in_step));
    }
  }
  std::map<uint32_t, uint32_t> storages;
  for (const auto& [number, host] : hosts_) storages[number] = storages_by_label[host.label];
  std::vector<Judged> judged;
  double nearest = -1;
  bool beyond_in_doubt = false;
  for (const v1::CriterionReport& criterion : step.criteria) {
    v1::Outcome outcome = criterion.outcome();
    const std::optional<StepFigure> figure = parts_.FigureOf(criterion.criterion(), report.measured_ns(), storages);
    beyond_in_doubt = beyond_in_doubt || (outcome == v1::OUTCOME_INCONCLUSIVE &&
                                          (figure ? figure->low > figure->allowed : !criterion.reason().empty()));
    const bool hold = report.purpose() == v1::STEP_PURPOSE_HOLD;
    if (figure && (!hold || outcome == v1::OUTCOME_FAIL || figure->is_average)) {
      outcome = BeyondChance(outcome, *figure);
    }
    judged.push_back({outcome, figure.has_value()});
    if (!figure || figure->high / figure->allowed <= nearest) continue;
    nearest = figure->high / figure->allowed;
    SetConfidence(criterion.criterion(), *figure, *point.mutable_confidence());
  }
  if (beyond_in_doubt && rules_ >= 4) NameLateStarts(step);
  parts_ = StepParts(criteria_, rules_ >= 4);
  start_delays_ns_.clear();
  if (!step.criteria.empty()) {
    const v1::CriterionReport& decisive = step.criteria[Decisive(judged)];
    point.set_criterion(decisive.criterion());
    point.set_value(decisive.value_text());
  }
  point.set_state(StateOf(report, judged, step));
  result.state = point.state();
  result.generator_bound = IsGeneratorBound(step);
  result.failed_once = step.failed_once;
  search_->Add(result, now_ns - begin_ns_.value_or(now_ns));
  // What a probe shows does not depend on it.
  const bool decides = report.purpose() != v1::STEP_PURPOSE_PROBE && report.purpose() != v1::STEP_PURPOSE_MAXIMUM;
  if (decides && !search_->recovered(steps_.size() - 1)) point.set_not_recovered(true);
}

LimitResult LimitAnalysis::TakeCluster(const v1::StepReport& report, v1::LimitPoint& point) const {
  LimitResult result;
  result.purpose = report.purpose();
  result.load = point.load();
  result.duration_ns = report.duration_ns();
  const v1::ScopeReport* const cluster = ClusterOf(report);
  if (cluster == nullptr) return result;
  const v1::LatencyReport& felt = CallersLatency(report, *cluster);
  point.set_iops(cluster->iops());
  SetLatency(felt, *point.mutable_cluster());
  result.mean_ns = felt.avg_ns();
  result.median_ns = static_cast<double>(felt.p50_ns());
  if (const v1::OperationScopeReport* const cluster_reads = ClusterReads(report); cluster_reads != nullptr) {
    // The load counts reads and writes.
    point.set_iops(cluster->iops() + cluster_reads->throughput().iops());
    const v1::LatencyReport& reads = FeltOf(*cluster_reads);
    const auto write_count = static_cast<double>(felt.count());
    const auto read_count = static_cast<double>(reads.count());
    if (read_count > 0) {
      result.mean_ns = (felt.avg_ns() * write_count + reads.avg_ns() * read_count) / (write_count + read_count);
    }
    const uint32_t percent = plan_.read_percent();
    if (percent >= kWatchedPercent) result.other_median_ns = static_cast<double>(reads.p50_ns());
    if (percent > 100 - kWatchedPercent) result.median_ns = std::exchange(result.other_median_ns, 0.0);
  }
  if (const v1::OperationReport* const commits = CommitsOf(report); commits != nullptr) {
    const v1::OperationScopeReport* const own = FindScope(*commits, *cluster);
    if (own != nullptr) point.set_iops(own->throughput().iops());
  }
  const auto writers = std::ranges::distance(OfKind(report.scopes(), v1::SCOPE_KIND_QM));
  if (writers > 0) result.rate = point.iops() / static_cast<double>(writers);
  return result;
}

bool LimitAnalysis::IsGeneratorBound(const Step& step) {
  return std::ranges::any_of(step.hosts, [](const HostFact& host) { return !host.bottleneck.empty(); });
}

void LimitAnalysis::NameLateStarts(Step& step) const {
  for (const auto& [number, delay_ns] : start_delays_ns_) {
    const auto host = hosts_.find(number);
    for (HostFact& fact : step.hosts) {
      if (host == hosts_.end() || fact.label != host->second.label || delay_ns < kLateStartNs) continue;
      if (fact.bottleneck.empty()) {
        fact.bottleneck = absl::StrFormat("its writers started %ss up to %.1f ms late",
                                          AnyOperation(plan_.read_percent()), Milliseconds(delay_ns));
      }
    }
  }
}

const LimitAnalysis::Step* LimitAnalysis::BeforeAt(const Step& step) const {
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(), [&step](const Step& other) {
    return &other != &step && other.point.purpose() != v1::STEP_PURPOSE_PROBE && step.point.load() > 0 &&
           std::abs(other.point.load() - step.point.load()) <= 1e-9 * step.point.load();
  });
  return found == steps_.rend() ? nullptr : &*found;
}

v1::LimitState LimitAnalysis::StateOf(const v1::StepReport& report, const std::vector<Judged>& judged,
                                      Step& step) const {
  bool meets = !judged.empty() && report.cut_short().empty() && report.measured_ns() >= report.duration_ns();
  // A criterion on an operation that the step did not measure has no result, and does not count as met.
  for (const Criterion& criterion : criteria_) {
    const auto is_its = [&criterion](const v1::CriterionReport& result) {
      return result.criterion() == criterion.text;
    };
    meets = meets && (criterion.operation.empty() || std::ranges::any_of(step.criteria, is_its));
  }
  bool exceeds = false;
  for (size_t i = 0; i < judged.size(); ++i) {
    meets = meets && judged[i].outcome == v1::OUTCOME_PASS;
    // Only because of a burst at the step's end, perhaps.
    const bool burst = step.criteria[i].added() && step.criteria[i].value() >= kBurstPercent &&
                       report.duration_ns() < kBurstSteps * plan_.duration_ns();
    if (judged[i].outcome != v1::OUTCOME_FAIL || burst) continue;
    (judged[i].bounded || rules_ < 4 ? exceeds : step.failed_once) = true;
  }
  // A single event decides nothing: two steps in succession must agree.
  if (const Step* const before = BeforeAt(step); before != nullptr && before->failed_once) {
    exceeds = exceeds || step.failed_once;
    meets = false;
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
  *step.mutable_operations() = first_step_.operations();
  step.set_read_percent(first_step_.read_percent());
  step.set_random_order(first_step_.random_order());
  if (first_step_.has_group_commit()) {
    *step.mutable_group_commit() = first_step_.group_commit();
    step.set_block_size_bytes(0);
  }
  const double load = next->load > 0 ? next->load : MostLoad();
  if (plan_.limit().over() == v1::LIMIT_OVER_RATE) {
    step.set_rate_per_second(next->load);
  } else if (OverClients()) {
    step.mutable_group_commit()->set_clients(static_cast<uint32_t>(load));
  } else if (OverLoadFactor()) {
    step.mutable_group_commit()->set_load_factor(load);
  } else {
    step.set_qm(static_cast<uint32_t>(next->load));
  }
  return step;
}

std::string LimitAnalysis::LastStepText() const {
  if (steps_.empty()) return "";
  const v1::LimitPoint& point = steps_.back().point;
  const std::string step = absl::StrCat("step ", point.step(), ", ", PurposeName(point.purpose()), ": ");
  if (point.purpose() == v1::STEP_PURPOSE_PROBE || point.load() == 0) {
    // What a probe is for: after an overload the next load waits until the storage is as fast as before.
    const size_t known = search_ && point.purpose() == v1::STEP_PURPOSE_PROBE ? search_->results().size() : 0;
    const bool waited = known > 0 && !search_->recovered(known - 1);
    return absl::StrCat(
        step, point.load() > 0 ? LoadText(point.load()) : MostText(),
        absl::StrFormat(": %s %ss/s of all hosts, %sp50 %.3f ms", FormatRate(point.iops()),
                        plan_.has_group_commit() ? kCommitName : AnyOperation(plan_.read_percent()),
                        ReadsAndWrites(plan_.read_percent()) ? "write " : "", Milliseconds(point.cluster().p50_ns())),
        !waited                     ? ""
        : search_->recovered(known) ? "; the storage has recovered"
                                    : "; the storage has not recovered yet");
  }
  const char* const state = point.state() == v1::LIMIT_STATE_MEETS     ? ": met"
                            : point.state() == v1::LIMIT_STATE_EXCEEDS ? ": exceeded"
                                                                       : ": undecided";
  return absl::StrCat(step, LoadText(point.load()), state,
                      point.criterion().empty() ? "" : absl::StrCat(" (", point.criterion(), ": ", point.value(), ")"));
}

std::optional<LimitAnalysis::Outlook> LimitAnalysis::NextStepOutlook() const {
  const std::optional<LimitStep> next = search_ && !broken_ ? search_->Next() : std::nullopt;
  if (!next) return std::nullopt;
  const LimitBounds known = search_->bounds();
  const std::string limit =
      known.meets == 0 && !known.exceeds ? ""
      : !known.exceeds                   ? absl::StrCat("; limit from ", AmountText(known.meets))
      : known.meets == 0                 ? absl::StrCat("; limit below ", AmountText(*known.exceeds))
                         : absl::StrCat("; limit from ", AmountText(known.meets), " to ", AmountText(*known.exceeds));
  return Outlook{
      absl::StrCat(PurposeName(next->purpose), ": ", next->load > 0 ? LoadText(next->load) : MostText(), limit),
      search_->left_ns()};
}

std::string LimitAnalysis::AmountText(double load) const {
  const bool whole = plan_.limit().over() != v1::LIMIT_OVER_RATE && !OverLoadFactor();
  return whole ? FormatFixed(load, 0) : FormatTargetRate(load);
}

std::string LimitAnalysis::MostText() const {
  return OverClients() || OverLoadFactor() ? LoadText(MostLoad()) : "no target rate";
}

std::string LimitAnalysis::LoadText(double load) const {
  if (plan_.limit().over() == v1::LIMIT_OVER_RATE) {
    return absl::StrCat(AmountText(load), " ", AnyOperation(plan_.read_percent()), "s/s per queue manager");
  }
  if (OverClients()) return absl::StrCat(AmountText(load), load == 1 ? " client" : " clients", " per queue manager");
  if (OverLoadFactor()) return absl::StrCat(AmountText(load), " times the recorded load");
  return absl::StrCat(AmountText(load), load == 1 ? " queue manager per host" : " queue managers per host");
}

const LimitAnalysis::Step* LimitAnalysis::LastOf(double load, v1::LimitState state) const {
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(), [load, state](const Step& step) {
    return step.point.state() == state && step.point.purpose() != v1::STEP_PURPOSE_PROBE &&
           std::abs(step.point.load() - load) <= 1e-9 * load;
  });
  return found == steps_.rend() ? nullptr : &*found;
}

const LimitAnalysis::Step* LimitAnalysis::Exceeding() const {
  if (!search_ || !search_->bounds().exceeds) return nullptr;
  return LastOf(*search_->bounds().exceeds, v1::LIMIT_STATE_EXCEEDS);
}

std::string LimitAnalysis::ContradictionText(const LimitSearch::Contradiction& changed) const {
  const Step& first = steps_[changed.first];
  const Step& second = steps_[changed.second];
  const auto text = [](const Step& step) {
    return step.point.state() == v1::LIMIT_STATE_MEETS
               ? absl::StrCat("met the criteria in step ", step.point.step())
               : absl::StrCat("exceeded them in step ", step.point.step(), " (", step.point.criterion(), ": ",
                              step.point.value(), ")");
  };
  const bool bound = IsGeneratorBound(first) || IsGeneratorBound(second);
  const bool same = std::abs(first.point.load() - second.point.load()) <= 1e-9 * first.point.load();
  const Step& meets = first.point.state() == v1::LIMIT_STATE_MEETS ? first : second;
  const Step& exceeds = &meets == &first ? second : first;
  return absl::StrCat("The storage ", bound ? "or the load generator " : "", "changed between steps ",
                      first.point.step(), " and ", second.point.step(), ": ", LoadText(meets.point.load()), " ",
                      text(meets), same ? "" : absl::StrCat(", ", LoadText(exceeds.point.load())), same ? " and " : " ",
                      text(exceeds), ".");
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
  // What follows from it is not worth a sentence.
  if (const auto changed = search_->contradiction()) return reasons.push_back(ContradictionText(*changed));
  if (limit.limit() > 0 && !limit.held()) {
    reasons.push_back(limit.ended().empty() ? "The answer was not held." : absl::StrCat(limit.ended(), "."));
  }
  const Step* const exceeding = Exceeding();
  if (limit.limit() == 0 && (exceeding == nullptr || search_->bounds().above < exceeding->point.load())) {
    reasons.push_back(limit.ended().empty()
                          ? "No load was shown to meet the criteria, nor the lowest one to exceed them."
                          : absl::StrCat(limit.ended(), "."));
  } else if (limit.limit() == 0 && !limit.ended().empty()) {
    const auto probes = static_cast<size_t>(
        std::ranges::count_if(steps_, [](const Step& step) { return step.point.purpose() == v1::STEP_PURPOSE_PROBE; }));
    reasons.push_back(absl::StrCat(
        limit.ended(), "; no lower load was held against the criteria",
        2 * probes <= steps_.size()
            ? ""
            : absl::StrCat(": ", probes, " of ", steps_.size(), " steps", " probed whether the storage had recovered"),
        "."));
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
    if (rules_ < 4 && step.point.purpose() == v1::STEP_PURPOSE_CURVE && step.point.state() == v1::LIMIT_STATE_EXCEEDS &&
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
    if (const auto upper_end = search_->upper_end()) limit_.set_exceeded_at(*upper_end);
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

std::unique_ptr<SectionAnalysis> MakeLimitAnalysis(const v1::TestPlan& plan, uint32_t rules);
std::unique_ptr<SectionAnalysis> MakeLimitAnalysis(const v1::TestPlan& plan, uint32_t rules) {
  return std::make_unique<LimitAnalysis>(plan, rules);
}

}  // namespace plimsoll
