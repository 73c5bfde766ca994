// Measuring the storage's share of a restart, as a session sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/sandbox.h"
#include "agent/restart/restart_calls.h"
#include "agent/restart/restart_files.h"
#include "agent/restart/restart_setup.h"
#include "agent/work/work.h"
#include "agent/writer/writer_state.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Makes a log and queue files in each directory of the plan, and runs the trials that the controller orders, one at a
// time, each in one directory. Removes everything at its end.
//
// Threads: one that runs the trials, and for a parallel load one for each queue. The session's thread fills the files.
class RestartWork final : public Work {
 public:
  // Checks the plan and makes the run's directory in each of its directories; if one cannot be made, or if a file
  // system has too little space for all files on it together, all are removed. INVALID_ARGUMENT names what is wrong
  // with the plan, PERMISSION_DENIED the option that the agent lacks. `sandbox`, `lease_deadline_ns` (of
  // CLOCK_MONOTONIC) and `sink` outlive the object.
  static absl::StatusOr<std::unique_ptr<RestartWork>> Create(
      const v1::HostPlan& plan, const Sandbox& sandbox, bool allow_drop_caches,
      const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink,
      const std::string& drop_caches_path = "/proc/sys/vm/drop_caches");
  // How a session makes it. Unless `allow_drop_caches`, plans with drop_caches are refused: the agent was started
  // without --allow-drop-caches. `sandbox` outlives the kind.
  static WorkKind Kind(const Sandbox& sandbox, bool allow_drop_caches);
  ~RestartWork() override;

  absl::StatusOr<v1::Placed> Look(const v1::Look& look) override;
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  // RestartTrial, one at a time; its result is RestartTrialDone.
  absl::Status Do(const v1::Command& command) override;
  // Also ends the trial that runs, as CANCELLED. No other is taken.
  void Stop(const std::string& reason) override;
  std::string State() const override;
  std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const override;
  uint64_t Progress() const override;
  std::string Directory() const override;
  bool WaitIdle(int64_t timeout_ns) override;
  v1::Released Release(bool keep_files) override;

 private:
  enum class Phase : uint8_t { kNew, kPreparing, kReady, kTrial, kEnded };

  RestartWork(RestartSetup setup, std::vector<std::unique_ptr<RunDirectory>> directories,
              const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink, std::string drop_caches_path);

  // Fills the files of all directories and starts the thread.
  absl::Status PrepareAll(const std::function<void(uint64_t, uint64_t)>& progress);
  absl::StatusOr<v1::Prepared> DescribePrepared();
  // Waits for a trial; nothing once the work ends.
  std::optional<v1::RestartTrial> AwaitTrial();
  void RunTrials();
  // Ends the thread and closes the files. Only when idle.
  void EndThread();

  const RestartSetup setup_;
  // In the order of the plan. The list does not change; after Prepare, and until EndThread, the files are the thread's.
  std::vector<std::unique_ptr<RestartFiles>> sides_;
  // Hosts seen in each directory. The session's thread's.
  std::vector<std::set<std::string>> seen_;
  WorkSink& sink_;
  const std::string drop_caches_path_;
  StopControl control_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<uint64_t> filled_bytes_{0};
  // One for each queue. Before the thread is started, the first one is that of filling.
  std::vector<CallSlot> slots_;

  mutable Mutex mutex_;
  CondVar changed_;
  // kTrial lasts from Do until the trial's result was made; `delivering_` until the sink has it.
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  // Ordered, and not yet taken by the thread.
  std::optional<v1::RestartTrial> ordered_ ABSL_GUARDED_BY(mutex_);
  // Number of the last trial that was ordered.
  uint32_t trial_ ABSL_GUARDED_BY(mutex_) = 0;

  std::thread thread_;
};

}  // namespace plimsoll
