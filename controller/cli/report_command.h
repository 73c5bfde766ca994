// `plimsoll report`: every output of a run again, from its journal alone.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddReportCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
