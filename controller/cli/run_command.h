// `plimsoll run`: the main job.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace plimsoll {

// Adds the command; when it was chosen, `action` runs it and returns the exit code.
void AddRunCommand(CLI::App& app, std::function<int()>& action);

}  // namespace plimsoll
