#include "controller/cli/accept_outlook.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/accept/accept_report.h"
#include "controller/app/run_length.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/ha_plan.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/restart_plan.h"

namespace plimsoll {
namespace {

// What the quick checks take on fast storage (docs/fsck.md).
constexpr int64_t kQuickChecksNs = 10 * kNsPerSecond;

// What all hosts of a part's plan write to prepare.
uint64_t PreparedBytes(const v1::TestPlan& plan) {
  uint64_t bytes = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) bytes += ExtentBytes(workload);
  return bytes;
}

// On fast storage: a takeover and what follows it take some seconds beside the moments that the plan sets.
int64_t PlannedDrillNs(const v1::TestPlan& drill) {
  constexpr int64_t kTakeoverNs = 5 * kNsPerSecond;
  const v1::HaPlan& ha = drill.ha();
  const int64_t rounds = ha.rounds();
  const auto& faults = ha.faults();
  const bool hangs = std::ranges::find(faults, v1::HA_FAULT_KIND_HANG) != faults.end();
  return rounds * (kTakeoverNs + (ha.has_at_ns() ? ha.at_ns() : ha.window_ns() / 2)) +
         (hangs ? rounds / faults.size() * HangNs(ha) : 0);
}

// With calls of a millisecond; without filling.
int64_t PlannedRestartNs(const v1::TestPlan& restart) {
  constexpr double kMostMs = 1e12;
  double calls = 0;
  for (const v1::RestartTrial& each : RestartCases(restart)) {
    const bool one_by_one = each.redo().way() == v1::RESTART_REDO_WAY_PER_RECORD;
    calls += one_by_one ? static_cast<double>(each.redo().records()) * each.redo().round_trips_per_record()
                        : static_cast<double>(2 * each.undo().messages() + 1);
  }
  return static_cast<int64_t>(std::min(calls * restart.restart_time().rounds(), kMostMs)) * kNsPerMs;
}

}  // namespace

int64_t PlannedNs(const v1::TestPlan& plan, v1::AcceptPart part) {
  switch (part) {
    case v1::ACCEPT_PART_FSCK:
      return kQuickChecksNs;
    case v1::ACCEPT_PART_LOAD:
      return RunLengthNs(LoadPlanOf(plan));
    case v1::ACCEPT_PART_LIMIT:
      return RunLengthNs(SearchPlanOf(plan));
    case v1::ACCEPT_PART_HA:
      return PlannedDrillNs(DrillPlanOf(plan, v1::HA_FENCE_EXTENTS));
    case v1::ACCEPT_PART_RESTART_TIME:
      return PlannedRestartNs(RestartPlanOf(plan));
    case v1::ACCEPT_PART_DISTURB:
      return RunLengthNs(DisturbPlanOf(plan));
    default:
      return 0;
  }
}

int64_t AllPartsNs(const v1::TestPlan& plan) {
  int64_t all_ns = 0;
  for (const v1::AcceptPart part : kAcceptParts) {
    if (HasPart(plan, part)) all_ns += RunsOf(plan, part) * PlannedNs(plan, part);
  }
  return all_ns;
}

std::vector<std::string> Outlook(const v1::TestPlan& plan) {
  uint64_t bytes = 0;
  std::vector<std::string> parts;
  const auto add = [&](v1::AcceptPart part, const std::string& how_exact) {
    const uint32_t runs = RunsOf(plan, part);
    const int64_t each_ns = PlannedNs(plan, part);
    parts.push_back(absl::StrCat(PartName(part), runs == 1 ? " once, " : absl::StrCat(" ", runs, " times, "), how_exact,
                                 FormatWholeSeconds(each_ns), runs == 1 ? "" : " each"));
  };
  if (HasPart(plan, v1::ACCEPT_PART_STORAGE)) parts.emplace_back("storage check");
  if (HasPart(plan, v1::ACCEPT_PART_FSCK)) add(v1::ACCEPT_PART_FSCK, "about ");
  if (HasPart(plan, v1::ACCEPT_PART_LOAD)) {
    add(v1::ACCEPT_PART_LOAD, plan.until_steady_ns() > 0 ? "at most " : "");
    bytes += plan.accept().runs() * PreparedBytes(LoadPlanOf(plan));
  }
  if (HasPart(plan, v1::ACCEPT_PART_LIMIT)) {
    add(v1::ACCEPT_PART_LIMIT, "at most ");
    bytes += plan.accept().runs() * PreparedBytes(SearchPlanOf(plan));
  }
  if (HasPart(plan, v1::ACCEPT_PART_HA)) {
    add(v1::ACCEPT_PART_HA, "about ");
    const v1::TestPlan drill = DrillPlanOf(plan, v1::HA_FENCE_EXTENTS);
    for (const v1::LogWorkload& workload : HaFilledWorkloads(drill)) {
      bytes += RunsOf(plan, v1::ACCEPT_PART_HA) * ExtentBytes(workload);
    }
  }
  if (HasPart(plan, v1::ACCEPT_PART_RESTART_TIME)) {
    add(v1::ACCEPT_PART_RESTART_TIME, "about ");
    for (const v1::LogWorkload& workload : RestartFilledWorkloads(RestartPlanOf(plan))) bytes += ExtentBytes(workload);
  }
  if (HasPart(plan, v1::ACCEPT_PART_DISTURB)) {
    add(v1::ACCEPT_PART_DISTURB, "at most ");
    bytes += PreparedBytes(DisturbPlanOf(plan));
  }
  std::vector<std::string> lines = {absl::StrCat(absl::StrJoin(parts, "; "))};
  lines.push_back(absl::StrCat(
      "about ", FormatWholeSeconds(AllPartsNs(plan)),
      bytes == 0 ? "" : absl::StrCat(", and the time to write ", FormatSizeForPeople(bytes), " of extents")));
  if (HasPart(plan, v1::ACCEPT_PART_FSCK) && plan.hosts_size() < 2) {
    lines.emplace_back(
        "one host alone has nothing for fsck to test: the result will not be PASS; leave fsck out of --parts");
  }
  return lines;
}

}  // namespace plimsoll
