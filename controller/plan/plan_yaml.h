// A plan as YAML. Keys are the proto's field names without their units; values are written as on the command line.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Reads a plan: only what the text says, no defaults. A list may be a YAML list or comma-separated text; `hosts` may
// hold ranges (controller/plan/host_list.h), with or without a workload, and is expanded here. An unknown or repeated
// key, a wrong type, a value out of its range and text that is no YAML are INVALID_ARGUMENT, on one line:
//   plan.yaml:12:5: 'qmm' is not a key of workload; expected one of dir, qm, ...; did you mean 'qm'?
absl::StatusOr<v1::TestPlan> ReadPlan(const std::string& text, const std::string& file_name);

// Reads the file at `path`. Beyond the errors of ReadPlan: what the system says of the file, with its path.
absl::StatusOr<v1::TestPlan> ReadPlanFile(const std::string& path);

// The plan with every default filled in, in the proto's order; ReadPlan reads it back to the same filled-in plan.
std::string WritePlan(const v1::TestPlan& plan);

// A text value as YAML, in quotes where it needs them.
std::string YamlText(const std::string& text);

}  // namespace plimsoll
