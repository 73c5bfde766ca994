// What makes the log writes of runs with group commit, so that such runs can be distinguished: simulated clients, or a
// recording.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <set>
#include <string>

#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// A scalar as the plan spells it, with at most six digits of a number; empty if it is not given.
std::string SpelledOption(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field);

// Flags of the plan's `group_commit` section.
std::set<std::string> CommitFlags();

// The option of the section as it is compared; empty if it is not given. A recording counts as the same wherever its
// file is: its value is the first digits of the file's digest.
std::string CommitOption(const v1::TestPlan& plan, const google::protobuf::FieldDescriptor& field);

// All of them in one text, "--clients 60 --think-time 1ms"; "none" without the section.
std::string CommitLoad(const v1::TestPlan& plan);

}  // namespace plimsoll
