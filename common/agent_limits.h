// What an agent's caps say to one host's part of a plan. The agent asks it before it touches anything, the controller
// before it opens a session.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// What one piece of work asks of its host at most. Amounts that do not fit are the largest number.
struct WorkDemand {
  // One amount, and how the errors speak of it.
  struct Amount {
    uint64_t value = 0;
    // What the plan asks for, as part of a sentence: "96m bytes of extents (2 x 3 x 16m)".
    std::string asked;
    // What lowers it: "--qm, --num-files or --file-size".
    std::string lowered_by;
  };
  // Bytes of all files together.
  Amount bytes;
  // Threads that write, and those that keep a CPU busy.
  Amount threads;
  // Time of writing together, in nanoseconds.
  Amount duration_ns;
};

// OUT_OF_RANGE where the work asks for more than a cap allows: option, cap, what is asked for, the way out.
absl::Status CheckDemand(const v1::AgentLimits& limits, const WorkDemand& demand);

// Bytes of the host's extents. What does not fit into 64 bits counts as the largest number.
uint64_t ExtentBytes(const v1::LogWorkload& workload);

// Writing time of one step, warm-up included, and of all; not negative. What does not fit counts as the largest number.
int64_t StepNs(const v1::LogStep& step);
int64_t TotalStepNs(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

// What log work asks for.
WorkDemand LogDemand(const v1::LogWorkload& workload, const google::protobuf::RepeatedPtrField<v1::LogStep>& steps);

}  // namespace plimsoll
