// What a plan with a `watch` section asks for: it watches a program, and writes nothing.
#pragma once

#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/watch.pb.h"

namespace plimsoll {

// Takes back the defaults of writing that `filled` has: whatever `given`, the plan without its defaults, did not have.
// Does nothing to a plan without the section.
void ForgetWriting(const v1::TestPlan& given, v1::TestPlan& filled);

// The workload of each of its hosts: as many queue managers as are watched there, which write by themselves.
v1::LogWorkload WatchedWorkload(const v1::WatchPlan& watch);

// One host's part of a checked plan that has its defaults.
v1::WatchWork MakeWatchWork(const v1::TestPlan& plan);

}  // namespace plimsoll
