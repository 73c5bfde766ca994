// `plimsoll hosts`: what each agent says of itself, its clock and a directory.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace plimsoll {

// Adds the command; when it was chosen, `action` runs it and returns the exit code.
void AddHostsCommand(CLI::App& app, std::function<int()>& action);

}  // namespace plimsoll
