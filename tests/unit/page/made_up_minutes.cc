#include "common/units.h"
#include "tests/unit/page/report_builder.h"

namespace plimsoll::tests {
namespace {

constexpr uint32_t kMinute = 60;
constexpr uint32_t kWholeSeconds = 3'600;

// Sixty seconds for each row of a series of minutes. Later ones have no percentiles.
v1::SeriesReport SecondsOf(const v1::SeriesReport& minutes) {
  v1::SeriesReport seconds;
  seconds.set_kind(minutes.kind());
  for (int row = 0; row < minutes.second_size(); ++row) {
    for (uint32_t second = minutes.second(row); second < minutes.second(row) + kMinute; ++second) {
      const bool whole = second < kWholeSeconds;
      seconds.add_second(second);
      seconds.add_writes(minutes.writes(row) / kMinute);
      seconds.add_bytes(minutes.bytes(row) / kMinute);
      seconds.add_latency_sum_ns(minutes.latency_sum_ns(row) / kMinute);
      seconds.add_latency_max_ns(minutes.latency_max_ns(row));
      seconds.add_p50_ns(whole ? minutes.p50_ns(row) : 0);
      seconds.add_p99_ns(whole ? minutes.p99_ns(row) : 0);
      seconds.add_p99_9_ns(whole ? minutes.p99_9_ns(row) : 0);
    }
  }
  return seconds;
}

// Makes minutes of what were seconds.
void MakeMinutes(google::protobuf::RepeatedPtrField<v1::SeriesReport>& all) {
  for (v1::SeriesReport& series : all) {
    series.clear_irregular();
    for (uint32_t& second : *series.mutable_second()) second *= kMinute;
    for (auto* const column : {series.mutable_writes(), series.mutable_bytes(), series.mutable_latency_sum_ns()}) {
      for (uint64_t& value : *column) value *= kMinute;
    }
  }
}

}  // namespace

v1::Report MinutesReport() {
  MadeUp made_up;
  made_up.seconds = 120;
  made_up.parts = true;
  v1::Report report = MakeReport(made_up);
  v1::StepReport& step = *report.mutable_steps(0);
  step.set_whole_seconds(kWholeSeconds);
  step.set_measured_ns(kMinute * step.measured_ns());
  step.set_duration_ns(step.measured_ns());
  for (v1::ScopeReport& scope : *step.mutable_scopes()) scope.set_measured_ns(step.measured_ns());
  step.mutable_minutes()->Swap(step.mutable_series());
  MakeMinutes(*step.mutable_minutes());
  for (const v1::SeriesReport& series : step.minutes()) {
    if (series.kind() == v1::SCOPE_KIND_CLUSTER) *step.add_series() = SecondsOf(series);
  }
  for (v1::OperationReport& operation : *step.mutable_operations()) {
    operation.mutable_minutes()->Swap(operation.mutable_series());
    MakeMinutes(*operation.mutable_minutes());
  }
  *step.mutable_minute_distributions() = step.seconds();
  step.clear_seconds();
  for (uint32_t& second : *step.mutable_minute_distributions()->mutable_second()) second *= kMinute;
  return report;
}

}  // namespace plimsoll::tests
