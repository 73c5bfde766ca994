// How a command of `plimsoll` hooks into the command line: one file a command, each with one AddXCommand function.
//
//   CommandLine line{{std::cout, std::cerr}};
//   AddPlanCommand(app, line);
//   AddRunCommand(app, line);
//   AddHelpCommand(app);
//   return ParseAndRun(app, args, line);
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "controller/app/agents.h"
#include "controller/app/console.h"

namespace plimsoll {

// What the commands share. Parsing only chooses: a subcommand's callback sets `action`, and ParseAndRun calls it once
// the whole line has been found good.
struct CommandLine : Console {
  // The chosen command; returns its exit code.
  std::function<int()> action = nullptr;
  // Commands with options that the parser cannot read, by name: takes the words behind the command's name, keeps its
  // own, and returns those for the parser.
  std::map<std::string, std::function<std::vector<std::string>(const std::vector<std::string>&)>> own_words = {};
};

// The status with "--<option>: " before its message.
absl::Status WithOption(const std::string& option, const absl::Status& status);

// `plimsoll help [command ...]`: what the command's --help prints.
void AddHelpCommand(CLI::App& app);

// Parses `args` (without the program's name) and runs the command that they choose. --help and --version print and are
// Exit::kOk; a bad command line prints one line and is Exit::kWrong.
int ParseAndRun(CLI::App& app, const std::vector<std::string>& args, CommandLine& line);

// Adds an option that takes a value, which its help calls `type`; `value` must outlive the parsing.
template <typename Value>
CLI::Option* AddValue(CLI::App& app, const std::string& names, const std::string& type, Value& value,
                      const std::string& help) {
  return app.add_option(names, value, help)->type_name(type);
}

// Adds --hosts, with this help, and --hosts-file; `list` must outlive the parsing.
void AddAgentList(CLI::App& app, AgentList& list, const std::string& help, const std::string& names = "--hosts");

// Adds --tls-ca and the like, --launch and what belongs to it, and --cluster; `flags` must outlive the parsing.
// `only_asks`: the command asks agents, also those that are busy, and has no --wait.
void AddAccessFlags(CLI::App& app, AccessFlags& flags, bool only_asks = false);

// Adds --color to the program; it may be anywhere on the line (ColorFirst). Sets the line's colours for standard
// output and standard error, which are those of a terminal until it is parsed.
void AddColorOption(CLI::App& app, CommandLine& line);

// The arguments with --color in front, where the program's own options are read.
std::vector<std::string> ColorFirst(const std::vector<std::string>& args);
// How many of them, in that order, are --color and its value.
size_t ColorWords(const std::vector<std::string>& args);

}  // namespace plimsoll
