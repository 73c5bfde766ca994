// Checking a shared file system, as a session sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/fsck/fsck_process.h"
#include "agent/host/sandbox.h"
#include "agent/work/work.h"
#include "common/mutex.h"

namespace plimsoll {

// Makes small files in the host's directory, which other hosts of the run open, and lets processes of its own carry the
// controller's commands out. Removes everything at its end.
class FsckWork final : public Work {
 public:
  // Makes the host's directory. INVALID_ARGUMENT where the plan asks for no check, or for one that is too large.
  // `sandbox`, `lease_deadline_ns` (of CLOCK_MONOTONIC) and `sink` outlive the object. `program`: see ProcessTable.
  static absl::StatusOr<std::unique_ptr<FsckWork>> Create(const v1::HostPlan& plan, const Sandbox& sandbox,
                                                          const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink,
                                                          const std::string& program = "/proc/self/exe");
  // How a session makes it. `sandbox` outlives the kind.
  static WorkKind Kind(const Sandbox& sandbox);
  ~FsckWork() override;

  absl::StatusOr<v1::Placed> Look(const v1::Look& look) override;
  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  absl::Status Do(const v1::Command& command) override;
  void Stop(const std::string& reason) override;
  std::string State() const override { return "checking"; }
  std::vector<v1::InFlight> InFlight(int64_t min_age_ns) const override;
  uint64_t Progress() const override;
  std::string Directory() const override { return directory_->path(); }
  bool WaitIdle(int64_t timeout_ns) override;
  v1::Released Release(bool keep_files) override;

 private:
  FsckWork(v1::HostPlan plan, const Sandbox& sandbox, const std::atomic<int64_t>& lease_deadline_ns, WorkSink& sink,
           std::string program, std::unique_ptr<RunDirectory> directory);
  absl::Status SyncDirectories() const;
  absl::Status MakeFile(uint32_t number);
  // Which processes there are, without a lock for longer than it takes to copy that.
  std::shared_ptr<ProcessTable> processes() const;

  const v1::HostPlan plan_;
  const Sandbox& sandbox_;
  const std::atomic<int64_t>& lease_deadline_ns_;
  WorkSink& sink_;
  const std::string program_;
  const std::unique_ptr<RunDirectory> directory_;
  // The session's thread's.
  std::set<std::string> seen_;
  std::atomic<uint64_t> files_made_{0};
  std::atomic<bool> stopped_{false};

  mutable Mutex mutex_;
  // Null before Prepare, and after Release.
  std::shared_ptr<ProcessTable> processes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
