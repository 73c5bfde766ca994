#include "controller/analysis/judge.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/units.h"
#include "controller/analysis/figures.h"

namespace plimsoll {
namespace {

// Half a year: no criterion allows a write that.
constexpr uint64_t kLongerThanAnyLimitNs = uint64_t{1} << 54;

bool Covers(CriterionScope scope, v1::ScopeKind kind) {
  switch (scope) {
    case CriterionScope::kCluster:
      return kind == v1::SCOPE_KIND_CLUSTER;
    case CriterionScope::kStorage:
      return kind == v1::SCOPE_KIND_STORAGE;
    case CriterionScope::kHost:
      return kind == v1::SCOPE_KIND_HOST;
    case CriterionScope::kQm:
      return kind == v1::SCOPE_KIND_QM;
  }
  return false;
}

// The value that the criterion looks at, or why there is none.
struct Measured {
  std::optional<double> value;
  std::string missing;
};

Measured Measure(const Criterion& criterion, const v1::ScopeReport& scope, const Histogram& latency,
                 const SecondExtremes& extremes) {
  const bool about_latency = UnitOf(criterion.metric) == MetricUnit::kNanoseconds;
  if (about_latency && latency.count() == 0) return {std::nullopt, "there was no write"};
  const bool about_seconds =
      criterion.metric == Metric::kMinWritesPerSecond || criterion.metric == Metric::kMinBytesPerSecond;
  if (about_seconds && extremes.seconds == 0) return {std::nullopt, "there was no whole second"};
  switch (criterion.metric) {
    case Metric::kPercentile:
      return {static_cast<double>(latency.PercentileNs(criterion.percentile)), ""};
    case Metric::kMin:
      return {static_cast<double>(latency.min_ns()), ""};
    case Metric::kMax:
      return {static_cast<double>(latency.max_ns()), ""};
    case Metric::kAverage:
      return {latency.mean_ns(), ""};
    case Metric::kWeightedAverage:
      return {latency.WeightedMeanNs(), ""};
    case Metric::kWritesPerSecond:
      return {scope.iops(), ""};
    case Metric::kBytesPerSecond:
      return {scope.mb_per_second() * 1e6, ""};
    case Metric::kMinWritesPerSecond:
      return {static_cast<double>(extremes.min_writes), ""};
    case Metric::kMinBytesPerSecond:
      return {static_cast<double>(scope.bandwidth().min_bytes_per_second()), ""};
    case Metric::kWrites:
      return {static_cast<double>(scope.writes()), ""};
  }
  return {std::nullopt, "this cannot be measured"};
}

std::string ForPeople(MetricUnit unit, double value) {
  switch (unit) {
    case MetricUnit::kNanoseconds:
      return absl::StrFormat("%.3f ms", value / static_cast<double>(kNsPerMs));
    case MetricUnit::kWritesPerSecond:
      return value < 100 ? absl::StrFormat("%.2f writes/s", value)
                         : absl::StrCat(FormatCount(static_cast<uint64_t>(std::llround(value))), " writes/s");
    case MetricUnit::kBytesPerSecond:
      return absl::StrFormat("%.2f MB/s", value / 1e6);
    case MetricUnit::kWrites:
      return absl::StrCat(FormatCount(static_cast<uint64_t>(std::llround(value))), " writes");
  }
  return "";
}

// "step 2, beta/qm2".
std::string Place(uint32_t step, const v1::ScopeReport& scope) {
  return absl::StrCat(
      "step ", step, scope.storage() == 0 || !scope.host().empty() ? "" : absl::StrCat(", storage ", scope.storage()),
      scope.host().empty() ? "" : ", ", scope.host(), scope.qm() == 0 ? "" : absl::StrCat("/qm", scope.qm()));
}

bool WantsSmall(Comparison comparison) {
  return comparison == Comparison::kLess || comparison == Comparison::kLessOrEqual;
}

}  // namespace

Judge::Judge(const v1::TestPlan& plan) {
  for (const std::string& text : plan.criteria()) {
    Case& one = cases_.emplace_back();
    one.report.set_criterion(text);
    absl::StatusOr<Criterion> criterion = ParseCriterion(text);
    if (criterion.ok()) {
      one.criterion = *std::move(criterion);
    } else {
      // Never observed: no scope is asked for.
      one.doubt = std::string(criterion.status().message());
    }
  }
}

std::vector<Judge::Case*> Judge::CasesOf(uint32_t step) {
  const auto [found, added] = by_step_.try_emplace(step, cases_);
  std::vector<Case*> cases;
  for (size_t i = 0; i < cases_.size(); ++i) {
    Case& in_step = found->second[i];
    if (added) in_step = {cases_[i].criterion, {}, false, false, ""};
    cases.insert(cases.end(), {&cases_[i], &in_step});
  }
  return cases;
}

void Judge::Observe(uint32_t step, uint64_t block_size_bytes, const v1::ScopeReport& scope, const Histogram& latency,
                    const SecondExtremes& extremes) {
  for (Case* looking : CasesOf(step)) {
    Case& one = *looking;
    if (one.criterion.text.empty() || !Covers(one.criterion.scope, scope.kind())) continue;
    if (one.criterion.block_size_bytes != 0 && one.criterion.block_size_bytes != block_size_bytes) continue;
    Take(one, step, scope, latency, extremes);
  }
}

void Judge::Take(Case& one, uint32_t step, const v1::ScopeReport& scope, const Histogram& latency,
                 const SecondExtremes& extremes) {
  const Criterion& criterion = one.criterion;
  const Measured measured = Measure(criterion, scope, latency, extremes);
  const std::string where = Place(step, scope);
  if (!measured.value || !std::isfinite(*measured.value)) {
    if (one.doubt.empty()) one.doubt = absl::StrCat(where, ": ", measured.missing);
    return;
  }
  const double value = *measured.value;
  const bool fulfilled = Fulfils(criterion, value);
  const bool thin = criterion.metric == Metric::kPercentile && IsThin(latency.count(), criterion.percentile);
  // Few writes cannot carry a percentile, unless even the median is on the wrong side of the limit.
  const bool median_fails = criterion.percentile >= 50 && WantsSmall(criterion.comparison) &&
                            !Fulfils(criterion, static_cast<double>(latency.PercentileNs(50)));
  if (!fulfilled && (!thin || median_fails)) {
    one.failed = true;
  } else if (thin && one.doubt.empty()) {
    one.doubt = absl::StrCat(where, ": fewer than 10 of ", FormatCount(latency.count()), " writes lie beyond it");
  }
  Keep(one, step, scope, value);
}

void Judge::Keep(Case& one, uint32_t step, const v1::ScopeReport& scope, double value) {
  const Criterion& criterion = one.criterion;
  const bool worse = WantsSmall(criterion.comparison) ? value > one.report.value() : value < one.report.value();
  if (one.seen && !worse) return;
  one.seen = true;
  one.report.set_value(value);
  one.report.set_value_text(ForPeople(UnitOf(criterion.metric), value));
  one.report.set_step(step);
  one.report.set_kind(scope.kind());
  one.report.set_host(scope.host());
  one.report.set_qm(scope.qm());
  one.report.set_storage(scope.storage());
}

void Judge::ObserveInFlight(uint32_t step, uint64_t block_size_bytes, const v1::ScopeReport& scope, Histogram latency,
                            const std::vector<int64_t>& ages_ns) {
  Histogram longest = latency;
  for (const int64_t age_ns : ages_ns) {
    latency.Record(static_cast<uint64_t>(std::max<int64_t>(age_ns, 0)));
    longest.Record(kLongerThanAnyLimitNs);
  }
  for (Case* looking : CasesOf(step)) {
    Case& one = *looking;
    const Criterion& criterion = one.criterion;
    if (criterion.text.empty() || !Covers(criterion.scope, scope.kind())) continue;
    if (criterion.block_size_bytes != 0 && criterion.block_size_bytes != block_size_bytes) continue;
    const bool percentile = criterion.metric == Metric::kPercentile;
    if ((!percentile && criterion.metric != Metric::kMax) || !WantsSmall(criterion.comparison)) continue;
    const auto value_of = [&](const Histogram& writes) {
      return static_cast<double>(percentile ? writes.PercentileNs(criterion.percentile) : writes.max_ns());
    };
    const double value = value_of(latency);
    if (Fulfils(criterion, value)) {
      if (!Fulfils(criterion, value_of(longest)) && one.doubt.empty()) {
        one.doubt = absl::StrCat(Place(step, scope), ": a write was still in flight when the data end");
      }
      continue;
    }
    // Few writes carry a percentile no better than usual.
    if (percentile && IsThin(latency.count(), criterion.percentile) &&
        Fulfils(criterion, static_cast<double>(latency.PercentileNs(50)))) {
      continue;
    }
    one.failed = true;
    Keep(one, step, scope, value);
  }
}

v1::CriterionReport Judge::Settle(const Case& one) {
  v1::CriterionReport report = one.report;
  std::string doubt = one.doubt;
  if (doubt.empty() && !one.seen) doubt = "nothing that it looks at was measured";
  if (one.failed) {
    report.set_outcome(v1::OUTCOME_FAIL);
  } else if (!doubt.empty()) {
    report.set_outcome(v1::OUTCOME_INCONCLUSIVE);
    report.set_reason(doubt);
  } else {
    report.set_outcome(v1::OUTCOME_PASS);
  }
  return report;
}

v1::VerdictReport Judge::Finish(const std::vector<std::string>& reasons) const {
  v1::VerdictReport verdict;
  bool failed = false;
  bool doubted = !reasons.empty();
  for (const Case& one : cases_) {
    v1::CriterionReport& report = *verdict.add_criteria();
    report = Settle(one);
    failed = failed || report.outcome() == v1::OUTCOME_FAIL;
    doubted = doubted || report.outcome() == v1::OUTCOME_INCONCLUSIVE;
    for (const auto& [step, cases] : by_step_) {
      const Case& there = cases[static_cast<size_t>(&one - cases_.data())];
      if (!there.seen && there.doubt.empty()) continue;  // it does not look at that step
      const v1::CriterionReport settled = Settle(there);
      v1::CriterionStepReport& in_step = *report.add_steps();
      in_step.set_step(step);
      in_step.set_outcome(settled.outcome());
      in_step.set_value(settled.value());
      in_step.set_value_text(settled.value_text());
      in_step.set_kind(settled.kind());
      in_step.set_host(settled.host());
      in_step.set_qm(settled.qm());
      in_step.set_storage(settled.storage());
      in_step.set_reason(settled.reason());
    }
  }
  for (const std::string& reason : reasons) verdict.add_reasons(reason);
  if (failed) {
    verdict.set_outcome(v1::OUTCOME_FAIL);
  } else if (doubted) {
    verdict.set_outcome(v1::OUTCOME_INCONCLUSIVE);
  } else {
    verdict.set_outcome(cases_.empty() ? v1::OUTCOME_DONE : v1::OUTCOME_PASS);
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
