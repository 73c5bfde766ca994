// What an acceptance does not show: parts that the plan leaves out, and criteria that no part tests.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/accept/accept_parts.h"
#include "controller/accept/accept_report.h"
#include "controller/plan/accept_plan.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

// What a part tests that the plan need not list.
const char* SubjectOf(v1::AcceptPart part) {
  switch (part) {
    case v1::ACCEPT_PART_HA:
      return "takeovers of queue managers";
    case v1::ACCEPT_PART_RESTART_TIME:
      return "the storage's share of a restart";
    default:
      return "disturbances of the storage under load";
  }
}

// Criteria of load and search where the plan leaves out both; a load under disturbances tests some of them.
std::vector<std::string> UntestedCriteria(const v1::TestPlan& plan) {
  if (HasPart(plan, v1::ACCEPT_PART_LOAD) || HasPart(plan, v1::ACCEPT_PART_LIMIT)) return {};
  const v1::TestPlan disturbed = HasPart(plan, v1::ACCEPT_PART_DISTURB) ? DisturbPlanOf(plan) : v1::TestPlan();
  std::vector<std::string> untested;
  for (const std::string& text : plan.criteria()) {
    const bool tested = std::ranges::find(disturbed.criteria(), text) != disturbed.criteria().end();
    if (!tested && !ParseRestartCriterion(text).has_value()) untested.push_back(text);
  }
  return untested;
}

}  // namespace

std::string LeftOutText(const v1::AcceptReport& report) {
  std::vector<std::string> left_out;
  for (const v1::AcceptPart part : kAcceptParts) {
    if (!IsOptional(part) && !HasPart(report.plan(), part)) left_out.push_back(PartName(part));
  }
  return left_out.empty() ? "" : absl::StrCat("The plan leaves out ", absl::StrJoin(left_out, ", "), ".");
}

void AddLimits(v1::AcceptReport& report) {
  const v1::TestPlan& plan = report.plan();
  const auto add = [&report](const std::string& text) {
    if (!text.empty()) AddOnce(text, *report.mutable_limits());
  };
  add(LeftOutText(report));
  std::vector<std::string> not_listed;
  for (const v1::AcceptPart part : kAcceptParts) {
    if (!IsOptional(part) || HasPart(plan, part)) continue;
    not_listed.push_back(absl::StrCat(SubjectOf(part), " (", PartName(part), ")"));
  }
  if (!not_listed.empty()) {
    add(absl::StrCat("Not tested, since the plan does not list these parts: ", absl::StrJoin(not_listed, ", "), "."));
  }
  if (const std::vector<std::string> untested = UntestedCriteria(plan); !untested.empty()) {
    add(absl::StrCat("Not tested, since load and limit are left out: ", absl::StrJoin(untested, ", "), "."));
  }
  const bool loaded = HasPart(plan, v1::ACCEPT_PART_LOAD) || HasPart(plan, v1::ACCEPT_PART_LIMIT);
  const bool drilled = HasPart(plan, v1::ACCEPT_PART_HA);
  if (loaded && !drilled && plan.hosts_size() > 1 && !HasPlacement(plan)) {
    add("No failure of a host was tested; a placement tests each (docs/placement.md).");
  }
  add(UndrilledText(plan));
  if (drilled && plan.accept().locks_extents()) {
    add("Drills were made with locks on the extents only: by the plan, the queue managers lock theirs "
        "(accept.locks_extents).");
  }
  add(UnlikeMqText(plan));
}

}  // namespace plimsoll
