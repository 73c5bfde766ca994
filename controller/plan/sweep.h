// Lists of target rates and of numbers of queue managers in a plan's own workload: a sweep.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The list of a sweep that holds the values of a workload's field; null where the field takes no list.
const google::protobuf::FieldDescriptor* SweptListOf(const google::protobuf::FieldDescriptor& field);

// How many values the plan lists for a workload's field; 0 where it has one value, the workload's.
int SweptCount(const v1::TestPlan& plan, const google::protobuf::FieldDescriptor& field);

// Sets a field of the plan's own workload that may be a list. `texts` are its values, at least one: one alone is the
// workload's value, of several the largest is. INVALID_ARGUMENT as ParseValue; the plan is then as before.
absl::Status SetWorkloadValues(const google::protobuf::FieldDescriptor& field, const std::vector<std::string>& texts,
                               v1::TestPlan& plan);

// What keeps the plan's sweep from being run, but for the number of its steps. The plan has its defaults.
std::vector<PlanProblem> SweepProblems(const v1::TestPlan& plan);

// The plan of the sweep's steps that write least: its lowest rate above 0, and its fewest queue managers.
v1::TestPlan WithLeastLoad(const v1::TestPlan& plan);

// The steps of a plan with a sweep, as `plan check` and `--dry-run` show them; empty for other plans.
std::vector<std::string> DescribeSweep(const v1::TestPlan& plan);

}  // namespace plimsoll
