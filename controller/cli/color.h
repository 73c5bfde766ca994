// Colour in what a command prints: on terminals, unless NO_COLOR or --color says otherwise.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "controller/cli/command.h"

namespace plimsoll {

// Adds --color to the program; it may stand anywhere on the line (ColorFirst). Sets the line's colours for standard
// output and standard error, which are those of a terminal until it is parsed.
void AddColorOption(CLI::App& app, CommandLine& line);

// The arguments with --color in front, where the program's own options are read.
std::vector<std::string> ColorFirst(const std::vector<std::string>& args);
// How many of them, in that order, are --color and its value.
size_t ColorWords(const std::vector<std::string>& args);

// The report with its verdicts, as words of their own in the verdict's line and the table of criteria, in colour.
std::string PaintVerdicts(const std::string& report, bool color);

}  // namespace plimsoll
