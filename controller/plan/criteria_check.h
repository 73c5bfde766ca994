// Criteria of a plan that none of its runs could decide, and criteria that ask for the opposite of what is meant.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Each takes a plan with its defaults, and returns its problems, with a way out.

// Criteria that cannot be read, are about a block size that the plan does not list, or bound their metric on the wrong
// side.
std::vector<PlanProblem> CriteriaProblems(const v1::TestPlan& plan);

// Criteria that no run of the plan could show to be met, as far as the plan alone shows it: how much is written is
// known where a rate or a delay bounds it. The plan has no other problem with its placement.
std::vector<PlanProblem> UndecidableCriteria(const v1::TestPlan& plan);

// All problems with the criteria of an HA drill.
std::vector<PlanProblem> HaCriteriaProblems(const v1::TestPlan& plan);

}  // namespace plimsoll
