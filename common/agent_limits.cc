#include "common/agent_limits.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// `value` and `cap` in words; a cap of 0 is none.
absl::Status CheckAmount(const WorkDemand::Amount& amount, uint64_t cap, const std::string& option,
                         const std::string& cap_in_words) {
  if (cap == 0 || amount.value <= cap) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the agent's ", option, " is ", cap_in_words, ", the plan ", amount.asked,
                                            ": lower ", amount.lowered_by, ", or start the agent with a larger ",
                                            option));
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

absl::Status CheckDemand(const v1::AgentLimits& limits, const WorkDemand& demand) {
  absl::Status status = CheckAmount(demand.bytes, limits.max_bytes(), "--max-bytes", FormatSize(limits.max_bytes()));
  status.Update(CheckAmount(demand.threads, limits.max_writers(), "--max-writers", absl::StrCat(limits.max_writers())));
  status.Update(CheckAmount(demand.duration_ns, static_cast<uint64_t>(limits.max_duration_ns()), "--max-duration",
                            FormatDuration(limits.max_duration_ns())));
  return status;
}

WorkDemand LogDemand(const v1::LogWorkload& workload, const google::protobuf::RepeatedPtrField<v1::LogStep>& steps) {
  WorkDemand demand;
  demand.bytes.value = ExtentBytes(workload);
  demand.bytes.asked = absl::StrCat("asks for ", FormatCount(demand.bytes.value), " bytes of extents (", workload.qm(),
                                    " x ", workload.num_files(), " x ", FormatSize(workload.file_size_bytes()), ")");
  demand.bytes.lowered_by = "--qm, --num-files or --file-size";
  demand.threads.value = uint64_t{workload.qm()} + workload.cpu_load();
  demand.threads.asked = absl::StrCat("asks for ", demand.threads.value, " (", workload.qm(), " writers and ",
                                      workload.cpu_load(), " busy threads)");
  demand.threads.lowered_by = "--qm or --cpu-load";
  const int64_t total_ns = TotalStepNs(steps);
  demand.duration_ns.value = static_cast<uint64_t>(total_ns);
  demand.duration_ns.asked =
      absl::StrCat("has ", steps.size(), steps.size() == 1 ? " step that takes " : " steps that take ",
                   FormatDuration(total_ns), " with warm-up");
  demand.duration_ns.lowered_by = "--duration, --warmup, --repeat or the number of block sizes";
  return demand;
}

}  // namespace plimsoll
