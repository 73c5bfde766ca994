// How long a run takes by its plan: what `end_by` holds against the time that is left, and what an acceptance
// announces.
#pragma once

#include <cstdint>

#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// How long a run of log writing, or a search, takes by its plan at most: the time to settle, its steps, and what
// follows a disturbance, which is its commands at their limits and reading the logs back. Reaching the hosts, preparing
// and cleaning up come on top. The plan has its defaults.
int64_t RunLengthNs(const v1::TestPlan& plan);

}  // namespace plimsoll
