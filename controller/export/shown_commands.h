// What of a run's commands leaves the house: programs without their arguments, which may hold names and secrets.
#pragma once

#include <string>

#include "plimsoll/v1/plan.pb.h"

namespace plimsoll {

// The controller's command line, as ControllerFacts.command has it. Of a value that is a command, such as that of
// --between, the program is left, followed by "…"; of --agent-option the name of the option. A command without
// arguments stays as it is.
std::string WithoutArgumentsOfCommands(const std::string& command_line);

// The plan; each of its commands (`disturb`, `ha.commands`) has "…" in place of its arguments.
v1::TestPlan WithoutArgumentsOfCommands(v1::TestPlan plan);

}  // namespace plimsoll
