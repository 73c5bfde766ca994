// What happened when in a step: its stalls, its slowest writes, and how far apart its first writes were.
#pragma once

#include <cstdint>

#include "controller/analysis/step_report.h"

namespace plimsoll {

// One slow write as the report tells it. The host must be one of the run's.
v1::SlowestReport MakeSlowestReport(const RunContext& run, uint32_t host, uint32_t qm, const v1::WriteSample& write);

// Adds the ten slowest of all writers, the slowest first; of equal ones that of the earlier host, then of the earlier
// writer, then the earlier write, as the scopes' slowest ones are chosen.
void AddSlowest(StepStats& stats, const RunContext& run, v1::StepReport& report);

// Adds what the hosts told of stretches in which their writers stood, put on the timeline and classified (stalls.h).
// Nothing is added where no host was asked to tell of them. Called once for each step, after its last record.
void AddStalls(StepStats& stats, const RunContext& run, v1::StepReport& report);

// Adds the start skew: latest minus earliest first write of a host, each counted from when it was scheduled. Nothing is
// added where no host's is known.
void AddStartSkew(StepStats& stats, const RunContext& run, v1::StepReport& report);

}  // namespace plimsoll
