// An acceptance in Prometheus' text format.
#include <string>

#include "absl/strings/str_cat.h"
#include "controller/accept/accept_report.h"
#include "controller/plan/accept_plan.h"
#include "controller/render/json.h"
#include "controller/render/prometheus_text.h"

namespace plimsoll {

std::string RenderAcceptMetrics(const v1::AcceptReport& report) {
  PrometheusText text;
  text.Begin("plimsoll_run_info", "gauge", "The acceptance that the metrics are about; always 1.");
  text.Count({{"run_id", report.id()}, {"name", report.name()}, {"command", "accept"}, {"version", report.version()}},
             1);
  text.Begin("plimsoll_run_end_timestamp_seconds", "gauge", "When the acceptance ended, in seconds since 1970.");
  text.Sample({}, static_cast<double>(report.end().seconds()));
  AddVerdictMetric(report.outcome(), text);
  text.Begin("plimsoll_accept_part_outcome", "gauge", "Outcome of each run of each part; always 1.");
  for (const v1::AcceptRun& run : report.runs()) {
    if (!run.began()) continue;
    text.Count({{"part", PartName(run.part())},
                {"run", absl::StrCat(run.run())},
                {"outcome", EnumName(*v1::Outcome_descriptor(), run.outcome())}},
               1);
  }
  text.Begin("plimsoll_accept_figure", "gauge", "Figures of the runs of a part, in the unit that the label names.");
  for (const v1::AcceptFigure& figure : report.figures()) {
    for (const v1::AcceptValue& value : figure.values()) {
      text.Sample({{"part", PartName(figure.part())},
                   {"run", absl::StrCat(value.run())},
                   {"figure", figure.name()},
                   {"unit", figure.unit()}},
                  value.value());
    }
  }
  return text.Take();
}

}  // namespace plimsoll
