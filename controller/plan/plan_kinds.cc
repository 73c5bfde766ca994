#include "controller/plan/plan_kinds.h"

#include "controller/plan/plan_defaults.h"

namespace plimsoll {

const PlanKind& PlanKindOf(const v1::TestPlan& plan) {
  static constexpr PlanKind kRun;
  const RunKind kind = RunKindOf(plan);
  for (const PlanKind* const each : kPlanKinds) {
    if (each->kind == kind) return *each;
  }
  return kRun;
}

WritingTime WritingTimeOf(const v1::TestPlan& plan) {
  if (const auto writing = PlanKindOf(plan).writing; writing != nullptr) return writing(plan);
  WritingTime time{0, plan.until_steady_ns() > 0};
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    time.ns += (step.duration_ns() + step.warmup_ns()) * MostRounds(plan);
  }
  return time;
}

}  // namespace plimsoll
