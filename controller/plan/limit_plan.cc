// What a plan with a `limit` section asks for.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "common/protocol.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_kinds.h"
#include "controller/plan/plan_schema.h"
#include "controller/report/playback.h"
#include "controller/report/run_kind.h"

namespace plimsoll {
namespace {

// A search's first step: writes per second of all hosts, but at least 1 and at most 10 of each queue manager, and time.
constexpr double kFirstProbeWrites = 100;
constexpr double kMostFirstProbeRate = 10;
constexpr int64_t kFirstProbeNs = 2 * kNsPerSecond;
// Its load factor, as a share of the largest one, and the least that a plan can have.
constexpr double kFirstProbeShare = 0.1;
constexpr double kLeastLoadFactor = 0.01;

// Fewer steps bracket no limit.
constexpr int64_t kLeastSearchSteps = 6;

// A serial writer shows its service time up to 95 % load where its writes come evenly: there is no knee.
void FillLimitDefaults(v1::TestPlan& plan) {
  if (plan.has_group_commit() && !plan.limit().has_over()) {
    plan.mutable_limit()->set_over(PlaysPattern(plan) ? v1::LIMIT_OVER_LOAD_FACTOR : v1::LIMIT_OVER_CLIENTS);
  }
  FillMessage(*plan.mutable_limit());
  if (plan.limit().over() == v1::LIMIT_OVER_RATE && !plan.workload().has_arrival()) {
    plan.mutable_workload()->set_arrival(v1::ARRIVAL_POISSON);
  }
}

// The first step: what the storage takes for a write before a search has loaded it.
v1::LogStep FirstProbe(const v1::TestPlan& plan) {
  double writers = 0;
  for (const v1::LogWorkload& workload : EffectiveWorkloads(plan)) writers += workload.qm();
  v1::LogStep step;
  step.set_block_size_bytes(plan.block_size_bytes(0));
  step.set_duration_ns(std::min(plan.duration_ns(), kFirstProbeNs));
  step.set_warmup_ns(plan.warmup_ns());
  step.set_purpose(v1::STEP_PURPOSE_PROBE);
  if (plan.limit().over() == v1::LIMIT_OVER_RATE) {
    step.set_rate_per_second(std::clamp(kFirstProbeWrites / std::max(writers, 1.0), 1.0, kMostFirstProbeRate));
  } else if (plan.limit().over() == v1::LIMIT_OVER_CLIENTS) {
    step.mutable_group_commit()->set_clients(1);
  } else if (plan.limit().over() == v1::LIMIT_OVER_LOAD_FACTOR) {
    step.mutable_group_commit()->set_load_factor(
        std::max(kFirstProbeShare * plan.group_commit().load_factor(), kLeastLoadFactor));
  } else {
    step.set_qm(1);
  }
  return step;
}

std::vector<PlanProblem> LimitPlanProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  if (HasPlacement(plan)) return problems;  // which refuses it
  const auto add = [&problems](const auto&... parts) { problems.emplace_back(parts...); };
  const PlanKey criteria("criteria");
  if (RunKindOf(plan) != RunKind::kLimit)
    add(PlanKey("ha"), " and ", PlanKey("limit"), " are both given: a plan is either a drill or a search");
  if (plan.criteria().empty()) add(criteria, " is missing: a search needs a limit to search for, such as p99<5ms");
  for (const std::string& text : plan.criteria()) {
    const absl::StatusOr<Criterion> parsed = ParseCriterion(text);
    if (!parsed.ok()) continue;  // CheckCriteria has named it
    const Criterion& criterion = *parsed;
    if (!InfoOf(criterion.metric).has_service_time && !InfoOf(criterion.metric).has_stall_class) {
      add(criteria, ": ", Quoted(text),
          " does not get worse with load; a search takes latencies and stalls, such as p99<5ms or stalls==0");
    }
    if (criterion.metric == Metric::kWeightedAverage) {
      add(criteria, ": ", Quoted(text),
          ": how far chance moves a weighted average is not known, so that no load could be shown to meet it; use avg "
          "or a percentile");
    }
  }
  if (plan.block_size_bytes_size() > 1) {
    add(PlanKey("block_size"), ": a search takes one block size; run one for each");
  }
  if (plan.repeat() > 1) add(PlanKey("repeat"), ": a search chooses its steps itself");
  const bool over_rate = plan.limit().over() == v1::LIMIT_OVER_RATE;
  for (int host = 0; over_rate && host < std::max(1, plan.hosts_size()); ++host) {
    const v1::LogWorkload workload = EffectiveWorkload(plan, host);
    if (workload.rate_per_second() > 0) {
      add(PlanKey("workload.rate"), ": a search over the rate chooses it itself; leave it out, or search with ",
          PlanKey("limit.over", "--over qm"));
      return problems;
    }
    if (workload.delay_ns() > 0) {
      add(PlanKey("workload.delay"), ": a rate sets the pauses by itself, leave it out");
      return problems;
    }
  }
  const bool over_qm = plan.limit().over() == v1::LIMIT_OVER_QM;
  const auto add_qm_dirs = [&add](const std::string& where) {
    add(PlanKey("workload.qm_dirs"), where,
        ": a search over the number of queue managers adds them to one directory; pass ",
        PlanKey("workload.dir", "--dir"), ", or search with ", PlanKey("limit.over", "--over rate"));
  };
  if (over_qm && !plan.workload().qm_dirs().empty()) add_qm_dirs("");
  for (const v1::HostSpec& host : plan.hosts()) {
    if (over_qm && !host.workload().qm_dirs().empty()) add_qm_dirs(" on " + host.address());
    if (!over_qm || !host.workload().has_qm() || host.workload().qm() == plan.workload().qm()) continue;
    add(PlanKey("workload.qm"), " on ", host.address(),
        ": a search over the number of queue managers needs as many on each host; leave it out there, or search with ",
        PlanKey("limit.over", "--over rate"));
  }
  const v1::LimitPlan& limit = plan.limit();
  const int64_t step_ns = plan.duration_ns() + plan.warmup_ns();
  const int64_t least_ns = kLeastSearchSteps * step_ns + limit.hold_ns() + plan.warmup_ns();
  if (limit.budget_ns() < least_ns) {
    add(PlanKey("limit.budget"), " ", FormatReadableDuration(limit.budget_ns()), " is too short for ",
        kLeastSearchSteps, " steps of ", FormatReadableDuration(step_ns), " and a hold of ",
        FormatReadableDuration(limit.hold_ns()), ": use ", FormatReadableDuration(least_ns), " or more, a shorter ",
        PlanKey("duration"), " or a shorter ", PlanKey("limit.hold"));
  }
  return problems;
}

}  // namespace

constinit const PlanKind kLimitPlanKind{
    .kind = RunKind::kLimit,
    .fill = FillLimitDefaults,
    .problems = LimitPlanProblems,
    .steps = [](const v1::TestPlan& plan) { return std::vector<v1::LogStep>{FirstProbe(plan)}; },
    .writing = [](const v1::TestPlan& plan) { return WritingTime{plan.limit().budget_ns(), true}; },
    .no_rounds = "a search chooses its steps itself",
    .reference = R"(
A search for the highest load, for `plimsoll limit` ([limit.md](limit.md)). `duration` and `warmup` are those of each of its steps;
arrivals are `poisson` where they are not given. It takes one block size, no `rate`, and latencies and stalls as criteria. Of a plan with
`group_commit`, the load is the number of clients, or the load factor of a `pattern`, where `over` is not given.
)"};

}  // namespace plimsoll
