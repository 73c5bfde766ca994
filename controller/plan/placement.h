// What a plan with a `placement` asks for: which queue managers write on which host in each of its steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/plan/plan_schema.h"
#include "plimsoll/v1/log_step.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Gives addresses their ports, the queue managers the block size and the rate that they do not have of their own, and
// the plan its hosts where it lists none. Of a plan that has its other defaults.
void FillPlacement(v1::TestPlan& plan);

// What keeps a plan with its defaults from being a placement. Empty: nothing.
std::vector<PlanProblem> PlacementProblems(const v1::TestPlan& plan);

// Why blocks of that size cannot be written with a workload; `block` names their key and size, and `where` the host
// that has the workload (" on node2"), or is empty. Empty: they can.
std::vector<PlanProblem> BlockProblems(const PlanKey& block, uint64_t block_bytes, const v1::LogWorkload& workload,
                                       const std::string& where);

// Where a workload names one directory in two ways, as "/a" and "/a/", a sentence about the first such two; links are
// not looked at. Empty: each has one name.
std::string SameDirectoryProblem(const v1::LogWorkload& workload);

// The queue managers whose files a host prepares, in the order of the placement: those that are at home there, and
// those whose standby it is. They are its writers, from number 1. `host` counts plan.hosts().
std::vector<v1::LogQueueManager> QueueManagersOf(const v1::TestPlan& plan, uint32_t host);

// Gives a host's workload its queue managers: how many they are, and where one has a directory of its own, the
// directory of each.
void PlaceQueueManagers(const v1::TestPlan& plan, uint32_t host, v1::LogWorkload& workload);

// Steps of one pass of a checked plan with its defaults: all hosts up, then each host down.
std::vector<v1::LogStep> PlacementSteps(const v1::TestPlan& plan);

// Different sizes of writes, ascending: those of the placement, or else the plan's own. With its defaults.
std::vector<uint64_t> BlockSizesOf(const v1::TestPlan& plan);

// An address as people write it: without the default port.
std::string ShortAddress(const std::string& address);

// Where queue managers have directories of their own: what a host prepares in each of them, for people, a line each.
std::vector<std::string> DescribeQmDirs(const v1::LogWorkload& workload);

// What will run, for people: which queue managers write on which host in each step, and what each host prepares. Of a
// checked plan with its defaults; lines without line ends.
std::vector<std::string> DescribePlacement(const v1::TestPlan& plan);

}  // namespace plimsoll
