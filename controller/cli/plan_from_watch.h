// `plimsoll plan from-watch`: a pattern file and a plan from the results of a watch.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds `from-watch` to the command `plan`. The arguments must outlive the parsing and the action.
void AddFromWatchCommand(CLI::App& plan, CommandLine& line);

}  // namespace plimsoll
