// One host's part of a run that writes logs: its directory, its extents, its writers and their recorder.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/sandbox.h"
#include "agent/work/work.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Owns the threads.
class LogWork : public SteppedWork {
 public:
  // Checks the plan (INVALID_ARGUMENT, naming field and limit) and makes the run's directory. `lease_deadline_ns` is a
  // moment of CLOCK_MONOTONIC: no write starts at or after it; the session moves it with every message. `sandbox`,
  // `lease_deadline_ns` and `sink` must outlive the object.
  static absl::StatusOr<std::unique_ptr<LogWork>> Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                         const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink);
  // How a session makes it. `sandbox` outlives the kind.
  static WorkKind Kind(const Sandbox& sandbox);
};

}  // namespace plimsoll
