// `plimsoll hosts`: what each agent says of itself, its clock and a directory.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddHostsCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
