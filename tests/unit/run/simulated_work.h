// The work of one simulated agent: the production code's write path, on threads and storage of a virtual world.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "agent/work/work.h"
#include "agent/writer/log_files.h"
#include "agent/writer/step_recorder.h"
#include "agent/writer/work_setup.h"
#include "agent/writer/writer_tally.h"
#include "tests/unit/run/simulated_storage.h"
#include "tests/virtual_clock.h"

namespace plimsoll::tests {

// Fills extents (LogFiles), writes (RunWriteLoop) and records (StepRecorder) as an agent does. Of its own are only the
// order of threads and the waits in between, which LogWorkImpl has: one writer's thread and a recorder that is polled
// by the world's events. A write that starts at or after the lease's end is a failure of the test.
//
// One thread of the world runs at a time, so nothing is locked.
class SimulatedWork final : public SteppedWork {
 public:
  struct Surroundings {
    VirtualClock& world;
    VirtualProcess& process;
    const ThreadClock& clock;
    SimulatedStorage& storage;
    // Called when an agent has let go of all that it made.
    std::function<void()> released;
  };

  static absl::StatusOr<std::unique_ptr<Work>> Create(const v1::HostPlan& plan, const Surroundings& around,
                                                      const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink);
  SimulatedWork(WorkSetup setup, const Surroundings& around, const std::atomic<int64_t>& lease_deadline_ns,
                WorkSink& sink);
  ~SimulatedWork() override;

  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  int64_t StepNs(uint32_t step) const override;
  v1::Armed Arm(const v1::Arm& arm) override;
  void Stop(const std::string& reason) override;
  absl::Status Do(const v1::Command& command) override;
  std::string State() const override;
  std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const override;
  uint64_t Progress() const override;
  std::string Directory() const override;
  bool WaitIdle(int64_t timeout_ns) override;
  v1::Released Release(bool keep_files) override;

  // The world of the write loop.
  struct Env {
    SimulatedWork& work;
    int64_t Now() const { return work.around_.clock.Now().value; }
    int64_t Write(uint32_t extent, uint64_t offset_bytes, const std::byte* data, size_t size_bytes) const;
    static int Sync(uint32_t /*extent*/) { return 0; }
    void SleepUntil(int64_t moment_ns) const { work.around_.clock.SleepUntil({moment_ns}); }
    void AwaitRoom() const { SleepUntil(Now() + kNsPerMs); }
    static void Yield() {}
  };

 private:
  enum class Phase : uint8_t { kNew, kPreparing, kReady, kArmed, kEnded };

  // The writer's thread.
  void RunWriter();
  absl::Status Fill();
  absl::Status MayFill() const;
  void BeginStep();
  // One look of the recorder, which asked for it to be at `asked_ns`.
  void Poll(int64_t asked_ns);
  void FinishStep();
  v1::Fault DescribeFailure(uint32_t qm, const WriteFailure& failure) const;
  // Ends the writer's thread. Only when idle.
  void EndWriter();
  // Waits, at most until the moment, for anything to change.
  void Wait(int64_t until_ns) const;

  const WorkSetup setup_;
  Surroundings around_;
  WorkSink& sink_;
  StopControl control_;
  std::atomic<int64_t> stop_trace_at_ns_{StopControl::kNever};
  LogFiles files_;
  std::unique_ptr<BlockSource> source_;
  WriterState state_;
  std::unique_ptr<StepRecorder> recorder_;
  Phase phase_ = Phase::kNew;
  bool filled_ = false;
  absl::Status fill_status_;
  uint64_t filled_bytes_ = 0;
  bool cancelled_ = false;
  uint32_t step_ = 0;
  int64_t start_ns_ = 0;
  bool begun_ = false;
  std::string stop_reason_;
  bool writer_over_ = false;
  mutable Mutex mutex_;  // that a wait needs
  mutable CondVar changed_;
  std::thread writer_;
};

}  // namespace plimsoll::tests
