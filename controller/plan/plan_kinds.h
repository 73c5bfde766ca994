// What the section of a kind of run changes about a plan; the one place where a kind is added here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/plan/plan_schema.h"
#include "controller/report/run_kind.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// For how long the steps of a plan write, or at most.
struct WritingTime {
  int64_t ns = 0;
  bool at_most = false;
};

struct PlanKind {
  RunKind kind = RunKind::kRun;
  // Sets the section's defaults, and those of the plan that are others with it; before all other defaults.
  void (*fill)(v1::TestPlan& plan) = nullptr;
  // What keeps a plan with its defaults from being run, beside what keeps any plan from it.
  std::vector<PlanProblem> (*problems)(const v1::TestPlan& plan) = nullptr;
  // It is checked as the plans of its parts are: `problems` are all.
  bool of_parts = false;
  // A criterion as it is written out; null: criteria are those of a log run.
  std::string (*spell_criterion)(const std::string& text) = nullptr;
  // The steps of one pass; null: those that the plan lists.
  std::vector<v1::LogStep> (*steps)(const v1::TestPlan& plan) = nullptr;
  // Where the plan does not list the steps: for how long they write.
  WritingTime (*writing)(const v1::TestPlan& plan) = nullptr;
  // In front of how many hosts, steps and so on a plan has: "a drill of ".
  const char* of = "";
  // Why its steps are not measured in rounds (--until-steady); null: they can be.
  const char* no_rounds = nullptr;
  // What docs/plan.md says of the section, above the table of its keys and below all of its tables.
  const char* reference = "";
  const char* reference_end = "";
};

#define PLIMSOLL_KIND(Name) extern const PlanKind k##Name##PlanKind;
PLIMSOLL_PLANNED_KINDS(PLIMSOLL_KIND)
#undef PLIMSOLL_KIND

// All but log runs, in the order of docs/plan.md.
#define PLIMSOLL_KIND(Name) &k##Name##PlanKind,
inline constexpr const PlanKind* kPlanKinds[] = {PLIMSOLL_PLANNED_KINDS(PLIMSOLL_KIND)};
#undef PLIMSOLL_KIND

const PlanKind& PlanKindOf(const v1::TestPlan& plan);

// Writing time of a plan with its defaults.
WritingTime WritingTimeOf(const v1::TestPlan& plan);

// Whether the plan lists the steps; otherwise the run chooses them, or has parts.
inline bool ListsSteps(const v1::TestPlan& plan) {
  return PlanKindOf(plan).writing == nullptr;
}

}  // namespace plimsoll
