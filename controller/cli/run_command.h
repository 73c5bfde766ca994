// `plimsoll run`, the main job, and the plans of runs for other commands.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/app/runs.h"
#include "controller/cli/command.h"
#include "controller/cli/plan_flags.h"
#include "controller/report/run_kind.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The plan of `file` ("": an empty one), of any kind of run, changed by `change`, checked, with every
// default. The errors of reading it, of `change`, and the plan's problems, a line each.
absl::StatusOr<v1::TestPlan> LoadRunPlan(const std::string& file, RunKind kind,
                                         const std::function<absl::Status(v1::TestPlan&)>& change);

// AddRunCommand (commands.h) in another world than the machine's own.
void AddRunCommand(CLI::App& app, CommandLine& line, const RunSurroundings& around);

}  // namespace plimsoll
