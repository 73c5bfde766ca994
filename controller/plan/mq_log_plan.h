// The `mq_log` section of a plan: intervals of a queue manager's log, which the report sets against the storage.
#pragma once

#include <vector>

#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Points that a plan, and so its journal and its report, hold at most.
inline constexpr int kMostMqPoints = 2'000;

// What keeps the plan's points from being set against its steps; empty for a plan without them. The plan has its
// defaults.
std::vector<PlanProblem> MqLogProblems(const v1::TestPlan& plan);

}  // namespace plimsoll
