// `plimsoll run`: the main job.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/clock.h"
#include "controller/cli/command.h"
#include "controller/run/agent_client.h"

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

}  // namespace plimsoll
