#include "controller/plan/sweep.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/units.h"
#include "controller/plan/host_list.h"
#include "controller/plan/plan_defaults.h"
#include "controller/report/run_kind.h"
#include "controller/report/swept_load.h"

namespace plimsoll {
namespace {

using google::protobuf::FieldDescriptor;

// More steps are counted, not listed.
constexpr size_t kMostSweptSteps = 40;

const FieldDescriptor& WorkloadFieldOf(const FieldDescriptor& list) {
  return *v1::LogWorkload::descriptor()->FindFieldByName(list.name());
}

}  // namespace

const FieldDescriptor* SweptListOf(const FieldDescriptor& field) {
  if (field.containing_type() != v1::LogWorkload::descriptor()) return nullptr;
  return v1::Sweep::descriptor()->FindFieldByName(field.name());
}

int SweptCount(const v1::TestPlan& plan, const FieldDescriptor& field) {
  const FieldDescriptor* const list = SweptListOf(field);
  return list == nullptr ? 0 : CountOf(*list, plan.sweep());
}

absl::Status SetWorkloadValues(const FieldDescriptor& field, const std::vector<std::string>& texts,
                               v1::TestPlan& plan) {
  std::vector<FieldValue> values;
  for (const std::string& text : texts) {
    PLIMSOLL_ASSIGN_OR_RETURN(FieldValue value, ParseValue(field, text));
    values.push_back(std::move(value));
  }
  const FieldDescriptor& list = *SweptListOf(field);
  v1::Sweep& sweep = *plan.mutable_sweep();
  sweep.GetReflection()->ClearField(&sweep, &list);
  if (values.size() > 1) {
    for (const FieldValue& value : values) StoreValue(list, value, sweep);
  }
  if (sweep.ByteSizeLong() == 0) plan.clear_sweep();
  StoreValue(field, *std::max_element(values.begin(), values.end()), *plan.mutable_workload());
  return absl::OkStatus();
}

std::vector<PlanProblem> SweepProblems(const v1::TestPlan& plan) {
  std::vector<PlanProblem> problems;
  const auto add = [&problems](const auto&... parts) { problems.emplace_back(parts...); };
  for (const FieldDescriptor& list : FieldsOf(*v1::Sweep::descriptor())) {
    const FieldDescriptor& field = WorkloadFieldOf(list);
    const int count = CountOf(list, plan.sweep());
    if (count == 0) continue;
    const PlanKey key("workload." + FieldKey(field));
    std::set<std::string> seen;
    for (int n = 0; n < count; ++n) {
      const std::string text = FormatValue(list, plan.sweep(), n);
      if (const auto value = ParseValue(field, text); !value.ok()) {
        add(key, ": ", std::string(value.status().message()));
      } else if (!seen.insert(text).second) {
        add(key, ": ", text, " is listed twice; list each value once, and measure several times with ",
            PlanKey("repeat"));
      }
    }
    if (const RunKindFacts& kind = FactsOf(RunKindOf(plan)); kind.kind != RunKind::kRun) {
      add(key, ": ", kind.noun, " takes one value, not a list; give one, or measure the list with `plimsoll run`",
          HasPlacement(plan) ? " and without the placement" : "");
    }
    const bool of_qm = field.number() == v1::LogWorkload::kQmFieldNumber;
    if (of_qm && !plan.workload().qm_dirs().empty()) {
      add(PlanKey("workload.qm_dirs"), ": names the directory of each queue manager, and ", key,
          " is a list; pass one ", PlanKey("workload.dir", "--dir"), ", or one number of queue managers");
    }
    for (const v1::HostSpec& host : plan.hosts()) {
      if (CountOf(field, host.workload()) == 0) continue;
      add(key, " is a list, and ", host.address(),
          of_qm && !host.workload().qm_dirs().empty() ? " has qm_dirs" : " has a value of its own",
          ": a sweep needs the same steps on each host; leave it out there, or give one value for all");
    }
  }
  return problems;
}

v1::TestPlan WithLeastLoad(const v1::TestPlan& plan) {
  v1::TestPlan least = plan;
  const v1::Sweep& sweep = plan.sweep();
  if (sweep.qm_size() > 0) least.mutable_workload()->set_qm(*std::min_element(sweep.qm().begin(), sweep.qm().end()));
  for (const double rate : sweep.rate_per_second()) {
    if (rate > 0 && rate < least.workload().rate_per_second()) least.mutable_workload()->set_rate_per_second(rate);
  }
  least.clear_sweep();
  return least;
}

std::vector<std::string> DescribeSweep(const v1::TestPlan& plan) {
  std::vector<std::string> lines;
  if (!plan.has_sweep()) return lines;
  lines.emplace_back("Steps:");
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  for (size_t number = 1; number <= std::min(steps.size(), kMostSweptSteps); ++number) {
    const v1::LogStep& step = steps[number - 1];
    lines.push_back(absl::StrCat("  ", number, ": ", FormatBlockSize(step.block_size_bytes()), ", ",
                                 absl::StrJoin(SweptParts(step), ", ")));
  }
  if (steps.size() > kMostSweptSteps) {
    lines.push_back(absl::StrCat("  ... and ", FormatCount(steps.size() - kMostSweptSteps), " more"));
  }
  return lines;
}

}  // namespace plimsoll
