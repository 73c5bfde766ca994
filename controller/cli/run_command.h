// `plimsoll run`: the main job.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddRunCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
