// `plimsoll report`: every output of a run again, from its journal alone.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace plimsoll {

// Adds the command; when it was chosen, `action` runs it and returns the exit code.
void AddReportCommand(CLI::App& app, std::function<int()>& action);

}  // namespace plimsoll
