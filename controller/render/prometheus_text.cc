#include "controller/render/prometheus_text.h"

#include <charconv>
#include <cmath>
#include <functional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/text.h"
#include "controller/render/json.h"
#include "controller/report/main_operation.h"

namespace plimsoll {
namespace {

constexpr double kNsPerMetricSecond = 1e9;

double MetricSeconds(double ns) {
  return ns / kNsPerMetricSecond;
}

// A scope of a step with the figures of one operation in it.
struct MetricScope {
  MetricLabels labels;
  const v1::LatencyReport* latency = nullptr;
  // Null if there is none.
  const v1::LatencyReport* response = nullptr;
  bool has_throughput = false;
  uint64_t bytes = 0;
  double iops = 0;
  double bytes_per_second = 0;
};

MetricLabels ScopeLabels(const v1::StepReport& step, v1::ScopeKind kind, const std::string& host, uint32_t storage,
                         const std::string& operation) {
  return {{"step", absl::StrCat(step.number())},
          {"scope", EnumName(*v1::ScopeKind_descriptor(), kind)},
          {"host", host},
          {"storage", storage == 0 || kind != v1::SCOPE_KIND_STORAGE ? "" : absl::StrCat(storage)},
          {"operation", operation}};
}

std::vector<MetricScope> MetricScopes(const v1::Report& report) {
  constexpr double kBytesPerMb = 1e6;
  std::vector<MetricScope> scopes;
  for (const v1::StepReport& step : report.steps()) {
    for (const v1::ScopeReport& scope : step.scopes()) {
      if (scope.kind() == v1::SCOPE_KIND_QM) continue;
      MetricScope& made = scopes.emplace_back();
      made.labels = ScopeLabels(step, scope.kind(), scope.host(), scope.storage(), MainOperation(report.plan()));
      made.latency = &scope.latency();
      if (scope.has_rate()) made.response = &scope.rate().response();
      made.has_throughput = true;
      made.bytes = scope.bytes() + scope.closing().bytes();
      made.iops = scope.iops();
      made.bytes_per_second = scope.mb_per_second() * kBytesPerMb;
    }
    for (const v1::OperationReport& operation : step.operations()) {
      for (const v1::OperationScopeReport& scope : operation.scopes()) {
        if (scope.kind() == v1::SCOPE_KIND_QM) continue;
        MetricScope& made = scopes.emplace_back();
        made.labels = ScopeLabels(step, scope.kind(), scope.host(), scope.storage(), operation.name());
        made.latency = &scope.latency();
        if (scope.has_response()) made.response = &scope.response();
        made.has_throughput = scope.has_throughput();
        made.bytes = scope.throughput().bytes();
        made.iops = scope.throughput().iops();
        made.bytes_per_second = scope.throughput().mb_per_second() * kBytesPerMb;
      }
    }
  }
  return scopes;
}

// Percentiles that are known, sum and count.
void AddSummary(const std::string& name, const std::string& help, const std::vector<MetricScope>& scopes,
                const std::function<const v1::LatencyReport*(const MetricScope&)>& get, PrometheusText& text) {
  text.Begin(name, "summary", help);
  for (const MetricScope& scope : scopes) {
    const v1::LatencyReport* const latency = get(scope);
    if (latency == nullptr) continue;
    const auto add = [&](const char* quantile, const char* percentile, uint64_t ns) {
      if (latency->count() == 0 || absl::c_linear_search(latency->thin(), percentile)) return;
      MetricLabels labels = scope.labels;
      labels.emplace_back("quantile", quantile);
      text.Sample(labels, MetricSeconds(static_cast<double>(ns)));
    };
    add("0.5", "p50", latency->p50_ns());
    add("0.9", "p90", latency->p90_ns());
    add("0.99", "p99", latency->p99_ns());
    add("0.999", "p99_9", latency->p99_9_ns());
    // The sum is not kept where 64 bits do not hold it, and the mean is.
    const double sum_ns = latency->has_sum_ns() ? static_cast<double>(latency->sum_ns())
                                                : latency->avg_ns() * static_cast<double>(latency->count());
    text.Sample(scope.labels, MetricSeconds(sum_ns), "_sum");
    text.Count(scope.labels, latency->count(), "_count");
  }
}

void AddGauge(const std::string& name, const std::string& help, const std::vector<MetricScope>& scopes,
              const std::function<double(const MetricScope&)>& get, PrometheusText& text) {
  text.Begin(name, "gauge", help);
  for (const MetricScope& scope : scopes) {
    const double value = get(scope);
    if (!std::isnan(value)) text.Sample(scope.labels, value);
  }
}

void AddRunMetrics(const v1::Report& report, PrometheusText& text) {
  text.Begin("plimsoll_run_info", "gauge", "The run that the metrics are about; always 1.");
  text.Count({{"run_id", report.run().id()}, {"name", report.run().name()}, {"version", report.run().version()}}, 1);
  text.Begin("plimsoll_run_end_timestamp_seconds", "gauge", "When the run ended, in seconds since 1970.");
  text.Sample({}, static_cast<double>(report.run().end().seconds()));
  AddVerdictMetric(report.verdict().outcome(), text);
  text.Begin("plimsoll_criterion_outcome", "gauge", "Outcome of each criterion of the plan; always 1.");
  std::vector<MetricLabels> known;
  for (const v1::CriterionReport& criterion : report.verdict().criteria()) {
    MetricLabels labels = {{"criterion", criterion.criterion()},
                           {"outcome", EnumName(*v1::Outcome_descriptor(), criterion.outcome())}};
    // A plan may have a criterion twice.
    if (absl::c_linear_search(known, labels)) continue;
    text.Count(labels, 1);
    known.push_back(std::move(labels));
  }
}

}  // namespace

void PrometheusText::Begin(const std::string& name, const char* type, const std::string& help) {
  name_ = name;
  absl::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

void PrometheusText::Sample(const MetricLabels& labels, double value, const char* suffix) {
  absl::StrAppend(&text_, name_, suffix, LabelText(labels), " ", Number(value), "\n");
}

void PrometheusText::Count(const MetricLabels& labels, uint64_t value, const char* suffix) {
  absl::StrAppend(&text_, name_, suffix, LabelText(labels), " ", value, "\n");
}

std::string PrometheusText::Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  // Bounds of buckets are compared as texts: none of them has an exponent.
  constexpr double kLargestFixed = 1e15;
  constexpr double kSmallestFixed = 1e-9;
  const double size = std::fabs(value);
  const bool fixed = value == 0 || (size >= kSmallestFixed && size < kLargestFixed);
  char digits[64];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), value,
                                          fixed ? std::chars_format::fixed : std::chars_format::general);
  return {digits, end};
}

std::string PrometheusText::LabelText(const MetricLabels& labels) {
  std::string text;
  for (const auto& [label, value] : labels) {
    if (value.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "{" : ",", label, "=\"",
                    absl::StrReplaceAll(SanitizeForTerminal(value), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
                    "\"");
  }
  if (!text.empty()) text += '}';
  return text;
}

void AddVerdictMetric(v1::Outcome outcome, PrometheusText& text) {
  text.Begin("plimsoll_verdict", "gauge", "1 for the outcome of the run; all are 0 while there is no verdict.");
  for (const v1::Outcome each : {v1::OUTCOME_PASS, v1::OUTCOME_FAIL, v1::OUTCOME_INCONCLUSIVE, v1::OUTCOME_DONE}) {
    text.Count({{"outcome", EnumName(*v1::Outcome_descriptor(), each)}}, each == outcome ? 1 : 0);
  }
}

std::string RenderMetrics(const v1::Report& report) {
  PrometheusText text;
  AddRunMetrics(report, text);
  const std::vector<MetricScope> scopes = MetricScopes(report);
  if (scopes.empty()) return text.Take();
  AddSummary(
      "plimsoll_step_operation_duration_seconds", "Service times of a step, those in flight at its end included.",
      scopes, [](const MetricScope& scope) { return scope.latency; }, text);
  AddSummary(
      "plimsoll_step_operation_response_seconds",
      "Response times of a step with a target rate, operations that were not issued included.", scopes,
      [](const MetricScope& scope) { return scope.response; }, text);
  AddGauge(
      "plimsoll_step_operation_duration_max_seconds", "Largest service time of a step.", scopes,
      [](const MetricScope& scope) { return MetricSeconds(static_cast<double>(scope.latency->max_ns())); }, text);
  const auto with_throughput = [](double MetricScope::* value) {
    return [value](const MetricScope& scope) { return scope.has_throughput ? scope.*value : std::nan(""); };
  };
  AddGauge(
      "plimsoll_step_bytes", "Bytes of the operations of a step, those in flight at its end included.", scopes,
      [](const MetricScope& scope) { return scope.has_throughput ? static_cast<double>(scope.bytes) : std::nan(""); },
      text);
  AddGauge("plimsoll_step_operations_per_second", "Operations per second of a step.", scopes,
           with_throughput(&MetricScope::iops), text);
  AddGauge("plimsoll_step_bytes_per_second", "Bytes per second of a step.", scopes,
           with_throughput(&MetricScope::bytes_per_second), text);
  text.Begin("plimsoll_step_stalls", "gauge", "Stalls of a step.");
  for (const v1::StepReport& step : report.steps()) {
    text.Count({{"step", absl::StrCat(step.number())}}, step.stalls().count());
  }
  return text.Take();
}

std::string RenderUnfinishedMetrics() {
  PrometheusText text;
  AddVerdictMetric(v1::OUTCOME_UNSPECIFIED, text);
  return text.Take();
}

}  // namespace plimsoll
