// One trial of restart I/O, from emptying caches to its result.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/restart/restart_calls.h"
#include "agent/restart/restart_files.h"
#include "agent/restart/restart_setup.h"
#include "agent/writer/writer_state.h"
#include "plimsoll/v1/restart.pb.h"

namespace plimsoll {

struct TrialSurroundings {
  const RestartSetup& setup;
  // Ends a trial that runs.
  const StopControl& control;
  // Raised with every call.
  std::atomic<uint64_t>& progress;
  // At least as many as there are queues.
  std::vector<CallSlot>& slots;
  // What is written to where the plan drops caches: /proc/sys/vm/drop_caches.
  const std::string& drop_caches_path;
};

// Runs a trial that was checked (CheckTrial) on the directory's filled files. An error is in the result, whose figures
// are then those of the calls before it. Blocks as long as the storage does.
v1::RestartTrialDone RunTrial(const TrialSurroundings& around, const RestartFiles& files,
                              const v1::RestartTrial& trial);

}  // namespace plimsoll
