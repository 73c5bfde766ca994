#include "agent/ha/ha_setup.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "agent/host/sandbox.h"
#include "common/field_rules.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// An instance writes no longer: frames count their intervals in 32 bits.
constexpr int64_t kLongestInstanceNs = 7 * 86400 * kNsPerSecond;
constexpr int64_t kLeastTimeNs = kNsPerMs;
constexpr int64_t kMostTimeNs = 3600 * kNsPerSecond;

absl::StatusOr<int64_t> TimeOr(int64_t given_ns, int64_t default_ns, const std::string& name) {
  if (given_ns == 0) return default_ns;
  if (given_ns < kLeastTimeNs || given_ns > kMostTimeNs) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be 0 or from 1ms to 1h; it is ", FormatDuration(given_ns)));
  }
  return given_ns;
}

// The plan as one of a log run.
v1::HostPlan LogPlanOf(const v1::HostPlan& plan) {
  const v1::HaWork& work = plan.ha();
  v1::HostPlan log_plan = plan;
  v1::LogWork& log = *log_plan.mutable_log();  // in place of `ha`
  *log.mutable_workload() = work.workload();
  uint32_t most = 1;
  for (const v1::HaQueueManager& queue_manager : work.queue_managers()) most = std::max(most, queue_manager.qm());
  log.mutable_workload()->set_qm(most);
  log.mutable_workload()->clear_cpu_load();
  v1::LogStep& step = *log.add_steps();
  step.set_block_size_bytes(work.block_size_bytes());
  step.set_duration_ns(kLongestInstanceNs);
  log.set_trace(work.trace());
  log.set_stall_ns(work.stall_ns());
  log.set_seed(work.seed());
  log.set_hosts(work.hosts());
  return log_plan;
}

absl::Status CheckQueueManagers(const v1::HaWork& work) {
  if (work.queue_managers().empty()) return absl::InvalidArgumentError("the plan has no queue manager");
  const uint32_t most = LargestOfWorkload(v1::LogWorkload::kQmFieldNumber);
  std::set<uint32_t> numbers;
  for (const v1::HaQueueManager& queue_manager : work.queue_managers()) {
    if (queue_manager.qm() < 1 || queue_manager.qm() > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("a queue manager's number must be from 1 to ", most, "; it is ", queue_manager.qm()));
    }
    if (!numbers.insert(queue_manager.qm()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("the plan has two queue managers with number ", queue_manager.qm()));
    }
    if (!IsPlainName(queue_manager.home())) {
      return absl::InvalidArgumentError(absl::StrCat("home '", queue_manager.home(), "' is not a host label"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const HaSetup::QueueManager* HaSetup::Find(uint32_t qm) const {
  for (const QueueManager& queue_manager : queue_managers) {
    if (queue_manager.qm == qm) return &queue_manager;
  }
  return nullptr;
}

LogShape HaSetup::ShapeOf(uint32_t qm) const {
  return {log.run_token, qm, log.workload.file_size_bytes(), log.workload.num_files(), block_bytes()};
}

absl::StatusOr<HaSetup> MakeHaSetup(const v1::HostPlan& plan) {
  if (!plan.has_ha()) return absl::InvalidArgumentError("the plan asks for no HA drill");
  const v1::HaWork& work = plan.ha();
  PLIMSOLL_RETURN_IF_ERROR(CheckQueueManagers(work));
  if (work.block_size_bytes() % kStampedPageBytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_size must be a multiple of 4k in a drill; it is ", FormatSize(work.block_size_bytes())));
  }
  if (work.workload().file_size_bytes() % kStampedPageBytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat("file_size must be a multiple of 4k in a drill; it is ",
                                                   FormatSize(work.workload().file_size_bytes())));
  }
  if (!v1::HaLockWait_IsValid(work.lock_wait()) || !v1::HaFence_IsValid(work.fence())) {
    return absl::InvalidArgumentError("lock_wait must be poll or block, fence extents or none");
  }
  if (!work.workload().qm_dirs().empty()) {
    return absl::InvalidArgumentError("qm_dirs: the queue managers of a drill write below one dir");
  }
  if (UsesFiles(work.workload())) return absl::InvalidArgumentError("files: the queue managers of a drill have logs");
  HaSetup setup;
  PLIMSOLL_ASSIGN_OR_RETURN(setup.log, MakeWorkSetup(LogPlanOf(plan)));
  if (setup.log.workload.sync() == v1::SYNC_MODE_NONE) {
    return absl::InvalidArgumentError("sync must not be none in a drill: a write that is not durable proves nothing");
  }
  setup.data_dir = work.data_dir().empty() ? work.workload().dir() : work.data_dir();
  for (const v1::HaQueueManager& queue_manager : work.queue_managers()) {
    setup.queue_managers.push_back({queue_manager.qm(), queue_manager.home()});
  }
  if (work.lock_wait() != v1::HA_LOCK_WAIT_UNSPECIFIED) setup.lock_wait = work.lock_wait();
  if (work.fence() != v1::HA_FENCE_UNSPECIFIED) setup.fence = work.fence();
  PLIMSOLL_ASSIGN_OR_RETURN(setup.lock_poll_ns, TimeOr(work.lock_poll_ns(), 2 * kNsPerSecond, "lock_poll"));
  PLIMSOLL_ASSIGN_OR_RETURN(setup.free_poll_ns, TimeOr(work.free_poll_ns(), 50 * kNsPerMs, "free_poll"));
  PLIMSOLL_ASSIGN_OR_RETURN(setup.verify_ns, TimeOr(work.verify_ns(), 10 * kNsPerSecond, "verify"));
  PLIMSOLL_ASSIGN_OR_RETURN(setup.verify_timeout_ns,
                            TimeOr(work.verify_timeout_ns(), 2 * setup.verify_ns, "verify_timeout"));
  PLIMSOLL_ASSIGN_OR_RETURN(setup.checkpoint_ns, TimeOr(work.checkpoint_ns(), kNsPerSecond, "checkpoint"));
  return setup;
}

v1::HostPlan PlanOf(const v1::HaInstanceSetup& instance) {
  v1::HostPlan plan;
  plan.set_run_id(instance.run_id());
  plan.set_run_token(instance.run_token());
  plan.set_host_label(instance.host_label());
  plan.set_host_index(instance.host_index());
  plan.set_frame_interval_ns(instance.frame_interval_ns());
  *plan.mutable_ha() = instance.work();
  return plan;
}

WorkDemand HaDemand(const v1::HostPlan& plan) {
  const v1::HaWork& work = plan.ha();
  v1::LogWorkload made = work.workload();
  uint32_t homes = 0;
  for (const v1::HaQueueManager& queue_manager : work.queue_managers()) {
    homes += queue_manager.home() == plan.host_label() ? 1U : 0U;
  }
  made.set_qm(homes);
  WorkDemand demand;
  demand.bytes.value = ExtentBytes(made);
  demand.bytes.asked = absl::StrCat("asks for ", FormatCount(demand.bytes.value), " bytes of extents (", homes, " x ",
                                    made.num_files(), " x ", FormatSize(made.file_size_bytes()), ")");
  demand.bytes.lowered_by = "--qm, --num-files or --file-size";
  demand.files.value = uint64_t{homes} * made.num_files();
  demand.files.asked = absl::StrCat("asks for ", FormatCount(demand.files.value), " extents");
  demand.files.lowered_by = "--qm or --num-files";
  demand.threads.value = static_cast<uint64_t>(work.queue_managers_size());
  demand.threads.asked = absl::StrCat("asks for ", demand.threads.value, " writers");
  demand.threads.lowered_by = "--qm";
  // Nothing in the plan bounds it, so no cap allows it.
  demand.duration_ns.value = std::numeric_limits<int64_t>::max();
  demand.duration_ns.asked = "is a drill, whose length no option bounds";
  return demand;
}

}  // namespace plimsoll
