// How long the parts of an acceptance take, as its outlook says and as a guard counts it.
#include "controller/cli/accept_outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/units.h"
#include "controller/accept/accept_report.h"
#include "controller/app/run_length.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/run/run_guard.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

// The logs of a queue manager have 300 MB: read back at 100 MB/s.
constexpr char kGuardedAcceptance[] = R"(workload: {dir: /x, qm: 1, rate: 200, file_size: 100m, num_files: 3}
duration: 90s
warmup: 5s
settle: 4s
criteria: [max<1s]
accept: {runs: 2, parts: [load, limit, disturb]}
disturb:
  - {at: 10s, hold: 10s, do: [takeover], undo: [giveback], command_limit: 90s}
  - {at: 40s, do: [cut], command_limit: 2m}
)";

v1::TestPlan GuardedAcceptance() {
  v1::TestPlan plan = PlanOf(kGuardedAcceptance);
  FillDefaults(plan);
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  return plan;
}

TEST(AcceptOutlook, CountsEachPartAsItsGuardDoes) {
  const v1::TestPlan plan = GuardedAcceptance();
  constexpr MonotonicNs kNow{1000};
  for (const v1::AcceptPart part : {v1::ACCEPT_PART_LOAD, v1::ACCEPT_PART_LIMIT, v1::ACCEPT_PART_DISTURB}) {
    const int64_t length_ns = RunLengthNs(PlanOfRun(plan, part, 1));
    EXPECT_EQ(PlannedNs(plan, part), length_ns) << PartName(part);
    // A part that the acceptance begins is one that its run does not refuse, to the nanosecond.
    const MonotonicNs end = kNow + PlannedNs(plan, part) + kCleanUpReserveNs;
    EXPECT_EQ(RunGuard({}, RunGuard::End{end, "04:30"}).MayNotBegin(length_ns, kNow), "") << PartName(part);
    EXPECT_NE(RunGuard({}, RunGuard::End{end - 1, "04:30"}).MayNotBegin(length_ns, kNow), "") << PartName(part);
  }
}

TEST(AcceptOutlook, CountsCommandsOfDisturbancesAtTheirLimits) {
  v1::TestPlan plan = GuardedAcceptance();
  // Settling and one step; a `do` and its `undo` that take their limits; 300 MB and more.
  constexpr int64_t kStepNs = (4 + 95) * kNsPerSecond;
  EXPECT_EQ(PlannedNs(plan, v1::ACCEPT_PART_DISTURB), kStepNs + 2 * 90 * kNsPerSecond + 4 * kNsPerSecond);
  plan.mutable_disturb(1)->set_command_limit_ns(200 * kNsPerSecond);
  EXPECT_EQ(PlannedNs(plan, v1::ACCEPT_PART_DISTURB), kStepNs + 200 * kNsPerSecond + 4 * kNsPerSecond);
  EXPECT_THAT(Outlook(plan).front(), HasSubstr("disturb once, at most 5m 3s"));
}

TEST(AcceptOutlook, AddsUpAllRuns) {
  const v1::TestPlan plan = GuardedAcceptance();
  EXPECT_EQ(AllPartsNs(plan), 2 * PlannedNs(plan, v1::ACCEPT_PART_LOAD) + 2 * PlannedNs(plan, v1::ACCEPT_PART_LIMIT) +
                                  PlannedNs(plan, v1::ACCEPT_PART_DISTURB));
}

}  // namespace
}  // namespace plimsoll
