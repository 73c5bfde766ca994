// The ids of a run, and the records with which its journal begins and ends, whatever kind of run it is of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/fleet/fleet.h"
#include "controller/live/run_log.h"
#include "plimsoll/v1/controller.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Length of a frame interval; divides a second.
inline constexpr int64_t kFrameIntervalNs = 250'000'000;
// RunBegin::verdict_rules of runs that begin now.
inline constexpr uint32_t kVerdictRules = 5;

// A new run id: six lower-case hexadecimal digits.
std::string NewRunId();
// 16 random bytes, for the stamps and markers of a run.
std::string NewRunToken();

// The run and its hosts; written out when it returns. `host_plans`: by host. `steps`: those that the plan has from the
// start. `controller`: empty if nothing is known of it.
void AppendRunBegin(const v1::TestPlan& plan, const std::vector<v1::HostPlan>& host_plans,
                    const std::vector<v1::LogStep>& steps, const v1::ControllerFacts& controller, const Clock& clock,
                    Fleet& fleet, RunLog& log);

// The end, with what the hosts left behind; written out when it returns. `cut_short`: why it ended early; empty: it did
// not.
void AppendRunEnd(const std::string& cut_short, Fleet& fleet, RunLog& log);

}  // namespace plimsoll
