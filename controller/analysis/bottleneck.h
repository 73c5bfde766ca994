// Whether a host's load generator, and not its storage, may have limited a step.
#pragma once

#include <string>

#include "plimsoll/v1/findings.pb.h"

namespace plimsoll {

// Why the load generator may have been the bottleneck, as the end of a sentence; empty if nothing suggests it.
// `ring_wait_share` is the largest share of its time that a writer waited for its recorder, 0 where that is not worth
// saying.
std::string BottleneckOf(const v1::HostLoadReport& load, double ring_wait_share);

}  // namespace plimsoll
