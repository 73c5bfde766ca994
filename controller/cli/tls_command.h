// `plimsoll tls init`: a private CA and certificates.
#pragma once

#include <CLI/CLI.hpp>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds the command. Both arguments must outlive the parsing and the action.
void AddTlsCommand(CLI::App& app, CommandLine& line);

}  // namespace plimsoll
