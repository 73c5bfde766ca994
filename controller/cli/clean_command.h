// `plimsoll clean`: what runs left in a directory, and removing it.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddCleanCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
