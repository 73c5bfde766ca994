// Removing run directories that killed agents left, or that were kept, at somebody's word.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/host/sandbox.h"
#include "agent/work/work.h"

namespace plimsoll {

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
