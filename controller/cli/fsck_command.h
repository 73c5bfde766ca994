// `plimsoll fsck`: checks of a shared file system between hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "controller/cli/asked_agents.h"
#include "controller/cli/command.h"
#include "controller/cli/run_command.h"
#include "plimsoll/v1/check_report.pb.h"

namespace plimsoll {

// The quick checks as a part of something else.
struct QuickChecks {
  AgentList agents;
  AccessFlags access;
  std::string directory;
  int64_t lease_ns = 0;
  // Without progress on line.err.
  bool quiet = false;
  // Called once, with the report; not where nothing was checked.
  std::function<void(const v1::CheckReport& report)> finish;
};

// What `plimsoll fsck` does; errors go to line.err and to `end`. Returns its exit code.
int RunQuickChecks(const QuickChecks& checks, CommandLine& line, PartEnd& end);

}  // namespace plimsoll
