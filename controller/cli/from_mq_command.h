// `plimsoll plan from-mq`: from files of MQ to a plan.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds `from-mq` to the command `plan`. Both arguments must outlive the parsing and the action.
void AddFromMqCommand(CLI::App& plan, CommandLine& line);

}  // namespace plimsoll
