// Lets every writer of a host go at the same moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace plimsoll {

// Waiters sleep on a condition until shortly before the start, so that another Arm, a stop or the end of the work gets
// through; then in one clock_nanosleep with an absolute time; and in the final phase they may spin.
//
// Whether a step has begun is decided by one atomic word: either all waiters go, or, where the arming was replaced in
// time, none does. Thread-safe.
class StartGate {
 public:
  // A start nearer than this cannot be promised: threads must be woken and be given a CPU first.
  static constexpr int64_t kLeastLeadNs = 2'000'000;
  // A start further away is no start: a day.
  static constexpr int64_t kMostLeadNs = 86'400 * int64_t{1'000'000'000};

  struct Start {
    uint64_t arming = 0;  // grows with each
    uint32_t step = 0;
    int64_t start_ns = 0;
  };

  // False where the armed step has begun. Replaces an arming that has not.
  bool Arm(uint32_t step, int64_t start_ns);
  // Takes the arming back. False where the step has begun.
  bool Disarm();
  // Begins the armed step at once: for a stop, so that it ends like any other. Does nothing where none is armed.
  void OpenNow();
  // The step that had begun is over and another one may be armed.
  void End();
  // Every wait returns nothing, now and later.
  void Close();

  // The armed step has begun and is not over.
  bool begun() const { return (word_.load(std::memory_order_acquire) & kBegun) != 0; }

  // Waits for an arming after the one with number `after` (0: any) to be there.
  std::optional<Start> AwaitArming(uint64_t after);
  // Waits until the step armed after `after` begins: at its start plus `offset_ns` (>= 0), of which the last `spin_ns`
  // are spent looking at the clock. Nothing where the gate was closed.
  std::optional<Start> AwaitStart(uint64_t after, int64_t offset_ns, int64_t spin_ns);

 private:
  static constexpr uint64_t kBegun = 1;

  // True where the arming stands or has begun already, false where it was replaced.
  bool Begin(uint64_t arming);
  // Waits for an arming and on to `lead_ns` before its start plus `offset_ns`.
  std::optional<Start> AwaitFinalPhase(uint64_t after, int64_t offset_ns, int64_t lead_ns);

  Mutex mutex_;
  CondVar changed_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool armed_ ABSL_GUARDED_BY(mutex_) = false;
  Start start_ ABSL_GUARDED_BY(mutex_);
  // Number of the last arming (or of its end) times two, plus kBegun. Changes from "armed" to "replaced" under the
  // lock; from "armed" to "begun" by whoever comes first.
  std::atomic<uint64_t> word_{0};
};

}  // namespace plimsoll
