// How long a session's writers may still write.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "plimsoll/v1/agent.pb.h"

namespace plimsoll {

// The time that steps took, by this host's clock, against the agent's --max-duration. The plan's own sum is checked
// before; this holds a controller to it that arms a step again and again. A write that outlives its step costs nothing:
// no other starts meanwhile. Thread-safe.
class StepBudget {
 public:
  // 0: no cap. Before the first step.
  void SetMax(int64_t max_ns);

  // Before a step of `length_ns` is armed to start at `start_ns`. OUT_OF_RANGE where it could take the writers beyond
  // the cap.
  absl::Status Begin(int64_t start_ns, int64_t length_ns);
  // It was not armed after all.
  void NotArmed();
  // Its writers have stopped.
  void End(int64_t now_ns);

 private:
  struct Step {
    int64_t start_ns;
    int64_t length_ns;
    int armings;  // that were tried and have not failed
  };

  Mutex mutex_;
  int64_t max_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t used_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<Step> step_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll
