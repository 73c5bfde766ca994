// `plimsoll export`: every write of a run in the formats that other tools read.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddExportCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
