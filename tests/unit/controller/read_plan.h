// Plans for tests, from their YAML.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"

namespace plimsoll::tests {

// The plan that `text` says; it must be one.
inline v1::TestPlan PlanOf(const std::string& text) {
  const auto plan = ReadPlan(text, "plan.yaml");
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *plan : v1::TestPlan();
}

}  // namespace plimsoll::tests
