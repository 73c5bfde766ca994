#include "agent/session/step_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/units.h"

namespace plimsoll {

void StepBudget::SetMax(int64_t max_ns) {
  const MutexLock lock(mutex_);
  max_ns_ = max_ns;
}

absl::Status StepBudget::Begin(int64_t start_ns, int64_t length_ns) {
  const MutexLock lock(mutex_);
  if (max_ns_ > 0 && length_ns > max_ns_ - used_ns_) {
    return absl::OutOfRangeError(
        absl::StrCat("the agent's --max-duration is ", FormatDuration(max_ns_), ", this session's writers wrote for ",
                     FormatDuration(used_ns_), ", and a step of ", FormatDuration(length_ns),
                     " does not fit: start the agent with a larger --max-duration, or begin another run"));
  }
  if (step_.has_value()) {
    // Armed again before its start, or while it runs: the earlier start and the greater length count.
    step_->start_ns = std::min(step_->start_ns, start_ns);
    step_->length_ns = std::max(step_->length_ns, length_ns);
    ++step_->armings;
  } else {
    step_ = Step{start_ns, length_ns, 1};
  }
  return absl::OkStatus();
}

void StepBudget::NotArmed() {
  const MutexLock lock(mutex_);
  if (step_.has_value() && --step_->armings == 0) step_.reset();
}

void StepBudget::End(int64_t now_ns) {
  const MutexLock lock(mutex_);
  if (!step_.has_value()) return;
  used_ns_ += std::clamp<int64_t>(now_ns - std::min(step_->start_ns, now_ns), 0, step_->length_ns);
  step_.reset();
}

}  // namespace plimsoll
