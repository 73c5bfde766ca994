// What an agent's caps say to one host's part of a plan. The agent asks it before it touches anything, the controller
// before it opens a session.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>

#include "absl/status/status.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Bytes of the host's extents. What does not fit into 64 bits counts as the largest number.
uint64_t ExtentBytes(const v1::LogWorkload& workload);

// Writing time of one step, warm-up included, and of all; not negative. What does not fit counts as the largest number.
int64_t StepNs(const v1::LogStep& step);
int64_t TotalStepNs(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

// OUT_OF_RANGE where the plan asks for more than a cap allows: option, cap, what is asked for, the way out.
absl::Status CheckAgentLimits(const v1::AgentLimits& limits, const v1::LogWorkload& workload,
                              const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

}  // namespace plimsoll
