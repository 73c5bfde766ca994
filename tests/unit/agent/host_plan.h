// A plan for one host that an agent takes, as the tests of its set-up begin with it.
#pragma once

#include <cstdint>
#include <string>

#include "common/protocol.h"
#include "common/units.h"
#include "plimsoll/v1/agent.pb.h"
#include "tests/testing.h"

namespace plimsoll::tests {

// Two queue managers in a directory, and one step of 1 s of writes of 4 KiB.
inline v1::HostPlan TwoQueueManagers() {
  v1::HostPlan plan;
  plan.set_run_id("00ff");
  plan.set_run_token(std::string(16, 'x'));
  plan.set_host_label("node1");
  plan.set_frame_interval_ns(250 * kNsPerMs);
  v1::LogWorkload& workload = *plan.mutable_log()->mutable_workload();
  workload.set_dir("/mnt/mq");
  workload.set_qm(2);
  workload.set_file_size_bytes(1 << 20);
  workload.set_num_files(3);
  workload.set_file_prefix("S");
  workload.set_sync(v1::SYNC_MODE_DSYNC);
  workload.set_direct(v1::DIRECT_MODE_AUTO);
  v1::LogStep& step = *plan.mutable_log()->add_steps();
  step.set_block_size_bytes(4096);
  step.set_duration_ns(kNsPerSecond);
  return plan;
}

}  // namespace plimsoll::tests
