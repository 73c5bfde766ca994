// `plimsoll compare`: in what results differ, and whether by chance.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddCompareCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
