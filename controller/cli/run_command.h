// `plimsoll run`: the main job.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "controller/cli/command.h"
#include "controller/run/agent_client.h"
#include "plimsoll/v1/journal.pb.h"
#include "plimsoll/v1/plan.pb.h"
#include "plimsoll/v1/report.pb.h"

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

// AddRunCommand (commands.h) in another world than the machine's own.
void AddRunCommand(CLI::App& app, CommandLine& line, const RunSurroundings& around);

// A run that another command makes and shows in its own way. Warnings and errors go where those of `plimsoll run` do.
struct RunRequest {
  // Checked, every default filled in.
  v1::TestPlan plan;
  // Directory for the results; empty: the default one.
  std::string out;
  // Called with every record that is kept.
  std::function<void(const v1::JournalRecord& record)> watch;
  // Called with the report of each step, once it is made, on another thread than `watch`; never before the records of
  // the step, nor after those of the next.
  std::function<void(const v1::StepReport& step)> on_step;
  // Called once, with the report and the path of the results, which are written. An error makes the run inconclusive.
  std::function<absl::Status(const v1::Report& report, const std::string& results)> finish;
};

// Runs it on the machine's own agents and returns the exit code.
int RunPlan(RunRequest request, CommandLine& line);

}  // namespace plimsoll
