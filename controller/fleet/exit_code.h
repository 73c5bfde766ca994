// Exit codes of plimsoll, and the failure that leads to one.
#pragma once

#include <string>
#include <vector>

namespace plimsoll {

enum class Exit : int {
  kOk = 0,            // ran, and every criterion passed
  kFailed = 1,        // a criterion failed, or results differ from what was recorded (`plimsoll verify`)
  kWrong = 2,         // wrong in itself, or against what the agents report
  kInconclusive = 3,  // a host was lost, the run was interrupted, the load generator was the bottleneck
  kCannotRun = 4,     // an agent is unreachable, busy, of another version
  kLeft = 130,        // left at once after a second Ctrl-C
};

// Why nothing was measured: one clear line each.
struct Failure {
  Exit code = Exit::kCannotRun;
  std::vector<std::string> lines;
};

}  // namespace plimsoll
