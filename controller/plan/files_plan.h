// What a plan with `files` asks for: threads that read and write named files, in place of queue managers' logs.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Whether the field of a workload has a meaning only with `files`, or is `files` itself.
bool IsFilesField(const google::protobuf::FieldDescriptor& field);

// The names in the text of a file: one a line. INVALID_ARGUMENT "FILE:LINE: ..."; a file without names is one too.
absl::StatusOr<std::vector<std::string>> ReadFileNames(const std::string& text, const std::string& file_name);

// Fills in what other defaults depend on, before they are filled in: NAME... as names, `share`, and with absolute paths
// `dir`; create implies one_pass, and one_pass has a long `duration` and no warm-up. Does nothing without `files`.
void FillFiles(v1::TestPlan& plan);

// Clears the defaults in `filled` that only extents have, unless `given`, the workload without its defaults, had them.
// Does nothing without `files`.
void ForgetExtents(const v1::LogWorkload& given, v1::LogWorkload& filled);

// Problems of the files of a plan with its defaults, and of options that need `files` in a plan without them.
std::vector<PlanProblem> FilesProblems(const v1::TestPlan& plan);

// Notes on files of the plan that no thread uses, one line each.
std::vector<std::string> FilesNotes(const v1::TestPlan& plan);

// Why a file of `size_bytes` is too small for its threads, which each need a block; empty: it is not. `file` is its
// place among the workload's files, `hosts` the number of hosts, `largest_block_bytes` the largest block of the plan.
std::string TooSmallFor(const v1::LogWorkload& workload, size_t file, uint64_t size_bytes, size_t hosts,
                        uint64_t largest_block_bytes);

}  // namespace plimsoll
