#include "common/agent_limits.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

absl::Status CheckBytes(const v1::AgentLimits& limits, const v1::LogWorkload& workload) {
  const uint64_t bytes = ExtentBytes(workload);
  if (limits.max_bytes() == 0 || bytes <= limits.max_bytes()) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "the agent's --max-bytes is ", FormatSize(limits.max_bytes()), ", the plan asks for ", FormatCount(bytes),
      " bytes of extents (", workload.qm(), " x ", workload.num_files(), " x ", FormatSize(workload.file_size_bytes()),
      "): lower --qm, --num-files or --file-size, or start the agent with a larger --max-bytes"));
}

absl::Status CheckWriters(const v1::AgentLimits& limits, const v1::LogWorkload& workload) {
  const uint64_t threads = uint64_t{workload.qm()} + workload.cpu_load();
  if (limits.max_writers() == 0 || threads <= limits.max_writers()) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("the agent's --max-writers is ", limits.max_writers(), ", the plan asks for ", threads, " (",
                   workload.qm(), " writers and ", workload.cpu_load(),
                   " busy threads): lower --qm or --cpu-load, or start the agent with a larger --max-writers"));
}

}  // namespace

uint64_t ExtentBytes(const v1::LogWorkload& workload) {
  uint64_t bytes = uint64_t{workload.qm()} * workload.num_files();
  if (__builtin_mul_overflow(bytes, workload.file_size_bytes(), &bytes)) return std::numeric_limits<uint64_t>::max();
  return bytes;
}

int64_t StepNs(const v1::LogStep& step) {
  int64_t length_ns = 0;
  if (__builtin_add_overflow(std::max<int64_t>(step.duration_ns(), 0), std::max<int64_t>(step.warmup_ns(), 0),
                             &length_ns)) {
    return std::numeric_limits<int64_t>::max();
  }
  return length_ns;
}

int64_t TotalStepNs(const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  int64_t total_ns = 0;
  for (const v1::LogStep& step : steps) {
    if (__builtin_add_overflow(total_ns, StepNs(step), &total_ns)) return std::numeric_limits<int64_t>::max();
  }
  return total_ns;
}

absl::Status CheckAgentLimits(const v1::AgentLimits& limits, const v1::LogWorkload& workload,
                              const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  if (absl::Status status = CheckBytes(limits, workload); !status.ok()) return status;
  if (absl::Status status = CheckWriters(limits, workload); !status.ok()) return status;
  const int64_t total_ns = TotalStepNs(steps);
  if (limits.max_duration_ns() == 0 || total_ns <= limits.max_duration_ns()) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("the agent's --max-duration is ", FormatDuration(limits.max_duration_ns()), ", the plan's ",
                   steps.size(), steps.size() == 1 ? " step takes " : " steps take ", FormatDuration(total_ns),
                   " with warm-up: lower --duration, --warmup, --repeat or the number of block sizes, or start the "
                   "agent with a larger --max-duration"));
}

}  // namespace plimsoll
