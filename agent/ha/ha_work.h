// One host's part of an HA drill: the files of its queue managers, and the instances that run here.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/ha/ha_setup.h"
#include "agent/ha/instance_handle.h"
#include "agent/ha/qm_files.h"
#include "agent/host/sandbox.h"
#include "agent/work/work.h"
#include "common/mutex.h"
#include "common/posix.h"

namespace plimsoll {

// Commands are taken at once and carried out by a thread of its own, which starts the instances, passes on their
// messages, hands them the lease and reaps them. It lives as long as the object, since an instance ends with the thread
// that started it.
//
// An instance ends by command, by itself, with the agent, or at the lease. The lease alone ends it where the
// controller's stream breaks: Abandon stops nothing that runs, and the work is idle when the lease has ended the last
// instance.
class HaWork final : public Work {
 public:
  // Makes the host's directories of the run, or finds those that an earlier session of the same drill made. `program`
  // is what instances are started from. What is referred to must outlive the object.
  static absl::StatusOr<std::unique_ptr<HaWork>> Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                        const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink,
                                                        const std::string& program);
  // How a session makes it. `sandbox` outlives the kind.
  static WorkKind Kind(const Sandbox& sandbox, const std::string& program);

  ~HaWork() override;

  absl::StatusOr<v1::Placed> Look(const v1::Look& look) override;
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  absl::Status Do(const v1::Command& command) override;
  void Stop(const std::string& reason) override;
  void Abandon(const std::string& reason) override;
  std::string State() const override;
  std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const override;
  uint64_t Progress() const override;
  std::string Directory() const override;
  bool WaitIdle(int64_t timeout_ns) override;
  v1::Released Release(bool keep_files) override;

 private:
  // One of the directories in which the run has its own.
  struct Place {
    std::string dir;
    std::string path;
    // Null where an earlier session of the drill made it.
    std::unique_ptr<RunDirectory> made;
  };
  enum class Phase : uint8_t { kNew, kPreparing, kReady, kEnded };

  HaWork(HaSetup setup, v1::HaInstanceSetup instances, const Sandbox& sandbox,
         const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink, std::string program);

  absl::Status MakePlaces();
  absl::StatusOr<Place> MakePlace(const std::string& dir) const;
  Place& data_place() { return places_.back(); }
  absl::StatusOr<v1::Prepared> MakeFiles(const std::function<void(uint64_t, uint64_t)>& progress);
  absl::Status MayFill() const;
  // Labels of the run's hosts in a place.
  absl::StatusOr<std::set<std::string>> HostsIn(const Place& place, const std::vector<std::string>& expected) const;

  absl::Status Enqueue(const v1::HaCommand& command) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckNew(uint32_t number, uint32_t qm) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRunning(uint32_t number) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void KillAll();
  void Wake() const;

  // The supervising thread's.
  void Supervise();
  void AwaitNews() const;
  void CarryOut(const v1::HaCommand& command);
  void StartInstance(const v1::HaStart& start, bool scan);
  void ReportNotStarted(const v1::HaStart& start, const absl::Status& status);
  void LookAtInstances();
  void PassOn(std::vector<v1::AgentMessage> messages);
  void OnEnded(uint32_t number);

  const HaSetup setup_;
  // The set-up that all instances share.
  const v1::HaInstanceSetup instance_setup_;
  const Sandbox& sandbox_;
  const std::atomic<int64_t>& lease_deadline_ns_;
  WorkSink& sink_;
  const std::string program_;
  // The log directory's, and the data directory's where that is another one.
  std::vector<Place> places_;
  std::set<std::string> seen_;  // hosts of the run; the session's thread's alone
  UniqueFd wake_fd_;

  std::atomic<bool> cancelled_{false};
  std::atomic<uint64_t> filled_bytes_{0};
  std::atomic<int64_t> filling_since_ns_{0};
  std::atomic<uint32_t> filling_qm_{0};
  std::atomic<uint64_t> messages_{0};

  mutable Mutex mutex_;
  CondVar changed_;
  Phase phase_ ABSL_GUARDED_BY(mutex_) = Phase::kNew;
  bool prepared_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<v1::HaCommand> commands_ ABSL_GUARDED_BY(mutex_);
  // Numbers of the session's instances; true while they run.
  std::map<uint32_t, bool> numbers_ ABSL_GUARDED_BY(mutex_);
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  // Changed by the supervising thread alone, which reads it without the lock.
  std::vector<std::shared_ptr<InstanceHandle>> instances_;
  bool stop_supervising_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread supervisor_;
};

}  // namespace plimsoll
