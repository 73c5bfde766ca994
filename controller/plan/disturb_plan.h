// What a plan with `disturb` asks for: commands at set times under load.
#pragma once

#include <string>
#include <vector>

#include "common/units.h"
#include "plimsoll/v1/disturb.pb.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// Load without a disturbance that a plan has at least before its first one, after each `undo` starts, and behind the
// last: what shows the load as it was, and that it is again so.
inline constexpr int64_t kLeastCalmNs = 5 * kNsPerSecond;

// Why a run may not begin whose commands are not allowed; empty: the plan has none.
std::string ForbiddenCommands(const v1::TestPlan& plan);

// What a checked plan with its defaults runs and when, a line for each disturbance, for people to read before they
// allow it: "30s: controller takeover: runs on this machine, with --allow-commands: ssh filer1 ...".
std::vector<std::string> DescribeDisturbances(const v1::TestPlan& plan);

}  // namespace plimsoll
