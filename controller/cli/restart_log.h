// `plimsoll restart-time from-log`: the restarts that the error logs of real queue managers record.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds `from-log` to the command `restart_time`, whose own callback must leave the action alone if a subcommand was
// given. The arguments must outlive the parsing and the action.
void AddRestartLogCommand(CLI::App& restart_time, CommandLine& line);

}  // namespace plimsoll
