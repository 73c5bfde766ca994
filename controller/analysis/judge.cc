#include "controller/analysis/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/figures.h"
#include "controller/criteria/criteria.h"
#include "controller/report/main_operation.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"

namespace plimsoll {

double ChanceOfAtLeast(uint64_t count, uint64_t n, double share) {
  const auto of = static_cast<double>(n);
  const auto least = static_cast<double>(count);
  if (least <= of * share) return 1;
  if (count > n) return 0;
  // The first term, and then each by its ratio to the one before: above the expected number they fall at least as fast
  // as a geometric series.
  const double log_first = std::lgamma(of + 1) - std::lgamma(least + 1) - std::lgamma(of - least + 1) +
                           least * std::log(share) + (of - least) * std::log1p(-share);
  const double odds = share / (1 - share);
  constexpr double kNegligible = 1e-12;
  constexpr int kMostTerms = 10'000'000;
  double sum = 1;
  double term = 1;
  double i = least;
  for (int terms = 0; i < of && term > kNegligible * sum && terms < kMostTerms; ++terms, ++i) {
    term *= (of - i) / (i + 1) * odds;
    sum += term;
  }
  return std::min(1.0, std::exp(log_first) * sum);
}

namespace {

// "1 stall", "2 stalls".
std::string CountText(uint64_t count, std::string noun) {
  if (count == 1) noun.pop_back();
  return absl::StrCat(FormatCount(count), " ", noun);
}

}  // namespace

std::string FormatMetricValue(const MetricInfo& info, double value, const std::string& operations) {
  switch (info.unit) {
    case MetricUnit::kNanoseconds:
      return absl::StrFormat("%.3f ms", value / static_cast<double>(kNsPerMs));
    case MetricUnit::kWritesPerSecond:
      return absl::StrCat(
          value < 100 ? absl::StrFormat("%.2f", value) : FormatCount(static_cast<uint64_t>(std::llround(value))), " ",
          operations, "/s");
    case MetricUnit::kBytesPerSecond:
      return absl::StrFormat("%.2f MB/s", value / kBytesPerMegabyte);
    case MetricUnit::kCount:
      return CountText(static_cast<uint64_t>(std::llround(value)),
                       info.noun == std::string_view("writes") ? operations : info.noun);
    case MetricUnit::kPercent:
      // Rounded down, so that what is not reached does not look as if it were.
      return absl::StrFormat("%.2f %%", std::floor(value * 100) / 100);
    case MetricUnit::kSignedPercent:
      return absl::StrFormat("%+.2f %%", value);
    case MetricUnit::kRatio:
      return absl::StrFormat("%.4f", value);
    case MetricUnit::kYesNo:
      break;
  }
  return value == 0 ? "no" : "yes";
}

std::string CountedOperations(const Criterion& criterion, uint32_t read_percent) {
  if (read_percent == kOnlyReads || criterion.operation == kReadName) return "reads";
  if (IsCallName(criterion.operation)) return "calls";
  if (criterion.operation == kCommitName) return "commits";
  const bool of_rate = criterion.metric == Metric::kRateAchieved || criterion.metric == Metric::kNotIssued;
  return of_rate && ReadsAndWrites(read_percent) ? "operations" : "writes";
}

std::string FormatPlace(uint32_t step, const std::string& host, uint32_t qm, uint32_t storage,
                        const std::string& name) {
  std::string place = step == 0 ? "" : absl::StrCat("step ", step);
  const auto add = [&place](const std::string& more) { absl::StrAppend(&place, place.empty() ? "" : ", ", more); };
  if (host.empty() && storage != 0) add(absl::StrCat("storage ", storage));
  if (!host.empty())
    add(absl::StrCat(host, qm == 0 ? "" : name.empty() ? absl::StrCat("/qm", qm) : absl::StrCat("/", name)));
  return place;
}

namespace {

// A storage whose percentile is exactly at its limit fails with at most this chance, over all tests of a criterion.
constexpr double kChanceOfFalseFail = 0.01;

v1::ScopeKind KindOf(CriterionScope scope) {
  switch (scope) {
    case CriterionScope::kCluster:
      return v1::SCOPE_KIND_CLUSTER;
    case CriterionScope::kStorage:
      return v1::SCOPE_KIND_STORAGE;
    case CriterionScope::kHost:
      return v1::SCOPE_KIND_HOST;
    case CriterionScope::kQm:
      break;
  }
  return v1::SCOPE_KIND_QM;
}

enum class Holds { kYes, kPerhaps, kNo };

Holds Evaluate(const Criterion& criterion, double least, double most) {
  const bool low = Fulfils(criterion, least);
  const bool high = Fulfils(criterion, most);
  if (low && high) return Holds::kYes;
  const bool between =
      criterion.comparison == Comparison::kEqual && least <= criterion.limit && criterion.limit <= most;
  return low || high || between ? Holds::kPerhaps : Holds::kNo;
}

// Share of the writes that may lie beyond the limit.
double AllowedShare(const Criterion& criterion) {
  const double share = criterion.percentile / 100;
  return WantsSmall(criterion) ? 1 - share : share;
}

// Whether the percentile of `writes` values, of which `beyond` do not fulfil the criterion, does not fulfil it.
bool IsBeyond(const Criterion& criterion, uint64_t beyond, uint64_t writes) {
  const uint64_t rank = PercentileRank(writes, criterion.percentile);
  return WantsSmall(criterion) ? beyond > writes - rank : beyond >= std::max<uint64_t>(rank, 1);
}

// Least number of writes with which the percentile is known (IsKnown).
double WritesForPercentile(double percentile) {
  return std::ceil(kNeededBeyond / (1 - percentile / 100) - 1e-6);
}

// How many times as long a step would have to be for the same share of writes beyond the limit to be no chance; 0:
// beyond all reason.
double FactorToDecide(const BeyondLimit& beyond, double share, uint64_t tests) {
  constexpr double kMostFactor = 1e6;
  double factor = 1;
  while (factor <= kMostFactor) {
    const auto writes = static_cast<uint64_t>(static_cast<double>(beyond.writes) * factor);
    const auto count = static_cast<uint64_t>(static_cast<double>(beyond.certain) * factor);
    if (ChanceOfAtLeast(count, writes, share) * static_cast<double>(tests) < kChanceOfFalseFail) return factor;
    factor *= 1.25;
  }
  return 0;
}

bool IsWorse(const Criterion& criterion, double value, double than) {
  if (criterion.comparison == Comparison::kEqual) {
    return std::abs(value - criterion.limit) > std::abs(than - criterion.limit);
  }
  return WantsSmall(criterion) ? value > than : value < than;
}

bool HasRate(const ScopeFigures& figures) {
  return figures.sums.asked_iops > 0;
}

bool IsAboutRate(Metric metric) {
  return metric == Metric::kRateAchieved || metric == Metric::kNotIssued;
}

// Whether the metric's values come from clocks.
bool IsByClock(Metric metric) {
  return metric != Metric::kHosts && metric != Metric::kNfsRetransmits;
}

}  // namespace

Judge::Judge(const v1::TestPlan& plan, uint32_t rules) : rules_(rules), read_percent_(plan.read_percent()) {
  rate_.criterion = ParseCriterion(kAddedRateCriterion).value();
  rate_.text = kAddedRateCriterion;
  rate_.added = true;
  // Whether a cluster carries its load is a question about the rates of the load.
  rate_is_demand_ = rules >= 1 && (plan.criteria_size() > 0 || HasPlacement(plan));
  // A disturbance makes queue managers wait: `max` limits that, and the rate follows from it.
  if (!plan.disturb().empty()) {
    rate_is_demand_ = false;
    rate_is_shown_ = true;
  }
  // CheckPlan refuses criteria beside them; a journal with both is no more judged.
  if (PlaysWritesAsRecorded(plan)) {
    rate_is_demand_ = false;
    return;
  }
  for (const std::string& text : plan.criteria()) {
    Case& one = cases_.emplace_back();
    one.text = text;
    absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    if (!criterion.ok()) {
      one.unreadable = std::string(criterion.status().message());
      continue;
    }
    one.criterion = *std::move(criterion);
    if (one.criterion.metric != Metric::kRateAchieved) continue;
    rate_is_shown_ = false;
    if (one.criterion.block_size_bytes == 0) {
      // Without each queue manager's rate it is not known whether the cluster carries its load.
      if (!HasPlacement(plan) || IsLeastRate(one.criterion)) rate_is_demand_ = false;
    } else if (!HasPlacement(plan)) {
      rate_.left_out_block_sizes.push_back(one.criterion.block_size_bytes);
    }
  }
}

bool Judge::LooksAt(const Case& one, uint64_t block_size_bytes) {
  if (!one.unreadable.empty()) return false;
  if (one.criterion.block_size_bytes != 0 && one.criterion.block_size_bytes != block_size_bytes) return false;
  const std::vector<uint64_t>& left_out = one.left_out_block_sizes;
  return std::find(left_out.begin(), left_out.end(), block_size_bytes) == left_out.end();
}

void Judge::Observe(uint32_t step, uint64_t block_size_bytes, const ScopeFigures& figures) {
  const auto look = [&](Case& one) {
    const ScopeGetter getter = MetricGetters()[static_cast<size_t>(one.criterion.metric)].of_scope;
    if (getter == nullptr || !LooksAt(one, block_size_bytes) || KindOf(one.criterion.scope) != figures.scope.kind() ||
        !absl::EqualsIgnoreCase(one.criterion.operation, figures.operation)) {
      return;
    }
    // Writers without a rate have none to reach.
    if (IsAboutRate(one.criterion.metric) && !HasRate(figures)) return;
    Take(one, step, getter(one.criterion, figures));
  };
  for (Case& one : cases_) look(one);
  look(rate_);
}

void Judge::ObserveStep(const StepFigures& figures) {
  for (Case& one : cases_) {
    const StepGetter getter = MetricGetters()[static_cast<size_t>(one.criterion.metric)].of_step;
    if (getter == nullptr || !LooksAt(one, figures.report.block_size_bytes())) continue;
    for (const Reading& reading : getter(one.criterion, figures)) Take(one, figures.report.number(), reading);
  }
}

void Judge::ObserveRun(const v1::Report& report) {
  for (Case& one : cases_) {
    const RunGetter getter = MetricGetters()[static_cast<size_t>(one.criterion.metric)].of_run;
    if (getter == nullptr || !one.unreadable.empty()) continue;
    for (const Reading& reading : getter(report)) Take(one, 0, reading);
  }
}

Judge::Finding Judge::MakeFinding(const Reading& reading) {
  return {true, *reading.value, reading.kind, reading.host, reading.qm, reading.storage, reading.queue_manager};
}

void Judge::KeepWorst(const Criterion& criterion, const Finding& finding, Finding& worst) {
  if (!worst.seen || IsWorse(criterion, finding.value, worst.value)) worst = finding;
}

void Judge::Take(Case& one, uint32_t step, const Reading& reading) {
  StepCase& in_step = one.steps[step];
  ++in_step.scopes;
  const auto doubt = [&](const std::string& why) {
    const std::string place = FormatPlace(step, reading.host, reading.qm, reading.storage, reading.queue_manager);
    const std::string text = absl::StrCat(place, place.empty() ? "" : ": ", why);
    const auto keep = [&](Doubt& kept) {
      const bool worse = kept.value && reading.value && IsWorse(one.criterion, *reading.value, *kept.value);
      if (kept.text.empty() || worse) kept = {text, reading.value};
    };
    keep(in_step.doubt);
    if (!reading.of_lost_host) keep(in_step.doubt_of_present);
  };
  if (!reading.value || !std::isfinite(*reading.value)) {
    doubt(reading.value ? "it cannot be measured" : reading.doubt);
    return;
  }
  const Finding finding = MakeFinding(reading);
  KeepWorst(one.criterion, finding, in_step.worst);
  if (reading.beyond) {
    TakePercentile(one, in_step, reading);
    // The doubt counts where what is not known could break the limit.
    const BeyondLimit& beyond = *reading.beyond;
    const bool could_break = beyond.missing == UINT64_MAX ||
                             IsBeyond(one.criterion, beyond.possible + beyond.missing, beyond.writes + beyond.missing);
    if (!reading.doubt.empty() && could_break) doubt(reading.doubt);
    return;
  }
  if (!Fulfils(one.criterion, finding.value)) ++in_step.beyond;
  const Holds holds = Evaluate(one.criterion, reading.least, reading.most);
  const Holds with_losses = reading.lost_more ? Evaluate(one.criterion, reading.least, kNoBound) : holds;
  if (holds == Holds::kNo) KeepWorst(one.criterion, finding, in_step.failed_with_losses);
  if (with_losses == Holds::kNo) KeepWorst(one.criterion, finding, in_step.failed);
  if (holds == Holds::kPerhaps) doubt(reading.doubt);
  if (holds != Holds::kPerhaps && with_losses == Holds::kPerhaps && in_step.doubt.text.empty()) {
    in_step.doubt.text =
        absl::StrCat(FormatPlace(step, reading.host, reading.qm, reading.storage, reading.queue_manager),
                     ": a host of it was lost or failed");
  }
}

void Judge::TakePercentile(Case& one, StepCase& in_step, const Reading& reading) {
  ++one.tests;
  const Criterion& criterion = one.criterion;
  const BeyondLimit& beyond = *reading.beyond;
  if (beyond.writes == 0) return;
  const double share = AllowedShare(criterion);
  Unsure unsure{MakeFinding(reading), beyond, 1, 0};
  const bool is_beyond = IsBeyond(criterion, beyond.certain, beyond.writes);
  if (is_beyond) ++in_step.beyond;
  if (is_beyond && beyond.missing != UINT64_MAX) {
    unsure.chance = ChanceOfAtLeast(beyond.certain, beyond.writes + beyond.missing, share);
    const bool less_likely = !in_step.least_likely || unsure.chance < in_step.least_likely->chance ||
                             (unsure.chance == in_step.least_likely->chance && WantsSmall(criterion) &&
                              unsure.finding.value > in_step.least_likely->finding.value);
    if (less_likely) in_step.least_likely = unsure;
  }
  const bool thin = !IsKnown(beyond.writes, criterion.percentile);
  if (!thin && !is_beyond) return;
  const double factor =
      std::max(WritesForPercentile(criterion.percentile) / static_cast<double>(beyond.writes), thin ? 1.0 : 1.25);
  unsure.needed_ns = static_cast<double>(beyond.measured_ns) * factor;
  const auto keep = [&unsure](std::optional<Unsure>& longest) {
    if (!longest || unsure.needed_ns > longest->needed_ns) longest = unsure;
  };
  keep(in_step.longest_needed);
  if (!reading.of_lost_host) keep(in_step.longest_needed_of_present);
}

std::string Judge::NeedText(const Case& one, const Unsure& unsure) const {
  const BeyondLimit& beyond = unsure.beyond;
  const double share = AllowedShare(one.criterion);
  const double needed_writes = WritesForPercentile(one.criterion.percentile);
  const bool thin = static_cast<double>(beyond.writes) < needed_writes;
  double needed_ns = unsure.needed_ns;
  const std::string operations = " " + CountedOperations(one.criterion, read_percent_);
  std::string text;
  if (thin) {
    text = absl::StrCat("needs ", FormatCount(static_cast<uint64_t>(needed_writes)), operations, ", has ",
                        FormatCount(beyond.writes));
  } else {
    text = absl::StrCat("too close to the limit: ", FormatCount(beyond.certain), " of ", FormatCount(beyond.writes),
                        operations, " are beyond it, which may be chance");
    const double factor = FactorToDecide(beyond, share, std::max<uint64_t>(one.tests, 1));
    if (factor == 0) return text;
    needed_ns = std::max(needed_ns, factor * static_cast<double>(beyond.measured_ns));
  }
  const double seconds = std::ceil(needed_ns / static_cast<double>(kNsPerSecond));
  if (seconds <= 0 || seconds > 1e9) return text;
  return absl::StrCat(text, "; a duration of ", FormatCount(static_cast<uint64_t>(seconds)), " s would be enough");
}

v1::CriterionStepReport Judge::MakeStepReport(const Case& one, uint32_t step, const StepCase& in_step,
                                              bool losses_accepted) const {
  v1::CriterionStepReport report;
  report.set_step(step);
  report.set_scopes(in_step.scopes);
  report.set_beyond(in_step.beyond);
  const Finding* shown = &in_step.worst;
  const Finding& failed = losses_accepted ? in_step.failed_with_losses : in_step.failed;
  const bool no_chance =
      in_step.least_likely && in_step.least_likely->chance * static_cast<double>(one.tests) < kChanceOfFalseFail;
  const auto& needed = losses_accepted ? in_step.longest_needed_of_present : in_step.longest_needed;
  const std::string& doubt = (losses_accepted ? in_step.doubt_of_present : in_step.doubt).text;
  const auto distrusted = distrusted_.find(step);
  if (distrusted != distrusted_.end() && IsByClock(one.criterion.metric)) {
    report.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    report.set_reason(absl::StrCat("step ", step, ": ", distrusted->second));
  } else if (failed.seen || no_chance) {
    report.set_outcome(v1::OUTCOME_FAIL);
    shown = failed.seen ? &failed : &in_step.least_likely->finding;
  } else if (!doubt.empty()) {
    report.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    report.set_reason(doubt);
  } else if (needed) {
    report.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    const Finding& where = needed->finding;
    report.set_reason(absl::StrCat(FormatPlace(step, where.host, where.qm, where.storage, where.queue_manager), ": ",
                                   NeedText(one, *needed)));
  } else {
    report.set_outcome(v1::OUTCOME_PASS);
  }
  if (!shown->seen) return report;
  report.set_value(shown->value);
  report.set_value_text(
      FormatMetricValue(InfoOf(one.criterion.metric), shown->value, CountedOperations(one.criterion, read_percent_)));
  report.set_kind(shown->kind);
  report.set_host(shown->host);
  report.set_qm(shown->qm);
  if (!shown->queue_manager.empty()) report.set_queue_manager(shown->queue_manager);
  report.set_storage(shown->storage);
  return report;
}

v1::CriterionReport Judge::MakeReport(const Case& one, bool losses_accepted) const {
  v1::CriterionReport report;
  report.set_criterion(one.text);
  report.set_added(one.added);
  if (!one.unreadable.empty() || one.steps.empty()) {
    report.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    report.set_reason(!one.unreadable.empty()             ? one.unreadable
                      : IsAboutRate(one.criterion.metric) ? "no queue manager in its scope has a target rate"
                                                          : "nothing in its scope was measured");
    return report;
  }
  report.set_scope(KindOf(one.criterion.scope));
  const auto rank = [](v1::Outcome outcome) {
    return outcome == v1::OUTCOME_FAIL ? 2 : outcome == v1::OUTCOME_PASS ? 0 : 1;
  };
  const v1::CriterionStepReport* decisive = nullptr;
  for (const auto& [step, in_step] : one.steps)
    *report.add_steps() = MakeStepReport(one, step, in_step, losses_accepted);
  // The worst outcome decides, and among its steps the worst value.
  for (const v1::CriterionStepReport& step : report.steps()) {
    if (decisive != nullptr && rank(step.outcome()) < rank(decisive->outcome())) continue;
    if (decisive != nullptr && rank(step.outcome()) == rank(decisive->outcome())) {
      if (step.value_text().empty()) continue;
      if (!decisive->value_text().empty() && !IsWorse(one.criterion, step.value(), decisive->value())) continue;
    }
    decisive = &step;
  }
  report.set_outcome(decisive->outcome());
  report.set_reason(decisive->reason());
  report.set_value(decisive->value());
  report.set_value_text(decisive->value_text());
  report.set_step(decisive->step());
  report.set_kind(decisive->kind());
  report.set_host(decisive->host());
  report.set_qm(decisive->qm());
  if (decisive->has_queue_manager()) report.set_queue_manager(decisive->queue_manager());
  report.set_storage(decisive->storage());
  return report;
}

bool Judge::AcceptsLosses() const {
  return std::any_of(cases_.begin(), cases_.end(), [this](const Case& one) {
    return one.unreadable.empty() && one.criterion.metric == Metric::kHosts && one.criterion.block_size_bytes == 0 &&
           !WantsSmall(one.criterion) && MakeReport(one, true).outcome() == v1::OUTCOME_PASS;
  });
}

bool Judge::LooksAt(v1::ScopeKind kind, uint64_t block_size_bytes) const {
  const auto looks = [&](const Case& one) {
    return LooksAt(one, block_size_bytes) && KindOf(one.criterion.scope) == kind &&
           MetricGetters()[static_cast<size_t>(one.criterion.metric)].of_scope != nullptr;
  };
  return std::any_of(cases_.begin(), cases_.end(), looks) || (rate_is_demand_ && looks(rate_));
}

std::vector<Judge::SoFar> Judge::CriteriaSoFar() const {
  std::vector<SoFar> criteria;
  const auto add = [this, &criteria](const Case& one) {
    criteria.push_back({one.unreadable.empty() ? &one.criterion : nullptr, MakeReport(one, false)});
  };
  for (const Case& one : cases_) add(one);
  if (rate_is_demand_ && !rate_.steps.empty()) add(rate_);
  return criteria;
}

std::string Judge::RateRemark() const {
  if (!rate_is_shown_ && !cases_.empty()) return "";
  const v1::CriterionReport rate = MakeReport(rate_, false);
  const std::string place = FormatPlace(rate.step(), rate.host(), rate.qm(), rate.storage(), rate.queue_manager());
  if (rate_is_shown_) {
    return absl::StrCat("The target rate is not demanded under disturbances",
                        rate.value_text().empty() ? "" : absl::StrCat(": ", rate.value_text(), " of it in ", place),
                        ".");
  }
  if (rate.outcome() == v1::OUTCOME_FAIL) {
    return absl::StrCat("target rate missed: ", rate.value_text(), " of it in ", place);
  }
  if (rate.outcome() == v1::OUTCOME_INCONCLUSIVE && !rate.value_text().empty() &&
      !Fulfils(rate_.criterion, rate.value())) {
    return absl::StrCat("achieved ", rate.value_text(), " of the target rate (", rate.reason(), ")");
  }
  return "";
}

v1::VerdictReport Judge::Finish(const std::vector<std::string>& reasons) const {
  v1::VerdictReport verdict;
  const bool losses_accepted = AcceptsLosses();
  bool failed = false;
  bool doubted = !reasons.empty();
  const auto add = [&](const Case& one) {
    v1::CriterionReport& report = *verdict.add_criteria();
    report = MakeReport(one, losses_accepted);
    failed = failed || report.outcome() == v1::OUTCOME_FAIL;
    doubted = doubted || report.outcome() == v1::OUTCOME_INCONCLUSIVE;
  };
  for (const Case& one : cases_) add(one);
  if (!rate_.steps.empty()) {
    if (rate_is_demand_) {
      add(rate_);
    } else if (std::string remark = RateRemark(); !remark.empty()) {
      verdict.set_remark(std::move(remark));
    }
  }
  for (const std::string& reason : reasons) verdict.add_reasons(reason);
  if (failed) {
    verdict.set_outcome(v1::OUTCOME_FAIL);
  } else if (doubted) {
    verdict.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  } else {
    verdict.set_outcome(verdict.criteria().empty() ? v1::OUTCOME_DONE : v1::OUTCOME_PASS);
  }
  return verdict;
}

int ExitCode(const v1::Report& report) {
  switch (report.verdict().outcome()) {
    case v1::OUTCOME_PASS:
    case v1::OUTCOME_DONE:
      return 0;
    case v1::OUTCOME_FAIL:
      return 1;
    default:
      return 3;
  }
}

}  // namespace plimsoll
