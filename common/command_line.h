// What the command lines of controller and agent share: errors, TLS options, manual pages and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "absl/status/status.h"
#include "common/tls.h"

namespace plimsoll {

// What is wrong with a command line that `app` refused with `error`, in one line: an option that there is not comes
// before one that is missing, and the nearest one is suggested.
std::string CommandLineError(const CLI::App& app, const CLI::ParseError& error);

// That `app` has no command of this name, with the nearest one, or none at all.
std::string UnknownCommand(const CLI::App& app, const std::string& word);

// How to get the help of the command that the parser had reached: "plimsoll plan --help".
std::string HelpCommand(const CLI::App& app);

// Makes --help break the descriptions of options and commands between words, so that its lines stay within 100 columns:
// for `app` and for the commands that are added to it afterwards.
void WrapHelp(CLI::App& app);

// Adds --tls-ca, --tls-cert and --tls-key, which every program and command that uses the network has; they fill
// `paths`, which must outlive the parsing. CheckTlsPaths checks them.
void AddTlsFlags(CLI::App& app, TlsPaths& paths);

// Makes a program write its manual below the directory that follows, as the build does.
inline constexpr char kManualOption[] = "--manual";

// Below `directory`, which is made where it is missing: man/man1 with a page for the program and one for each command,
// bash-completion/completions/NAME and zsh/site-functions/_NAME. Hidden commands and options are left out.
absl::Status WriteManual(CLI::App& app, const std::string& directory);

}  // namespace plimsoll
