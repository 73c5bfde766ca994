// Manual pages and shell completion of a program, from the same declarations as its --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"

namespace plimsoll {

// Makes a program write its manual below the directory that follows, as the build does.
inline constexpr char kManualOption[] = "--manual";

// Below `directory`, which is made where it is missing: man/man1 with a page for the program and one for each command,
// bash-completion/completions/NAME and zsh/site-functions/_NAME. Hidden commands and options are left out.
absl::Status WriteManual(CLI::App& app, const std::string& directory);

}  // namespace plimsoll
