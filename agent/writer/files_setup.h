// Checks what a plan says of named files. An agent does not trust a controller to have done so.
#pragma once

#include "absl/status/status.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Checks the fields of the workload that belong to `files`, and those that do not go with it. INVALID_ARGUMENT, naming
// the field and what is accepted. The ranges of the fields are checked elsewhere (see WithoutUnset).
absl::Status CheckNamedFiles(const v1::HostPlan& plan);

// Checks a step of a plan with files.
absl::Status CheckNamedFilesStep(const v1::LogWorkload& workload, const v1::LogStep& step);

// Returns the workload with a value in the range of each field that a plan with files does without: extents, and the
// size of files that exist.
v1::LogWorkload WithoutUnset(const v1::LogWorkload& workload);

}  // namespace plimsoll
