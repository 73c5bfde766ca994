// One controller's hold on the agent, without the transport.
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

// A deadline that every message moves, and that never moves again once it has passed: a process that was frozen and
// woken finds old messages in its socket, and they must not revive what has expired. Thread-safe.
class Lease {
 public:
  Lease(MonotonicNs now, int64_t length_ns) : length_ns_(length_ns), deadline_ns_(now.value + length_ns) {}

  // A message came. Returns false, and moves nothing, where the lease had run out.
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
  // What writers compare the start of each write with. Relaxed: the value is independent of others.
  const std::atomic<int64_t>& deadline_ns() const { return deadline_ns_; }
  bool Expired(MonotonicNs now) const { return now.value >= deadline_ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> length_ns_;
  std::atomic<int64_t> deadline_ns_;
};

// What the sessions that are held side by side use of the agent's caps, all of them together. A session is identified
// by its address. Thread-safe.
class SessionCaps {
 public:
  explicit SessionCaps(const v1::AgentLimits& limits) : limits_(limits) {}

  // A session wants this. OUT_OF_RANGE where that and what the others have exceed a cap.
  absl::Status Join(const void* session, const WorkDemand& demand);
  // Its files are gone, and its writers. The time of its steps stays used.
  void Leave(const void* session);

  // The time that steps took, by this host's clock, against --max-duration. The plan's own sum is checked by Join; this
  // holds a controller to it that arms a step again and again. A write that outlives its step costs nothing: no other
  // of its session starts meanwhile.
  //
  // Before a step of `length_ns` is armed to start at `start_ns`. OUT_OF_RANGE where it could take the writers beyond
  // the cap.
  absl::Status BeginStep(const void* session, int64_t start_ns, int64_t length_ns);
  // OUT_OF_RANGE where a step of `length_ns` could take the writers beyond the cap, if it began now.
  absl::Status AllowsStep(const void* session, int64_t length_ns) const;
  // It was not armed after all.
  void StepNotArmed(const void* session);
  // Its writers have stopped.
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
  // Those that are armed or run.
  std::map<const void*, Step> steps_ ABSL_GUARDED_BY(mutex_);
};

// Takes the controller's messages, drives the work, keeps the lease, and cleans up on every path.
//
// A thread of its own does what may block (preparing, arming, releasing); heartbeats, stops and the lease are served on
// the transport's threads, so that a hung file system never makes the agent deaf. It ends after Release, when the
// stream breaks, when the lease runs out, or when the work could not be made; then it stops the writers, waits for the
// last write however long that takes, and removes the files.
class Session final : public WorkSink {
 public:
  struct Options {
    // What a plan may ask for.
    WorkKinds work;
    const Clock* clock = nullptr;
    std::string peer;
    // What the plan may ask for, together with those of the sessions beside it. Null: there are no caps.
    std::shared_ptr<SessionCaps> caps;
    // Until Prepare names the plan's lease.
    int64_t first_lease_ns = 10 * int64_t{1'000'000'000};
    // Something waits in the outbox. Any thread.
    std::function<void()> wake;
    // The session is over and everything is clean; the outbox may still hold messages. Session's thread, once.
    std::function<void(absl::Status)> finished;
  };

  explicit Session(Options options);
  // Breaks the session where it still runs, and waits for its end.
  ~Session() override;

  // A message from the controller. Any thread, in the order of arrival.
  void Deliver(v1::ControllerMessage message);
  // The stream is gone: the session ends. Work that only the lease ends (Work::Abandon) continues until then.
  void Break(const std::string& reason);
  // The agent shuts down: as Break, and all work stops.
  void Shutdown(const std::string& reason);
  bool over() const;

  Outbox& outbox() { return outbox_; }
  // How long it lasts without a message.
  int64_t lease_ns() const { return lease_.length_ns(); }
  v1::SessionHolder holder() const;
  // For who asks while it is busy: "run 7f3a21 of 127.0.0.1:4711 for 12 s (running)", with the writes that have
  // been in flight for more than a second.
  std::string Describe() const;
  // Whether a call to the storage seems not to return: who looks at the same storage may hang too.
  bool Hangs() const;
  // Changes whenever the session makes progress.
  uint64_t Progress() const;
  // The directory that holds all that the session made, or several, for people; empty: it has made nothing.
  std::string Directory() const;
  // Whether another session may be opened beside this one by whoever presents this key; false once it is ending.
  bool MayBeJoined(const std::string& beside_key) const;
  const std::shared_ptr<SessionCaps>& caps() const { return options_.caps; }
  // Moves the lease as a message does. False where it has run out, or the session is another run's.
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
  // The session's course until it ends; the status goes to the controller.
  absl::Status Serve();
  absl::Status PrepareWork(const v1::Prepare& prepare);
  // Tells what the work sees of the run's other hosts and of the space.
  absl::Status TellPlace(Work& work, const v1::Look& look);
  // Fills, and reports that it is prepared; once.
  absl::Status FillWork(Work& work);
  // Arms the work, where it goes in steps and the step is within what --max-duration leaves.
  absl::Status ArmWork(Work& work, const v1::Arm& arm);
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
  // The session's thread's alone.
  std::optional<v1::Prepared> prepared_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<v1::ControllerMessage> inbox_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> broken_ ABSL_GUARDED_BY(mutex_);
  std::string run_id_ ABSL_GUARDED_BY(mutex_);
  std::string run_token_ ABSL_GUARDED_BY(mutex_);
  std::string beside_key_ ABSL_GUARDED_BY(mutex_);
  std::string phase_ ABSL_GUARDED_BY(mutex_) = "idle";
  MonotonicNs phase_since_ ABSL_GUARDED_BY(mutex_);
  // Steps of the session itself, for Progress.
  uint64_t phases_ ABSL_GUARDED_BY(mutex_) = 0;
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
