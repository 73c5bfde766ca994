// The `group_commit` section of a plan: clients whose commits gather into log writes.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Sets what a plan with the section does not give and no field rule sets, before the defaults of all fields.
void FillGroupCommit(v1::TestPlan& plan);

// What keeps the clients from being simulated; empty for a plan without them. The plan has its defaults.
std::vector<PlanProblem> GroupCommitProblems(const v1::TestPlan& plan);

// What is allowed and yet weakens the result, one line each. The plan has its defaults.
std::vector<std::string> GroupCommitNotes(const v1::TestPlan& plan);

// Gives the plan's clients to a step, as many as the step has already if it has any. Its writes have no size of their
// own then. Changes nothing without the section.
void SetGroupCommit(const v1::TestPlan& plan, v1::LogStep& step);

// What docs/plan.md says of the section, above the table of its keys.
extern const char kGroupCommitReference[];

}  // namespace plimsoll
