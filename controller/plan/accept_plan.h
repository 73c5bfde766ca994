// What a plan with an `accept` section asks for, the plans of its parts; and such plans that come with the program.
#pragma once

#include <cstdint>
#include <optional>
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

// What `plimsoll ha` would be given, with locks on the extents or without: the pairs of the plan's `ha`, or the hosts
// two by two. What `plimsoll restart-time` would be given: the first host, and the plan's `restart_time`.
v1::TestPlan DrillPlanOf(const v1::TestPlan& plan, v1::HaFence fence);
v1::TestPlan RestartPlanOf(const v1::TestPlan& plan);
// What `plimsoll run` would be given for the load under the plan's disturbances, in one step. Percentiles and rates do
// not fit a failover: of the plan's criteria it takes those on `max`; where none limits a whole write, MQ's own limit.
v1::TestPlan DisturbPlanOf(const v1::TestPlan& plan);
// The plan of a run of the part, from 1, for a part that has one: drills have locks on the extents in their first run.
v1::TestPlan PlanOfRun(const v1::TestPlan& plan, v1::AcceptPart part, uint32_t run);
// How often the part is done.
uint32_t RunsOf(const v1::TestPlan& plan, v1::AcceptPart part);

// `restart<60s`: a limit for the restarts of a real queue manager, which an acceptance takes from its error log.
struct RestartCriterion {
  std::string text;
  int64_t limit_ns = 0;
  bool or_equal = false;
};
// Nothing where the text is another criterion.
std::optional<RestartCriterion> ParseRestartCriterion(const std::string& text);

// MQ's own limit for a pause of the storage under a multi-instance queue manager, and where it is from: a sentence.
inline constexpr char kLongestPauseCriterion[] = "max<20s";
inline constexpr char kLongestPauseSource[] =
    "max<20s is MQ's own limit: the active instance of a multi-instance queue manager ends after twice "
    "FileLockHeartBeatLen (10 s) without an answer from the storage, and its standby instance takes over.";

// Parts, in the order in which they are done. Disturbances come last, because what does not undo them may outlast them.
inline constexpr v1::AcceptPart kAcceptParts[] = {
    v1::ACCEPT_PART_STORAGE, v1::ACCEPT_PART_FSCK,         v1::ACCEPT_PART_LOAD,   v1::ACCEPT_PART_LIMIT,
    v1::ACCEPT_PART_HA,      v1::ACCEPT_PART_RESTART_TIME, v1::ACCEPT_PART_DISTURB};

// Whether the part is one only where the plan lists it, so that a plan without it leaves out nothing.
bool IsOptional(v1::AcceptPart part);

// The largest write of load and search, in bytes; in a placement, that of its queue managers. 0 if no size is given.
uint64_t LargestWriteOf(const v1::TestPlan& plan);

// Plans for `plimsoll accept` (accept_ready_plans.cc) that are ready but for hosts, directory and rate, by name, with a
// line about each.
struct ReadyPlan {
  const char* name;
  const char* about;
  std::string text;
};
const std::vector<ReadyPlan>& ReadyAcceptPlans();

}  // namespace plimsoll
