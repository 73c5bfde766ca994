// The slowest writes of a step.
#pragma once

#include <cstdint>

#include "controller/analysis/step_report.h"

namespace plimsoll {

// One slow write as the report tells it. The host must be one of the run's.
v1::SlowestReport MakeSlowestReport(const RunContext& run, uint32_t host, uint32_t qm, const v1::WriteSample& write);

// Adds the ten slowest of all writers, the slowest first; of equal ones that of the earlier host, then of the earlier
// writer, then the earlier write, as the scopes' slowest ones are chosen.
void AddSlowest(StepStats& stats, const RunContext& run, v1::StepReport& report);

}  // namespace plimsoll
