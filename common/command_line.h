// What the command lines of controller and agent share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "common/tls.h"

namespace plimsoll {

// What is wrong with a command line that `app` refused with `error`, in one line: an option that there is not comes
// before one that is missing, and the nearest one is suggested.
std::string CommandLineError(const CLI::App& app, const CLI::ParseError& error);

// That `app` has no command of this name, with the nearest one.
std::string UnknownCommand(const CLI::App& app, const std::string& word);

// Adds --tls-ca, --tls-cert and --tls-key, which every program and command that uses the network has; they fill
// `paths`, which must outlive the parsing. CheckTlsPaths says whether they are good.
void AddTlsFlags(CLI::App& app, TlsPaths& paths);

}  // namespace plimsoll
