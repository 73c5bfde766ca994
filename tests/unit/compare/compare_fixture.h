// What the tests of comparing share.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "controller/compare/compare.h"
#include "tests/unit/compare/simulated_reports.h"

namespace plimsoll::tests {

// A run of two block sizes, `slower` times as slow as others.
inline v1::Report Simulated(double slower, uint64_t seed, double phi = 0.2, size_t seconds = 60) {
  SimulatedLaw law;
  law.phi = phi;
  law.seconds = seconds;
  law.latency_ns *= slower;
  law.writes /= slower;
  std::mt19937_64 random(seed);
  return SimulateReport(law, {4'096, 65'536}, random);
}

// The report as a run with a target rate has it, whose writes waited twice as long for their start as they took.
inline v1::Report Rated(v1::Report report) {
  for (v1::StepReport& step : *report.mutable_steps()) {
    v1::ResponseReport& response = *step.mutable_response();
    *response.mutable_series() = step.series();
    *response.mutable_distributions() = step.distributions();
    *response.mutable_seconds() = step.seconds();
    for (v1::SeriesReport& series : *response.mutable_series()) {
      for (uint64_t& sum_ns : *series.mutable_latency_sum_ns()) sum_ns *= 3;
    }
    for (v1::ScopeReport& scope : *step.mutable_scopes()) {
      v1::LatencyReport& felt = *scope.mutable_rate()->mutable_response();
      felt = scope.latency();
      felt.set_avg_ns(3 * felt.avg_ns());
      felt.set_count(felt.count() + 5);
      scope.mutable_rate()->set_unserved(5);
    }
  }
  return report;
}

inline SideInput Side(std::vector<v1::Report> reports) {
  SideInput side;
  for (v1::Report& report : reports) {
    std::string source = absl::StrCat("run-", report.run().id());
    side.runs.push_back({std::move(source), std::move(report)});
  }
  return side;
}

inline CompareSettings Quick() {
  CompareSettings settings;
  settings.replicates = 999;
  return settings;
}

// The comparison; it must be possible.
inline v1::Comparison Compared(const std::vector<SideInput>& sides, const CompareSettings& settings = Quick()) {
  const absl::StatusOr<v1::Comparison> comparison = Compare(sides, settings);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison.ok() ? *comparison : v1::Comparison();
}

inline std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

}  // namespace plimsoll::tests
