// The `group_commit` section of a plan: clients whose commits gather into log writes, or a recording that is played.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Whether a field of the section describes clients, or a recording. Either is false for fields that are about both, and
// for those of other messages.
bool IsOfClients(const google::protobuf::FieldDescriptor& field);
bool IsOfPattern(const google::protobuf::FieldDescriptor& field);

// Sets what a plan with the section does not give and no field rule sets, before the defaults of all fields.
void FillGroupCommit(v1::TestPlan& plan);
// After the defaults of all fields: removes those of clients from a plan with a recording, and those of a recording
// from a plan with clients. `given`: the plan before the defaults; what it gives stays, for GroupCommitProblems to
// find.
void ForgetGroupCommit(const v1::TestPlan& given, v1::TestPlan& plan);

// What keeps the clients from being simulated, or the recording from being played; empty for a plan without the
// section. The plan has its defaults.
std::vector<PlanProblem> GroupCommitProblems(const v1::TestPlan& plan);

// What is allowed and yet weakens the result, one line each. The plan has its defaults.
std::vector<std::string> GroupCommitNotes(const v1::TestPlan& plan);

// Gives the plan's section to a step, with the number of clients or the load factor that the step has already, if it
// has one. The step's writes have no size of their own then. Of a pattern's file a step has only the name, without its
// directory. Changes nothing without the section.
void SetGroupCommit(const v1::TestPlan& plan, v1::LogStep& step);

// What docs/plan.md says of the section, above the table of its keys.
extern const char kGroupCommitReference[];

}  // namespace plimsoll
