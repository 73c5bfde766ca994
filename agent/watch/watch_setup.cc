#include "agent/watch/watch_setup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/units.h"

namespace plimsoll {
namespace {

constexpr int64_t kLongestStepNs = 366 * 86'400 * kNsPerSecond;
constexpr int kMostQueueManagers = 64;
constexpr int kMostSteps = 10'000;
constexpr uint32_t kMostPid = 1U << 22;

absl::Status CheckTarget(const v1::WatchPlan& plan) {
  if (plan.has_pid() == !plan.queue_managers().empty()) {
    return absl::InvalidArgumentError("watch: either queue_managers or pid is needed, not both");
  }
  if (plan.queue_managers_size() > kMostQueueManagers) {
    return absl::InvalidArgumentError(absl::StrCat("watch: at most ", kMostQueueManagers, " queue managers"));
  }
  if (plan.has_pid() && (plan.pid() == 0 || plan.pid() > kMostPid)) {
    return absl::InvalidArgumentError(absl::StrCat("watch: no process has the number ", plan.pid()));
  }
  if (plan.has_log_dir() && (plan.log_dir().empty() || plan.log_dir().front() != '/')) {
    return absl::InvalidArgumentError("watch: log_dir must be an absolute path");
  }
  if (plan.has_log_dir() && plan.queue_managers_size() > 1) {
    return absl::InvalidArgumentError("watch: log_dir is the directory of one queue manager; name one only");
  }
  return absl::OkStatus();
}

absl::Status CheckSteps(const v1::WatchWork& work) {
  if (work.steps().empty() || work.steps_size() > kMostSteps) {
    return absl::InvalidArgumentError(absl::StrCat("watch: between 1 and ", kMostSteps, " steps are needed"));
  }
  for (const v1::LogStep& step : work.steps()) {
    if (step.duration_ns() <= 0 || step.duration_ns() > kLongestStepNs || step.warmup_ns() < 0 ||
        step.warmup_ns() > kLongestStepNs) {
      return absl::InvalidArgumentError("watch: a step needs a duration above 0, and no more than a year");
    }
  }
  return absl::OkStatus();
}

// The first step has the list for all.
absl::Status ResolveOperations(const v1::LogStep& step, WatchSetup& setup) {
  int calls = 0;
  // Without a list: the write alone.
  if (step.operations().empty()) setup.write_operation = 0;
  setup.operations = static_cast<uint32_t>(std::max(step.operations_size(), 1));
  if (setup.operations > kMaxOperations) {
    return absl::InvalidArgumentError(absl::StrCat("watch: at most ", kMaxOperations, " operations"));
  }
  for (uint32_t place = 0; place < static_cast<uint32_t>(step.operations_size()); ++place) {
    const v1::Operation& operation = step.operations(static_cast<int>(place));
    if (operation.kind() == v1::OPERATION_UNSPECIFIED && place == 0) {
      setup.write_operation = place;
    } else if (operation.kind() == v1::OPERATION_CALL && operation.name() == kWatchedSync) {
      setup.sync_operation = place;
    } else if (operation.kind() == v1::OPERATION_CALL && calls < setup.plan.calls_size()) {
      PLIMSOLL_ASSIGN_OR_RETURN(FunctionName name, FunctionName::Parse(setup.plan.calls(calls)));
      setup.functions.push_back(std::move(name));
      setup.function_operations.push_back(place);
      ++calls;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("watch: operation '", operation.name(), "' cannot be watched"));
    }
  }
  if (calls != setup.plan.calls_size()) {
    return absl::InvalidArgumentError("watch: as many operations as calls are needed");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WatchSetup> MakeWatchSetup(const v1::HostPlan& plan) {
  if (!plan.has_watch()) return absl::InvalidArgumentError("the plan does not ask for watching");
  const v1::WatchWork& work = plan.watch();
  PLIMSOLL_RETURN_IF_ERROR(CheckTarget(work.watch()));
  PLIMSOLL_RETURN_IF_ERROR(CheckSteps(work));
  if (plan.frame_interval_ns() <= 0 || kNsPerSecond % plan.frame_interval_ns() != 0) {
    return absl::InvalidArgumentError("frame_interval_ns must divide a second");
  }
  WatchSetup setup;
  setup.plan = work.watch();
  setup.steps.assign(work.steps().begin(), work.steps().end());
  setup.interval_ns = plan.frame_interval_ns();
  setup.trace = work.trace();
  setup.stall_ns = work.stall_ns();
  PLIMSOLL_RETURN_IF_ERROR(ResolveOperations(work.steps(0), setup));
  return setup;
}

WorkDemand WatchDemand(const v1::HostPlan& plan) {
  WorkDemand demand;
  demand.duration_ns.value = static_cast<uint64_t>(TotalStepNs(plan.watch().steps()));
  demand.duration_ns.asked = FormatReadableDuration(TotalStepNs(plan.watch().steps()));
  demand.duration_ns.lowered_by = "--duration";
  return demand;
}

}  // namespace plimsoll
