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
