// What the steps of a sweep vary: target rates and numbers of queue managers that a plan lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/step.pb.h"

namespace plimsoll {

// How many steps a plan's lists make: block sizes, or one mix of them, times rates, times numbers of queue managers.
uint64_t ListedSteps(const v1::TestPlan& plan);

// The load that a sweep gives to the step: "100 writes/s per QM" or "closed loop", and "2 QMs per host". Without what
// the plan does not list; empty for a step that a search chose.
std::vector<std::string> SweptParts(const v1::LogStep& step);
std::vector<std::string> SweptParts(const v1::StepReport& step, const v1::TestPlan& plan);

}  // namespace plimsoll
