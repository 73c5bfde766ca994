// What a probe costs the process that it watches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/watch/function_probes.h"
#include "agent/watch/perf_rings.h"

namespace plimsoll {

// The events of each thread whose system calls are watched. An error has the way out.
absl::StatusOr<std::vector<PerfEventSpec>> SyscallSpecs();

// How much longer a write takes with these events, in nanoseconds: the calling thread writes to /dev/null without them
// and with them. At least 1.
absl::StatusOr<uint64_t> MeasureWriteCost(std::span<const PerfEventSpec> specs);

// How much longer a call takes with a probe at its entry and its return: the agent calls a function of its own.
absl::StatusOr<uint64_t> MeasureCallCost(FunctionProbes& probes);

}  // namespace plimsoll
