// The plan that a command line of xdisk stands for.
#pragma once

#include <string>
#include <vector>

#include "controller/xdisk/xdisk_options.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// What long options of `plimsoll xdisk` permit.
struct XdiskPermissions {
  // Writing to files and devices that were not created by -C of the agent.
  bool overwrite = false;
  // Opening files and devices that were not created by -C, for agents that xdisk starts on hosts.
  bool allow_target = false;
};

// The plan, without defaults.
v1::TestPlan XdiskPlan(const XdiskOptions& options, const XdiskPermissions& permissions);

// Arguments for agents that are started on the hosts of -n and -N. Empty without hosts: the agent of this machine gets
// the permissions that the plan needs, as for any run.
std::vector<std::string> XdiskAgentArguments(const XdiskOptions& options, const XdiskPermissions& permissions);

// Returns a message about a plan with the names of xdisk's options in place of the plan's keys and options.
std::string InXdiskWords(const std::string& message);

}  // namespace plimsoll
