// How log work is made.
#include <memory>
#include <utility>

#include "agent/log/log_work.h"
#include "agent/log/log_work_impl.h"
#include "agent/log/work_setup.h"
#include "common/agent_limits.h"
#include "common/status_macros.h"

namespace plimsoll {

absl::StatusOr<std::unique_ptr<LogWork>> LogWork::Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                         const std::atomic<int64_t>& lease_deadline_ns,
                                                         WorkSink& sink) {
  PLIMSOLL_ASSIGN_OR_RETURN(WorkSetup setup, MakeWorkSetup(plan));
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<RunDirectory> directory,
                            sandbox.MakeRunDirectory(setup.dir, setup.run_id, setup.run_token, setup.host_label));
  return std::make_unique<LogWorkImpl>(std::move(setup), std::move(directory), lease_deadline_ns, sink);
}

WorkKind LogWork::Kind(const Sandbox& sandbox) {
  return {[](const v1::HostPlan& plan) { return LogDemand(plan.log().workload(), plan.log().steps()); },
          [&sandbox](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink)
              -> absl::StatusOr<std::unique_ptr<Work>> { return Create(plan, sandbox, lease_deadline_ns, sink); }};
}

}  // namespace plimsoll
