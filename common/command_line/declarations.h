// What the options and commands of a program are declared as: for help, messages, manual pages and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace plimsoll {

// The option's description, with the options that it excludes.
std::string Description(const CLI::Option& option);
// The values of "TEXT:{a,b}"; empty where others may be given.
std::vector<std::string> Values(const CLI::Option& option);
bool TakesValue(const CLI::Option& option);
// Spellings on the command line: -q, --quiet.
std::vector<std::string> Spellings(const CLI::Option& option);
// What help shows in place of the value.
std::string Placeholder(const CLI::Option& option);

// "plimsoll plan check", with `separator` in place of the blanks.
std::string FullName(const CLI::App& app, const char* separator = " ");
// Commands that help shows.
std::vector<CLI::App*> Commands(CLI::App& app);
// Options that help shows: those with a name that starts with a dash, or those without.
std::vector<CLI::Option*> ShownOptions(CLI::App& app, bool named);
// The program and all its commands.
void EachCommand(CLI::App& app, const std::function<void(CLI::App&)>& visit);

// Scripts for the shells, made from the declarations.
std::string BashCompletion(CLI::App& app);
std::string ZshCompletion(CLI::App& app);

}  // namespace plimsoll
