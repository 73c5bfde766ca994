// How the frames of a step are folded by age: what the fold of the report and that of the journal have in common, from
// the records before the step's first frame.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "controller/analysis/host_facts.h"
#include "controller/fold/step_fold.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The plan's shortest stall; 0: it sets none.
int64_t StallOf(const v1::TestPlan& plan);

// The rules of the record of a step that measures for so long. INVALID_ARGUMENT where no step can have them.
absl::StatusOr<FoldRules> FoldRulesOf(const v1::StepFoldRules& rules, int64_t interval_ns, int64_t stall_ns,
                                      int64_t duration_ns);

// Whether the report folds that frame of the running step, where an agent sent it.
inline bool GoesToFold(const v1::Frame& frame, uint32_t step) {
  return frame.step() == step && !frame.has_aged();
}

// Names the writers of all hosts that were armed and are not lost to the fold. `step` is the one that begins.
void ExpectWriters(const v1::StepBegin& begin, const v1::LogStep& step, const HostTable& hosts, StepFold& fold);

}  // namespace plimsoll
