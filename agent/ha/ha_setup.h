// One host's part of a drill, checked and in the shape that the other parts use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/ha/log_pages.h"
#include "agent/writer/log_files.h"
#include "agent/writer/work_setup.h"
#include "common/protocol.h"
#include "plimsoll/v1/agent.pb.h"
#include "plimsoll/v1/ha_instance.pb.h"

namespace plimsoll {

struct HaSetup {
  struct QueueManager {
    uint32_t qm = 0;
    std::string home;
  };

  // The log's part, as of a log run with one step that does not end; its `dir` is the log directory.
  WorkSetup log;
  std::string data_dir;
  std::vector<QueueManager> queue_managers;
  v1::HaLockWait lock_wait = v1::HA_LOCK_WAIT_POLL;
  int64_t lock_poll_ns = 0;
  int64_t free_poll_ns = 0;
  int64_t verify_ns = 0;
  int64_t verify_timeout_ns = 0;
  v1::HaFence fence = v1::HA_FENCE_EXTENTS;
  int64_t checkpoint_ns = 0;

  uint64_t block_bytes() const { return log.steps.front().block_bytes; }
  // Null where the plan has no such queue manager.
  const QueueManager* Find(uint32_t qm) const;
  LogShape ShapeOf(uint32_t qm) const;
};

// INVALID_ARGUMENT, naming the field and what is accepted.
absl::StatusOr<HaSetup> MakeHaSetup(const v1::HostPlan& plan);

// The plan from which an instance makes its setup.
v1::HostPlan PlanOf(const v1::HaInstanceSetup& instance);

// What the plan asks of the host: the extents that it makes, a writer for each queue manager that may be active here.
WorkDemand HaDemand(const v1::HostPlan& plan);

}  // namespace plimsoll
