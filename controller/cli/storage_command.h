// `plimsoll storage`
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command to `app`.
void AddStorageCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
