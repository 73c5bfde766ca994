// The commands of `plimsoll`: the one list. Each is in a source of its own name, with its help.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Each function adds its command. Its arguments must outlive the parsing and the action.
void AddRunCommand(CLI::App& app, CommandLine& line);
// In the source of `run`, whose parts it is made of.
void AddLimitCommand(CLI::App& app, CommandLine& line);
void AddAcceptCommand(CLI::App& app, CommandLine& line);
void AddHaCommand(CLI::App& app, CommandLine& line);
void AddRestartCommand(CLI::App& app, CommandLine& line);
void AddWatchCommand(CLI::App& app, CommandLine& line);
void AddHostsCommand(CLI::App& app, CommandLine& line);
void AddListCommand(CLI::App& app, CommandLine& line);
void AddReportCommand(CLI::App& app, CommandLine& line);
void AddVerifyCommand(CLI::App& app, CommandLine& line);
void AddCompareCommand(CLI::App& app, CommandLine& line);
void AddAbCommand(CLI::App& app, CommandLine& line);
void AddExportCommand(CLI::App& app, CommandLine& line);
// `plan example` (prints a commented plan), `plan check FILE` (whether a plan can be run; takes the options of a run,
// which override the plan) and the hidden `plan reference` (prints docs/plan.md).
void AddPlanCommand(CLI::App& app, CommandLine& line);
void AddCleanCommand(CLI::App& app, CommandLine& line);
void AddFsckCommand(CLI::App& app, CommandLine& line);
// In mqldt's place: its options, its output.
void AddMqldtCommand(CLI::App& app, CommandLine& line);
// In xdisk's place: its options, its output.
void AddXdiskCommand(CLI::App& app, CommandLine& line);
void AddTlsCommand(CLI::App& app, CommandLine& line);
// `kubernetes manifests`: prints what starts agents in a cluster.
void AddKubernetesCommand(CLI::App& app, CommandLine& line);
// In the source of `hosts`, which asks agents in the same way.
void AddStorageCommand(CLI::App& app, CommandLine& line);

// In the order of --help.
inline constexpr void (*kCommands[])(CLI::App&, CommandLine&) = {
    AddRunCommand,     AddLimitCommand, AddAcceptCommand, AddHaCommand,     AddRestartCommand, AddWatchCommand,
    AddHostsCommand,   AddListCommand,  AddReportCommand, AddVerifyCommand, AddCompareCommand, AddAbCommand,
    AddExportCommand,  AddPlanCommand,  AddCleanCommand,  AddFsckCommand,   AddTlsCommand,     AddKubernetesCommand,
    AddStorageCommand, AddMqldtCommand, AddXdiskCommand,
};

}  // namespace plimsoll
