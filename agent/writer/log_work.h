// One host's part of a run that writes logs, or reads and writes named files: its directories, its files, its writers
// and their recorder.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/host/counters.h"
#include "agent/host/sandbox.h"
#include "agent/host/target_files.h"
#include "agent/work/work.h"
#include "agent/writer/host_read_back.h"
#include "agent/writer/log_places.h"
#include "agent/writer/pattern_intake.h"
#include "agent/writer/space_watch.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/worker_threads.h"
#include "agent/writer/writer.h"
#include "agent/writer/writer_state.h"
#include "agent/writer/written_log.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// Threads: one a writer, one recorder, the busy ones of --cpu-load, and between steps, if ordered, one that reads the
// logs back. The session's thread steers.
//
// Between steps the recorder clears what the writers showed, when all have left their loops; they touch it again after
// the next arming only, which the session asks for when it has seen the step's end. So no cell is ever shared but the
// atomic ones.
class LogWork final : public SteppedWork {
 public:
  // Checks the plan (INVALID_ARGUMENT, naming field and limit) and makes the run's directory in each directory of the
  // plan; if one cannot be made, all are removed. For a plan that gives absolute paths it checks the files instead, and
  // opens those that exist (see MakeLogPlaces). `lease_deadline_ns` is a moment of CLOCK_MONOTONIC: no write starts
  // at or after it; the session moves it with every message. `sandbox`, `targets`, `lease_deadline_ns` and `sink` must
  // outlive the object.
  static absl::StatusOr<std::unique_ptr<LogWork>> Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                         const TargetFiles& targets,
                                                         const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink);
  // How a session makes it. `sandbox` and `targets` outlive the kind.
  static WorkKind Kind(const Sandbox& sandbox, const TargetFiles& targets);
  ~LogWork() override;

  absl::StatusOr<v1::Placed> Look(const v1::Look& look) override;
  absl::Status Take(const v1::PatternChunk& chunk) override;
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  int64_t StepNs(uint32_t step) const override;
  v1::Armed Arm(const v1::Arm& arm) override;
  // StopTrace, and between steps AddStep and ReadBack. While logs are read back, no step can be added or armed.
  absl::Status Do(const v1::Command& command) override;
  void Stop(const std::string& reason) override;
  std::string State() const override;
  std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const override;
  uint64_t Progress() const override;
  std::string Directory() const override;
  bool WaitIdle(int64_t timeout_ns) override;
  v1::Released Release(bool keep_files) override;

 private:
  // Where the object is in its life.
  enum class Phase : uint8_t { kNew, kPreparing, kReady, kArmed, kReadingBack, kEnded };

  LogWork(WorkSetup setup, PatternIntake intake, std::vector<LogPlace> places,
          const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink);

  // Whether that writer, from 1, writes in that place.
  bool IsIn(size_t place, uint32_t writer) const { return setup_.dir_of_writer[writer - 1] == place; }

  absl::Status MayFill() const;
  // Makes the recorded writes those of the setup. Fails if some have not arrived.
  absl::Status TakeStreams();
  absl::Status Add(const v1::AddStep& add);
  // Starts the thread that reads the logs back.
  absl::Status StartReadBack(const v1::ReadBack& order);
  void RunReadBack(uint32_t step, const std::vector<WrittenLog>& logs);
  void OnPrepared(const absl::Status& status);
  absl::Status AgreeOnDirect();
  absl::StatusOr<v1::Prepared> DescribePrepared();
  // Makes and starts the writers' threads; returns how many there are. Where the system gives no more the others give
  // up and prepare_error_ says so.
  uint32_t StartWriters();
  void OnNoThread(const std::string& what, const std::string& why);
  // Waits until `writers` of them have filled their extents.
  absl::Status AwaitFilled(uint32_t writers, const std::function<void(uint64_t, uint64_t)>& progress);
  absl::Status StartRecorder();
  // Starts watching the file systems of which the measured writes take space. Throws std::system_error.
  void StartSpaceWatch();
  // Ends the step that runs because too little space is free. On the watch's thread.
  void OnLowSpace(const absl::Status& status);
  void RunRecorder();
  void RecordStep(const StartGate::Start& start);
  static v1::Fault FaultOf(const absl::Status& status, uint32_t qm);
  // The file that the writer is at: one that it fills, or whose write or read is in flight.
  std::string PathAt(const Writer& writer) const;
  // Ends all threads and closes the extents. Removes files that `create` made new if no step has begun, since nothing
  // was written to them; returns their number. Only when idle.
  absl::StatusOr<uint64_t> EndThreads();

  // Prepare sets its streams before it starts a thread. After that only its steps change: they are added under the
  // mutex, between steps.
  WorkSetup setup_;
  // The recording that the writers play, until Prepare. The session's thread alone uses it.
  PatternIntake intake_;
  // In the order of setup_.dirs: at least one. Their number does not change.
  std::vector<LogPlace> places_;
  WorkSink& sink_;
  StopControl control_;
  StartGate gate_;
  std::atomic<int64_t> stop_trace_at_ns_{StopControl::kNever};
  std::atomic<uint64_t> filled_bytes_{0};
  std::atomic<bool> cancelled_{false};     // another writer failed to prepare, or Stop was called
  std::atomic<bool> writers_made_{false};  // writers_ changes no more

  mutable Mutex mutex_;
  CondVar changed_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  // kArmed stands from Arm until the step's last message was built, kReadingBack until the result is there;
  // `delivering_` until the sink has it.
  bool delivering_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t prepared_writers_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status prepare_error_ ABSL_GUARDED_BY(mutex_);
  std::string stop_reason_ ABSL_GUARDED_BY(mutex_);
  // Why the space watch has ended the step; OK: it has not.
  absl::Status low_space_ ABSL_GUARDED_BY(mutex_);
  int64_t step_end_ns_ ABSL_GUARDED_BY(mutex_) = 0;

  std::unique_ptr<HostCounters> counters_;  // the recorder's, once prepared
  CpuLoad load_;
  std::vector<std::unique_ptr<Writer>> writers_;
  std::thread recorder_;
  // What the steps have written, and reading it back. What takes it down and begins is called under the mutex.
  HostReadBack read_back_;
  std::thread reader_ ABSL_GUARDED_BY(mutex_);
  // A step has begun. The recorder's, and the session's thread's once the recorder has ended.
  bool began_step_ = false;
  // Null if the writers take no further space.
  std::unique_ptr<SpaceWatch> space_watch_;
};

}  // namespace plimsoll
