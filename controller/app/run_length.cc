#include "controller/app/run_length.h"

#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/run/disturber.h"
#include "controller/run/read_back.h"

namespace plimsoll {

int64_t RunLengthNs(const v1::TestPlan& plan) {
  const int64_t read_back_ns = plan.disturb().empty() ? 0 : ReadBackReserveNs(EffectiveWorkloads(plan));
  return plan.settle_ns() + WritingTimeOf(plan).ns + Disturber::AfterStepNs(plan) + read_back_ns;
}

}  // namespace plimsoll
