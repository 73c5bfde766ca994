// Watching live queue managers, or another process, as a session sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "agent/host/counters.h"
#include "agent/watch/settled_time.h"
#include "agent/watch/watch_recorder.h"
#include "agent/watch/watch_setup.h"
#include "agent/watch/watch_targets.h"
#include "agent/work/work.h"
#include "agent/writer/writer_state.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Times the log writes and MQ calls of processes that it did not start, in steps as log writing has them. It only
// reads: it makes no file, and takes its probes away at its end.
//
// Threads: one that records, one that waits for grace periods (SettledTime). The session's thread steers.
class WatchWork final : public SteppedWork {
 public:
  // Checks the plan. INVALID_ARGUMENT names field and limit. `mqs_ini`: where the host lists its queue managers.
  // `lease_deadline_ns` is a moment of CLOCK_MONOTONIC: the probes are off from then on. It and `sink` must outlive the
  // object.
  static absl::StatusOr<std::unique_ptr<WatchWork>> Create(const v1::HostPlan& plan,
                                                           const std::atomic<int64_t>& lease_deadline_ns,
                                                           WorkSink& sink,
                                                           const std::string& mqs_ini = "/var/mqm/mqs.ini");
  // How a session makes it. Unless `allowed`, every plan is refused: the agent was started without --allow-watch.
  static WorkKind Kind(bool allowed);
  ~WatchWork() override;

  // Finds the processes, attaches the probes and measures what they cost.
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  int64_t StepNs(uint32_t step) const override;
  v1::Armed Arm(const v1::Arm& arm) override;
  // StopTrace.
  absl::Status Do(const v1::Command& command) override;
  void Stop(const std::string& reason) override;
  std::string State() const override;
  std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const override;
  uint64_t Progress() const override { return progress_.load(std::memory_order_relaxed); }
  bool WaitIdle(int64_t timeout_ns) override;
  v1::Released Release(bool keep_files) override;

 private:
  enum class Phase : uint8_t { kNew, kPreparing, kReady, kArmed, kEnded };

  struct Arming {
    uint64_t number = 0;
    uint32_t step = 0;
    int64_t start_ns = 0;
  };

  WatchWork(WatchSetup setup, std::string held_program, std::string mqs_ini,
            const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink);

  void Run();
  // Waits for an arming after the one with that number; nothing once the work ends.
  std::optional<Arming> AwaitArming(uint64_t after);
  // Records a step; returns false if it was armed for another moment before it began.
  bool Record(const Arming& arming);
  bool Replaced(const Arming& arming) const;
  void EndThreads();

  const WatchSetup setup_;
  const std::string held_program_;
  const std::string mqs_ini_;
  WorkSink& sink_;
  StopControl control_;
  std::atomic<int64_t> stop_trace_at_ns_{StopControl::kNever};
  std::atomic<uint64_t> progress_{0};

  mutable Mutex mutex_;
  CondVar changed_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  // kArmed lasts from Arm until the step's last message was built; `delivering_` until the sink has it.
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Arming arming_ ABSL_GUARDED_BY(mutex_);
  int64_t step_end_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
  std::vector<v1::InFlight> in_flight_ ABSL_GUARDED_BY(mutex_);

  // The recording thread's, once prepared.
  std::unique_ptr<WatchTargets> targets_;
  std::unique_ptr<SettledTime> settled_;
  std::unique_ptr<HostCounters> counters_;
  std::thread thread_;
};

}  // namespace plimsoll
