// Plans for tests, from their YAML.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controller/plan/plan_check.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"

namespace plimsoll::tests {

// The plan that `text` says; it must be one.
inline v1::TestPlan PlanOf(const std::string& text) {
  const auto plan = ReadPlan(text, "plan.yaml");
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *plan : v1::TestPlan();
}

// What PlanProblems reports, as people read it.
inline std::vector<std::string> ProblemsOf(const v1::TestPlan& plan) {
  std::vector<std::string> lines;
  for (const PlanProblem& problem : PlanProblems(plan)) lines.push_back(problem.text);
  return lines;
}

}  // namespace plimsoll::tests
