// What a session does at its controller's word.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Where work puts what it measures. Called on the work's threads, one call at a time; must not block for long.
class WorkSink {
 public:
  virtual ~WorkSink() = default;
  virtual void OnFrames(v1::FrameBatch frames) = 0;
  // After the step's last frame.
  virtual void OnStepDone(v1::StepDone done) = 0;
  virtual void OnFault(v1::Fault fault) = 0;
};

// One thread (the session's) calls everything but what is marked "any thread".
class Work {
 public:
  // Ends what it does, waits for that, and removes what it made unless Release kept it.
  virtual ~Work() = default;

  // What the host sees of the run's other hosts, and of the space, before it fills anything. Work that fills nothing
  // has nothing to tell.
  virtual absl::StatusOr<v1::Placed> Look(const v1::Look& /*look*/) { return v1::Placed(); }

  // Makes and fills the extents; every writer works on its own at the same time. Blocks. `progress` is called at most
  // some ten times a second with done and total bytes. CANCELLED after Stop, DEADLINE_EXCEEDED when the lease ran out.
  virtual absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) = 0;

  // Sets every writer to start `arm.step()` at `arm.start_ns()`. Returns at once; `late` where that is too near or
  // past. Arming again before the start replaces the first.
  virtual v1::Armed Arm(const v1::Arm& arm) = 0;

  // No further write starts; frames and StepDone follow through the sink. While preparing: Prepare returns. Any thread.
  virtual void Stop(const std::string& reason) = 0;

  // From this moment on frames carry no traces. Any thread.
  virtual void StopTrace(int64_t at_ns) = 0;

  // "ready", "armed", "running", "draining". Any thread.
  virtual std::string State() const = 0;

  // Writes in flight for at least `min_age_ns`, those that fill extents too. Any thread.
  virtual std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const = 0;

  // Changes whenever the work gets on: a piece is filled, a write ends, a file is removed. Any thread.
  virtual uint64_t Progress() const = 0;

  // Absolute path of the directory that holds all that the work makes; empty where it makes none. Any thread.
  virtual std::string Directory() const = 0;

  // Waits until no writer is in a system call, at most until `timeout_ns` from now; false where one still is.
  virtual bool WaitIdle(int64_t timeout_ns) = 0;

  // Closes the extents and removes or keeps everything. Only when idle.
  virtual v1::Released Release(bool keep_files) = 0;
};

}  // namespace plimsoll
