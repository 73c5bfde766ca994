// How long an acceptance takes by its plan, and what it writes, before anything is done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// How long one run of the part takes by the plan, at most; without reaching the hosts, preparing and cleaning up. Of a
// part that is guarded, it is RunLengthNs of its plan.
int64_t PlannedNs(const v1::TestPlan& plan, v1::AcceptPart part);
// How long all runs of all parts take, as PlannedNs.
int64_t AllPartsNs(const v1::TestPlan& plan);

// "storage check; fsck 3 times, about 10s each; load 3 times, ...", how long they take together, and what is written to
// prepare. How long it takes to reach the hosts, to prepare and to clean up is not known.
std::vector<std::string> Outlook(const v1::TestPlan& plan);

}  // namespace plimsoll
