// `plimsoll fsck`
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command to `app`: checks over several hosts what IBM demands of a file system under multi-instance queue
// managers.
void AddFsckCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
