// What a session does at its controller's word: the interface of any work, and the work that only removes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/sandbox.h"
#include "common/protocol.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Where work puts what it measures. Called on the work's threads, one call at a time; must not block for long.
class WorkSink {
 public:
  virtual ~WorkSink() = default;
  virtual void OnFrames(v1::FrameBatch frames) = 0;
  // After the step's last frame.
  virtual void OnStepDone(v1::StepDone done) = 0;
  // What a kind of work reports in messages of its own.
  virtual void OnMessage(v1::AgentMessage message) = 0;
  virtual void OnFault(v1::Fault fault) = 0;
};

class SteppedWork;

// The life of one piece of work: made, prepared, commanded, stopped, released. One thread (the session's) calls
// everything but what is marked "any thread".
class Work {
 public:
  // Ends what it does, waits for that, and removes what it made unless Release kept it.
  virtual ~Work() = default;

  // What the host sees of the run's other hosts, and of the space, before it fills anything. Work that fills nothing
  // reports nothing.
  virtual absl::StatusOr<v1::Placed> Look(const v1::Look& /*look*/) { return v1::Placed(); }

  // Takes a part of the recording that the writers play, between Look and Prepare. INVALID_ARGUMENT, naming it, where
  // the plan does not ask for it.
  virtual absl::Status Take(const v1::PatternChunk& /*chunk*/) {
    return absl::InvalidArgumentError("this kind of work plays no recording: it takes no recorded writes");
  }

  // Makes what the work needs (log work: extents, filled by every writer at the same time), or does it all where there
  // is nothing to command later. Blocks. `progress` is called at most some ten times a second with done and total
  // bytes. CANCELLED after Stop, DEADLINE_EXCEEDED when the lease ran out.
  virtual absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) = 0;

  // Takes an order and returns soon; its outcome goes to the sink. UNIMPLEMENTED where this kind of work
  // has no such command. One call at a time, also while Prepare or Arm is under way. Any thread.
  virtual absl::Status Do(const v1::Command& /*command*/) {
    return absl::UnimplementedError("this kind of work does not support this command");
  }

  // This object, where it goes in steps; null where it does not.
  virtual SteppedWork* stepped() { return nullptr; }

  // No further write starts; what remains to be reported follows through the sink. While preparing: Prepare returns.
  // Any thread.
  virtual void Stop(const std::string& reason) = 0;

  // The controller's stream broke, and its lease still holds. Ends what the lease does not end: most work stops. Any
  // thread.
  virtual void Abandon(const std::string& reason) { Stop(reason); }

  // What it does, in a word or two: "ready", "armed", "running", "draining", "reading back". Any thread.
  virtual std::string State() const { return "ready"; }

  // Calls to the storage in flight for at least `min_age_ns`, those that fill extents too. Any thread.
  virtual std::vector<v1::InFlight> InFlight(int64_t /*min_age_ns*/) const { return {}; }

  // Changes whenever the work makes progress: a piece is filled, a write ends, a file is removed. Any thread.
  virtual uint64_t Progress() const = 0;

  // Absolute path of the directory that holds all that the work makes and removes, or of several, separated by commas;
  // empty where it makes none. For people. Any thread.
  virtual std::string Directory() const { return ""; }

  // Waits until no writer is in a system call, at most until `timeout_ns` from now; false where one still is.
  virtual bool WaitIdle(int64_t /*timeout_ns*/) { return true; }

  // Closes what it made and removes or keeps it. Only when idle.
  virtual v1::Released Release(bool /*keep_files*/) { return {}; }
};

// Work that is measured in steps, each armed for a moment that all hosts share.
class SteppedWork : public Work {
 public:
  SteppedWork* stepped() final { return this; }

  // Time that step `step` takes, its warm-up included; 0: there is no such step.
  virtual int64_t StepNs(uint32_t step) const = 0;

  // Sets every writer to start `arm.step()` at `arm.start_ns()`. Returns at once; `late` where that is too near or
  // past. Arming again before the start replaces the first. StepDone follows through the sink.
  virtual v1::Armed Arm(const v1::Arm& arm) = 0;
};

// A kind of work, as the agent knows it. main.cc lists them.
struct WorkKind {
  // What the plan asks for, computed before anything is made; the agent's caps are compared with it.
  std::function<WorkDemand(const v1::HostPlan& plan)> demand_of;
  // Makes the work, with its directory where it has one. `lease_deadline_ns` is a moment of CLOCK_MONOTONIC: no write
  // starts at or after it; the session moves it with every message. It and `sink` outlive the work.
  std::function<absl::StatusOr<std::unique_ptr<Work>>(const v1::HostPlan& plan,
                                                      const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink)>
      make;
};
using WorkKinds = std::map<v1::HostPlan::WorkCase, WorkKind>;

// Does all of it in Prepare, file by file, until it is stopped or the lease has run out. Makes nothing, so there is
// nothing to release.
class CleanWork final : public Work {
 public:
  // INVALID_ARGUMENT where the plan does not ask for cleaning. `sandbox` and `lease_deadline_ns`, a moment of
  // CLOCK_MONOTONIC, must outlive the object.
  static absl::StatusOr<std::unique_ptr<CleanWork>> Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                           const std::atomic<int64_t>& lease_deadline_ns);
  // How a session makes it. `sandbox` outlives the kind.
  static WorkKind Kind(const Sandbox& sandbox);

  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  void Stop(const std::string& reason) override;
  uint64_t Progress() const override { return steps_.load(std::memory_order_relaxed); }

 private:
  CleanWork(v1::CleanWork order, const Sandbox& sandbox, const std::atomic<int64_t>& lease_deadline_ns)
      : order_(std::move(order)), sandbox_(sandbox), lease_deadline_ns_(lease_deadline_ns) {}
  // Asked before each file.
  absl::Status MayContinue();

  const v1::CleanWork order_;
  const Sandbox& sandbox_;
  const std::atomic<int64_t>& lease_deadline_ns_;
  std::atomic<bool> stopped_{false};
  std::atomic<uint64_t> steps_{0};
};

}  // namespace plimsoll
