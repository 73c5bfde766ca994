// The plan that a command line of xdisk stands for.
#pragma once

#include <string>
#include <vector>

#include "controller/xdisk/xdisk_options.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// What long options of `plimsoll xdisk` permit.
struct XdiskPermissions {
  // Write to files and devices that no -C of the agent left.
  bool overwrite = false;
  // Agents that are started on hosts may open the files, whoever made them.
  bool allow_target = false;
};

// The plan, without defaults.
v1::TestPlan XdiskPlan(const XdiskOptions& options, const XdiskPermissions& permissions);

// Arguments for agents that are started on the hosts of -n and -N. None without hosts: the agent of this machine gets
// what the plan needs, as for any run.
std::vector<std::string> XdiskAgentArguments(const XdiskOptions& options, const XdiskPermissions& permissions);

// A message about a plan with the names of xdisk's options.
std::string InXdiskWords(const std::string& message);

}  // namespace plimsoll
