// Rules that tie fields of a plan together, and each field's own range for plans that were not read from text.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Most steps of a run.
inline constexpr size_t kMaxSteps = 10'000;

// The most problems that are reported at once; a line more says that there are others.
inline constexpr size_t kMaxPlanProblems = 20;

// Everything that keeps the plan from being run, naming option and plan key, the limit and a way out. Takes a plan with
// or without its defaults. Empty: it can be handed to agents. What only an agent knows (space, alignment, permissions)
// is not checked. At most 1,000.
std::vector<PlanProblem> PlanProblems(const v1::TestPlan& plan);

// PlanProblems and those that a file's text has, as INVALID_ARGUMENT: PlanPlaces::Locate, a line each.
absl::Status CheckPlan(const v1::TestPlan& plan, const PlanPlaces& places = {});

// What is allowed and yet weakens the result, one line each.
std::vector<std::string> PlanNotes(const v1::TestPlan& plan);

}  // namespace plimsoll
