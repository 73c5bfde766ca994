// What a plan with an `accept` section asks for, the plans of its parts; and such plans that come with the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Hosts that `plimsoll fsck` checks at once, at most.
inline constexpr int kMostCheckedHosts = 32;

// All that take a plan take one that has its defaults.

// Whether the plan has the part.
bool HasPart(const v1::TestPlan& plan, v1::AcceptPart part);

// What `plimsoll run` and `plimsoll limit` would be given for the part, with every default. Steadiness is a criterion
// of the load, unless --until-steady or a criterion of the plan asks for it; the search takes those criteria that more
// load can break. A host without a rate has nothing to arrive at random: its arrivals are even.
// In a placement the load plays each host's failure; the search gives each host as many queue managers as one has at
// home, at most, all with the same load.
v1::TestPlan LoadPlanOf(const v1::TestPlan& plan);
v1::TestPlan SearchPlanOf(const v1::TestPlan& plan);

// The largest write of load and search, in bytes; in a placement, that of its queue managers. 0 if no size is given.
uint64_t LargestWriteOf(const v1::TestPlan& plan);

// Plans for `plimsoll accept` that are ready but for hosts, directory and rate, by name, with a line about each.
struct ReadyPlan {
  const char* name;
  const char* about;
  std::string text;
};
const std::vector<ReadyPlan>& ReadyAcceptPlans();

}  // namespace plimsoll
