// The commands of `plimsoll`: the one list. Each has a source of its own, with its help.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>

#include "common/clock.h"
#include "controller/cli/command.h"
#include "controller/run/agent_client.h"

namespace plimsoll {

// Each adds its command. Both arguments must outlive the parsing and the action.
void AddRunCommand(CLI::App& app, CommandLine& line);
void AddHaCommand(CLI::App& app, CommandLine& line);
void AddHostsCommand(CLI::App& app, CommandLine& line);
void AddReportCommand(CLI::App& app, CommandLine& line);
void AddCompareCommand(CLI::App& app, CommandLine& line);
void AddExportCommand(CLI::App& app, CommandLine& line);
// `plan example` (prints a commented plan), `plan check FILE` (whether a plan can be run; takes the options of a run,
// which override the plan) and the hidden `plan reference` (prints docs/plan.md).
void AddPlanCommand(CLI::App& app, CommandLine& line);
void AddCleanCommand(CLI::App& app, CommandLine& line);
void AddFsckCommand(CLI::App& app, CommandLine& line);
void AddTlsCommand(CLI::App& app, CommandLine& line);
void AddStorageCommand(CLI::App& app, CommandLine& line);

// In the order of --help.
inline constexpr void (*kCommands[])(CLI::App&, CommandLine&) = {
    AddRunCommand,  AddHaCommand,    AddHostsCommand, AddReportCommand, AddCompareCommand, AddExportCommand,
    AddPlanCommand, AddCleanCommand, AddFsckCommand,  AddTlsCommand,    AddStorageCommand,
};

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
