#include "agent/work/work.h"

#include "common/clock.h"
#include "common/status_macros.h"

namespace plimsoll {

absl::StatusOr<std::unique_ptr<CleanWork>> CleanWork::Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                             const std::atomic<int64_t>& lease_deadline_ns) {
  if (!plan.has_clean()) return absl::InvalidArgumentError("the plan does not ask for cleaning");
  return std::unique_ptr<CleanWork>(new CleanWork(plan.clean(), sandbox, lease_deadline_ns));
}

absl::Status CleanWork::MayContinue() {
  steps_.fetch_add(1, std::memory_order_relaxed);
  if (stopped_.load(std::memory_order_relaxed)) return absl::CancelledError("stopped while cleaning");
  if (SystemClock::Read().value >= lease_deadline_ns_.load(std::memory_order_relaxed)) {
    return absl::DeadlineExceededError("lease expired while cleaning: no message from the controller");
  }
  return absl::OkStatus();
}

WorkKind CleanWork::Kind(const Sandbox& sandbox) {
  return {[](const v1::HostPlan& /*plan*/) { return WorkDemand(); },
          [&sandbox](const v1::HostPlan& plan, const std::atomic<int64_t>& lease_deadline_ns, WorkSink& /*sink*/)
              -> absl::StatusOr<std::unique_ptr<Work>> { return Create(plan, sandbox, lease_deadline_ns); }};
}

absl::StatusOr<v1::Prepared> CleanWork::Prepare(const std::function<void(uint64_t, uint64_t)>& /*progress*/) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<v1::CleanedDirectory> cleaned,
                            sandbox_.Clean(order_.dir(), order_.run_id(), [this] { return MayContinue(); }));
  v1::Prepared prepared;
  prepared.set_directory(order_.dir());
  for (const v1::CleanedDirectory& directory : cleaned) *prepared.add_cleaned() = directory;
  return prepared;
}

void CleanWork::Stop(const std::string& /*reason*/) {
  stopped_.store(true, std::memory_order_relaxed);
}

}  // namespace plimsoll
