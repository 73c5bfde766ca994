// The stalls of a step.
#pragma once

#include "controller/analysis/step_report.h"

namespace plimsoll {

// Adds what the hosts told of stretches in which their writers stood, put on the timeline and classified (stalls.h).
// Nothing is added where no host was asked to tell of them. Called once for each step, after its last record.
void AddStalls(StepStats& stats, const RunContext& run, v1::StepReport& report);

}  // namespace plimsoll
