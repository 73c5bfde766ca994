#include "controller/run/fold_choice.h"

#include "common/protocol.h"
#include "common/units.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

constexpr int64_t kWholeSeconds = 3'600;
// A recorder wakes up late, and a connection is made again, within less.
constexpr int64_t kSettleSeconds = 10;
constexpr int64_t kAroundStallSeconds = 3;
constexpr int64_t kMostWholeOfHour = 60;

}  // namespace

std::optional<v1::StepFoldRules> UsualFold() {
  if (!kRunsFold) return std::nullopt;
  v1::StepFoldRules rules;
  rules.set_whole_seconds(kWholeSeconds);
  rules.set_settle_seconds(kSettleSeconds);
  rules.set_around_stall_seconds(kAroundStallSeconds);
  rules.set_most_whole_of_hour(kMostWholeOfHour);
  return rules;
}

bool FoldsFrames(const v1::TestPlan& plan, const v1::LogStep& step, const v1::StepFoldRules& rules) {
  return RunKindOf(plan) == RunKind::kRun && plan.trace() == v1::TOGGLE_OFF && !IsOnePass(plan.workload()) &&
         step.duration_ns() > rules.whole_seconds() * kNsPerSecond;
}

}  // namespace plimsoll
