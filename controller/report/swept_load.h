// What the steps of a sweep vary: target rates and numbers of queue managers that a plan lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/step.pb.h"

namespace plimsoll {

// How many combinations of rate and number of queue managers a plan has for each block size; 1 without a sweep.
uint64_t SweptLoads(const v1::TestPlan& plan);

// The load that a sweep gives to the step: "100 writes/s per QM" or "closed loop", and "2 QMs per host". Without what
// the plan does not list; empty for a step that a search chose.
std::vector<std::string> SweptParts(const v1::LogStep& step);
std::vector<std::string> SweptParts(const v1::StepReport& step);

}  // namespace plimsoll
