// `plimsoll plan`: plans without a run.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds `plan` with `plan example` (prints a commented plan), `plan check FILE` (says whether a plan can be run; takes
// the options of a run, which override the plan) and the hidden `plan reference` (prints docs/plan.md). Both arguments
// must outlive the parsing and the action.
void AddPlanCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
