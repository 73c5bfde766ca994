// Which steps fold their frames by age.
#pragma once

#include <optional>

#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Whether runs fold frames. Off: every frame stays in the journal as its agent sent it.
inline constexpr bool kRunsFold = false;

// How a run folds the frames of long steps; nothing where kRunsFold is off.
std::optional<v1::StepFoldRules> UsualFold();

// Whether a step of the plan folds its frames by these rules: if its measured part is longer than what stays whole.
// Runs that trace, that make one pass, or of a kind whose analysis needs every frame, never fold.
bool FoldsFrames(const v1::TestPlan& plan, const v1::LogStep& step, const v1::StepFoldRules& rules);

}  // namespace plimsoll
