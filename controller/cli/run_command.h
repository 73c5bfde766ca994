// `plimsoll run`: the main job.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "controller/cli/command.h"
#include "controller/cli/plan_flags.h"
#include "controller/run/agent_client.h"
#include "controller/run/grpc_agent_client.h"
#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The world that a run takes place in.
struct RunSurroundings {
  // Outlives the action.
  const Clock* clock = nullptr;
  // Where progress and warnings go.
  std::FILE* progress = nullptr;
  // Whether SIGINT, SIGTERM and SIGHUP interrupt the run.
  bool catches_signals = true;
  // How agents are reached; empty: over gRPC.
  AgentClientFactory make_client;
};

// The plan of `file` ("": an empty one), of a run or of a search, changed by `change`, checked, with every default. The
// errors of reading it, of `change`, and the plan's problems, a line each.
absl::StatusOr<v1::TestPlan> LoadRunPlan(const std::string& file, PlanFlags::Kind kind,
                                         const std::function<absl::Status(v1::TestPlan&)>& change);

// How a plan of LoadRunPlan is run as a part of something else.
struct PlanRun {
  // Directory of the results; not there yet.
  std::string out;
  bool quiet = false;
  // Without the warnings that an earlier run of this plan has given.
  bool repeated = false;
  bool dry_run = false;
};

// What `plimsoll run` does with the plan: the report goes to line.out, errors to line.err. Returns the exit code. Where
// nothing was measured there is no directory. The second Ctrl-C ends the process.
int RunPlan(const v1::TestPlan& plan, const PlanRun& how, std::shared_ptr<const AgentTrust> trust, CommandLine& line,
            const RunSurroundings& around);

// AddRunCommand (commands.h) in another world than the machine's own.
void AddRunCommand(CLI::App& app, CommandLine& line, const RunSurroundings& around);

}  // namespace plimsoll
