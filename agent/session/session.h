// One controller's session on the agent, without the transport.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/session/outbox.h"
#include "agent/work/work.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// A deadline that every message extends until it has passed: a process that resumes after a suspension finds old
// messages in its socket, and they must not revive an expired lease. Thread-safe.
class Lease {
 public:
  Lease(MonotonicNs now, int64_t length_ns) : length_ns_(length_ns), deadline_ns_(now.value + length_ns) {}

  // Extends the lease for a message that arrived. Returns false, and changes nothing, if the lease has expired.
  bool Renew(MonotonicNs now) {
    int64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    // A compare-and-swap, so that a late renewal cannot undo another thread's.
    while (now.value < deadline) {
      const int64_t moved = now.value + length_ns_.load(std::memory_order_relaxed);
      if (moved <= deadline) return true;
      if (deadline_ns_.compare_exchange_weak(deadline, moved, std::memory_order_relaxed)) return true;
    }
    return false;
  }

  // Takes effect with the next renewal; a shorter length at once.
  void SetLength(MonotonicNs now, int64_t length_ns) {
    length_ns_.store(length_ns, std::memory_order_relaxed);
    int64_t deadline = deadline_ns_.load(std::memory_order_relaxed);
    while (now.value < deadline && deadline > now.value + length_ns) {
      if (deadline_ns_.compare_exchange_weak(deadline, now.value + length_ns, std::memory_order_relaxed)) return;
    }
  }

  int64_t length_ns() const { return length_ns_.load(std::memory_order_relaxed); }
  // Writers compare the start of each write with it. Relaxed: the value is independent of others.
  const std::atomic<int64_t>& deadline_ns() const { return deadline_ns_; }
  bool Expired(MonotonicNs now) const { return now.value >= deadline_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> length_ns_;
  std::atomic<int64_t> deadline_ns_;
};

// What all open sessions together use of the agent's caps. A session is identified by its address. Thread-safe.
class SessionCaps {
 public:
  explicit SessionCaps(const v1::AgentLimits& limits) : limits_(limits) {}

  // Reserves `demand` for a session. OUT_OF_RANGE if this and the other sessions' demands exceed a cap.
  absl::Status Join(const void* session, const WorkDemand& demand);
  // Called when the session's writers and files are gone. The time of its steps stays used.
  void Leave(const void* session);

  // The time that steps took, by this host's clock, against --max-duration. Join checks the plan's own sum; this also
  // limits a controller that arms a step repeatedly. A write that outlives its step is not counted: no other write of
  // its session starts meanwhile.
  //
  // Called before a step of `length_ns` is armed to start at `start_ns`. OUT_OF_RANGE if it could exceed the cap.
  absl::Status BeginStep(const void* session, int64_t start_ns, int64_t length_ns);
  // OUT_OF_RANGE if a step of `length_ns` that began now could exceed the cap.
  absl::Status AllowsStep(const void* session, int64_t length_ns) const;
  // The cap; 0: there is none.
  int64_t max_duration_ns() const { return limits_.max_duration_ns(); }
  // Undoes BeginStep: the step was not armed.
  void StepNotArmed(const void* session);
  // Called when the step's writers have stopped.
  void EndStep(const void* session, int64_t now_ns);

 private:
  struct Step {
    int64_t start_ns;
    int64_t length_ns;
    int armings;  // that were tried and have not failed
  };

  absl::Status Fits(const void* session, int64_t length_ns) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const v1::AgentLimits limits_;
  mutable Mutex mutex_;
  int64_t used_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<const void*, WorkDemand> demands_ ABSL_GUARDED_BY(mutex_);
  // Steps that are armed or running.
  std::map<const void*, Step> steps_ ABSL_GUARDED_BY(mutex_);
};

// Takes the controller's messages, drives the work, keeps the lease, and cleans up on every path.
//
// Its own thread does what may block (preparing, arming, releasing); heartbeats, stops and the lease are served on the
// transport's threads, so that the agent responds even while a file system hangs. The session ends after Release, when
// the stream breaks, when the lease expires, or when the work could not be created; then it stops the writers, waits
// for the last write however long that takes, and removes the files.
class Session final : public WorkSink {
 public:
  struct Options {
    // What a plan may ask for.
    WorkKinds work;
    const Clock* clock = nullptr;
    std::string peer;
    // The agent's caps, shared with concurrent sessions. Null: there are no caps.
    std::shared_ptr<SessionCaps> caps;
    // Length of the lease until Prepare sets the plan's.
    int64_t first_lease_ns = 10 * int64_t{1'000'000'000};
    // Called when something waits in the outbox. Any thread.
    std::function<void()> wake;
    // Called once, on the session's thread, when the session has ended and cleaned up; the outbox may still hold
    // messages.
    std::function<void(absl::Status)> finished;
  };

  explicit Session(Options options);
  // Breaks the session if it is still running, and waits for its end.
  ~Session() override;

  // A message from the controller. Any thread, in the order of arrival.
  void Deliver(v1::ControllerMessage message);
  // The stream is gone: the session ends. Work that only the lease ends (Work::Abandon) continues until the lease
  // expires.
  void Break(const std::string& reason);
  // The agent shuts down: as Break, and all work stops.
  void Shutdown(const std::string& reason);
  bool over() const;

  Outbox& outbox() { return outbox_; }
  // Length of the lease.
  int64_t lease_ns() const { return lease_.length_ns(); }
  v1::SessionHolder holder() const;
  // For other controllers while the agent is busy: "run 7f3a21 of 127.0.0.1:4711 for 12 s (running)", with the writes
  // that have been in flight for more than a second.
  std::string Describe() const;
  // Whether a call to the storage seems not to return: other calls to the same storage may hang, too.
  bool Hangs() const;
  // Changes whenever the session makes progress.
  uint64_t Progress() const;
  // The directory, or directories, of everything that the session created, for messages; empty: it created nothing.
  std::string Directory() const;
  // Whether a peer that presents this key may open another session beside this one; false once it is ending.
  bool MayBeJoined(const std::string& beside_key) const;
  const std::shared_ptr<SessionCaps>& caps() const { return options_.caps; }
  // Renews the lease as a message does. False if it has expired, or the session belongs to another run.
  bool Renew(const std::string& run_id, const std::string& run_token);

  void OnFrames(v1::FrameBatch frames) override;
  void OnStepDone(v1::StepDone done) override;
  void OnFault(v1::Fault fault) override;
  void OnMessage(v1::AgentMessage message) override;

 private:
  // The phase in which the work itself provides the state.
  static constexpr char kWorking[] = "working";
  static constexpr char kPreparing[] = "preparing";
  static constexpr char kCleaningUp[] = "cleaning up";

  void Run();
  // Runs the session until it ends; the status goes to the controller.
  absl::Status Serve();
  absl::Status PrepareWork(const v1::Prepare& prepare);
  // Reports what the work sees of the run's other hosts and of the free space.
  absl::Status ReportPlace(Work& work, const v1::Look& look);
  // Gives the work a part of the recording that it plays.
  absl::Status TakeChunk(Work& work, const v1::PatternChunk& chunk);
  // Fills, and reports that it is prepared; once.
  absl::Status FillWork(Work& work);
  // Arms the work, if it runs in steps and the step fits within the rest of --max-duration.
  absl::Status ArmWork(Work& work, const v1::Arm& arm);
  // Puts the message into the inbox; false where more waits there than it holds.
  bool Enqueue(v1::ControllerMessage message);
  // Has the work carry the command out, and answers. Transport's thread.
  void CarryOut(const v1::Command& command);
  void StopAndCleanUp(const absl::Status& reason);
  // Next message for the session's thread; an error when the session must end.
  absl::StatusOr<v1::ControllerMessage> NextMessage();
  void Send(v1::AgentMessage message);
  void SendFault(const absl::Status& status);
  void SendAlive(uint64_t id);
  std::string StateName() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetPhase(const std::string& phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // "draining; qm1 has been in one write to /mnt/a/S0000001.LOG for 75 s".
  std::string Doing() const;

  const Options options_;
  const MonotonicNs opened_;
  Lease lease_;
  Outbox outbox_;
  // Used only by the session's thread.
  std::optional<v1::Prepared> prepared_;
  // When --max-duration is used up, for work that writes without steps, such as a check.
  std::optional<MonotonicNs> work_deadline_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<v1::ControllerMessage> inbox_ ABSL_GUARDED_BY(mutex_);
  // Of what Enqueue put there.
  size_t inbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<std::string> broken_ ABSL_GUARDED_BY(mutex_);
  std::string run_id_ ABSL_GUARDED_BY(mutex_);
  std::string run_token_ ABSL_GUARDED_BY(mutex_);
  std::string beside_key_ ABSL_GUARDED_BY(mutex_);
  std::string phase_ ABSL_GUARDED_BY(mutex_) = "idle";
  MonotonicNs phase_since_ ABSL_GUARDED_BY(mutex_);
  // Steps of the session itself, for Progress.
  uint64_t phases_ ABSL_GUARDED_BY(mutex_) = 0;
  // How long its work writes in all, by the plan; 0 until that is known, and where no limit follows from the plan.
  int64_t writing_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  // Set once by the session's thread, reset only by it when all is over.
  std::shared_ptr<Work> work_ ABSL_GUARDED_BY(mutex_);
  // A Stop that came before there was work to stop.
  std::optional<std::string> stop_reason_ ABSL_GUARDED_BY(mutex_);
  // The work is made, and fills nothing before Fill: a Stop is for the session's thread.
  bool awaits_fill_ ABSL_GUARDED_BY(mutex_) = false;
  bool keep_files_ ABSL_GUARDED_BY(mutex_) = false;
  bool shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace plimsoll
