// Prometheus' text exposition format, and a report in it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plimsoll/v1/report.pb.h"

namespace plimsoll {

// Labels of a sample, in their order; those with an empty value are left out, which means the same to Prometheus.
using MetricLabels = std::vector<std::pair<const char*, std::string>>;

// Text exposition format, version 0.0.4. The samples of a metric follow its Begin. Not thread-safe.
class PrometheusText {
 public:
  // Begins a metric: its name, its type ("counter", "gauge", "histogram", "summary"), and what it is in a sentence.
  void Begin(const std::string& name, const char* type, const std::string& help);

  // `suffix` follows the metric's name: "_bucket", "_sum", "_count", or nothing.
  void Sample(const MetricLabels& labels, double value, const char* suffix = "");
  void Count(const MetricLabels& labels, uint64_t value, const char* suffix = "");

  // The shortest spelling that reads back the same; "+Inf", "-Inf" and "NaN".
  static std::string Number(double value);
  // "{host=\"node1\",qm=\"1\"}", escaped; empty without labels. What is not UTF-8 becomes U+FFFD.
  static std::string LabelText(const MetricLabels& labels);

  std::string Take() { return std::move(text_); }

 private:
  std::string name_;
  std::string text_;
};

// Adds the metric plimsoll_verdict: a sample for each outcome, 1 for the one that is `outcome`. OUTCOME_UNSPECIFIED:
// there is no verdict, all are 0.
void AddVerdictMetric(v1::Outcome outcome, PrometheusText& text);

// The end result for node_exporter's textfile collector: the verdict, the criteria, and of each step the figures of the
// cluster, of each storage and of each host.
std::string RenderMetrics(const v1::Report& report);
// What the file holds while there is no verdict.
std::string RenderUnfinishedMetrics();

}  // namespace plimsoll
