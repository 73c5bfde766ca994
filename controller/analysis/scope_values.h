// The values of metrics over one scope of one step.
#pragma once

#include "controller/analysis/metric_values.h"

namespace plimsoll {

// A percentile, or the least, the largest or a mean of the latencies: the criterion's metric says which.
Reading ScopeLatency(const Criterion& criterion, const ScopeFigures& figures);

// Writes of the step, or writes or bytes per second over it.
Reading ScopeThroughput(const Criterion& criterion, const ScopeFigures& figures);

// Writes or bytes in the worst whole second.
Reading ScopeWorstSecond(const Criterion& criterion, const ScopeFigures& figures);

// Writes completed, in percent of those that were due by the target rate. The scope has one.
Reading ScopeRateAchieved(const Criterion& criterion, const ScopeFigures& figures);

// Writes that were due and not issued when the step ended. The scope has a target rate.
Reading ScopeNotIssued(const Criterion& criterion, const ScopeFigures& figures);

}  // namespace plimsoll
