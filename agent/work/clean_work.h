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

  absl::StatusOr<v1::Prepared> Prepare(const std::function<void(uint64_t, uint64_t)>& progress) override;
  // There is no step: always late.
  v1::Armed Arm(const v1::Arm& arm) override;
  void Stop(const std::string& reason) override;
  void StopTrace(int64_t /*at_ns*/) override {}
  std::string State() const override { return "ready"; }
  std::vector<v1::InFlight> InFlight(int64_t /*min_age_ns*/) const override { return {}; }
  uint64_t Progress() const override { return steps_.load(std::memory_order_relaxed); }
  std::string Directory() const override { return ""; }
  bool WaitIdle(int64_t /*timeout_ns*/) override { return true; }
  v1::Released Release(bool /*keep_files*/) override { return {}; }

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
