#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/units.h"
#include "controller/app/runs.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/fsck/checks.h"
#include "controller/journal/results.h"
#include "controller/plan/ha_plan.h"
#include "controller/render/json.h"

namespace plimsoll {
namespace {

struct FsckFlags {
  FsckRun run;
  std::string level = "quick";
  std::string lease = "10s";
  std::string junit;
  std::string only;
  bool json = false;
  bool full = false;
  bool allow_commands = false;
  std::string kill_host;
  std::string restore_host;
  std::string restart_server;
};

absl::StatusOr<std::map<FsckField::Fault, std::vector<std::string>>> CommandsOf(const FsckFlags& flags) {
  std::map<FsckField::Fault, std::vector<std::string>> commands;
  for (const auto& [fault, text] : {std::pair(FsckField::Fault::kKillHost, &flags.kill_host),
                                    {FsckField::Fault::kRestoreHost, &flags.restore_host},
                                    {FsckField::Fault::kRestartServer, &flags.restart_server}}) {
    if (text->empty()) continue;
    absl::StatusOr<std::vector<std::string>> words = SplitCommand(*text);
    if (!words.ok()) return WithContext(FaultOption(fault), words.status());
    commands[fault] = *std::move(words);
  }
  return commands;
}

v1::CheckLevel LevelOf(const std::string& name) {
  if (name == "full") return v1::CHECK_LEVEL_FULL;
  return name == "standard" ? v1::CHECK_LEVEL_STANDARD : v1::CHECK_LEVEL_QUICK;
}

// Prints the report, and writes it to --junit; false where one of them failed.
bool KeepChecks(const FsckFlags& flags, const v1::CheckReport& report, CommandLine& line) {
  line.out << (flags.json
                   ? RenderJson(report)
                   : PaintVerdicts(flags.full ? RenderFsckText(report) : RenderFsckBrief(report), line.color_out))
           << std::flush;
  if (!WroteOutput(line)) return false;
  const absl::Status written = flags.junit.empty() ? absl::OkStatus() : WriteFile(flags.junit, RenderJUnit(report));
  if (!written.ok()) PrintError(line, written, Exit::kWrong);
  return written.ok();
}

int FsckMain(const FsckFlags& flags, CommandLine& line) {
  const absl::StatusOr<int64_t> lease_ns = ParseDuration(flags.lease);
  if (!lease_ns.ok() || *lease_ns < kNsPerSecond || *lease_ns > 3600 * kNsPerSecond) {
    return PrintError(line, absl::StrCat("--lease ", flags.lease, ": a time from 1s to 1h"), Exit::kWrong);
  }
  const v1::CheckLevel level = LevelOf(flags.level);
  auto commands = CommandsOf(flags);
  if (!commands.ok()) return PrintError(line, commands.status(), Exit::kWrong);
  if (!commands->empty() && !flags.allow_commands) {
    return PrintError(line,
                      absl::StrCat(FaultOption(commands->begin()->first), ": commands run only with --allow-commands"),
                      Exit::kWrong);
  }
  if (!commands->empty() && level != v1::CHECK_LEVEL_FULL) {
    return PrintError(line, absl::StrCat(FaultOption(commands->begin()->first), ": needs --level full"), Exit::kWrong);
  }
  const std::set<std::string> only = absl::StrSplit(flags.only, ',', absl::SkipEmpty());
  for (const std::string& name : only) {
    const auto& catalog = FsckCatalog();
    const auto named = std::ranges::find_if(catalog, [&](const auto& entry) { return entry.name == name; });
    if (named == catalog.end()) {
      return PrintError(line, absl::StrCat("--only: unknown check '", name, "'; docs/fsck.md lists the checks"),
                        Exit::kWrong);
    }
    if (named->level > level) {
      return PrintError(line, absl::StrCat("--only: ", name, " needs --level ", LevelName(named->level)), Exit::kWrong);
    }
  }
  if (const LauncherKind& kind = flags.run.access.launch.kind(); !kind.survives_reboot && !flags.kill_host.empty()) {
    return PrintError(line,
                      absl::StrCat("--kill-host ends the agent that --launch ", kind.name,
                                   " has started, and nothing starts it again: install agents as a service for it"),
                      Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  FsckRun run = flags.run;
  run.level = level;
  run.only = only;
  run.commands = *std::move(commands);
  run.lease_ns = *lease_ns;
  run.finish = [&](const v1::CheckReport& report) { return KeepChecks(flags, report, line); };
  return RunFsck(run, line);
}

}  // namespace

void AddFsckCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<FsckFlags>();
  flags->run.directory_option = "DIR";
  CLI::App* command = app.add_subcommand("fsck", "Check a shared file system for multi-instance queue managers");
  AddValue(*command, "DIR", "", flags->run.directory, "The shared directory, as the hosts see it")->required();
  AddAgentList(*command, flags->run.agents,
               "Agents, at least two (default: this machine alone, which tests nothing between hosts)");
  command->add_option("--level", flags->level, "Level of the checks: quick, standard or full")
      ->capture_default_str()
      ->check(OneOf({"quick", "standard", "full"}));
  AddValue(*command, "--only", "CHECKS", flags->only, "Run only these checks");
  AddValue(*command, "--lease", "TIME", flags->lease,
           "An agent that receives no message for this long ends and cleans up")
      ->capture_default_str();
  command->add_flag("--allow-commands", flags->allow_commands,
                    "Run the commands of the next three options, on this machine");
  AddValue(*command, "--kill-host", "COMMAND", flags->kill_host,
           "Command that powers off the last host at once; {host} is its name in --hosts");
  AddValue(*command, "--restore-host", "COMMAND", flags->restore_host,
           "Command that starts that host and its agent again");
  AddValue(*command, "--restart-server", "COMMAND", flags->restart_server,
           "Command that resets the storage server, so that it loses its memory and restarts");
  AddJsonFlag(*command, flags->json);
  AddFullFlag(*command, flags->full)
      ->description("Print everything (default: what matters most, in at most 40 lines)")
      ->excludes("--json");
  AddOutputFile(*command, "--junit", flags->junit, "Also write the report as JUnit XML");
  AddAccessFlags(*command, flags->run.access);
  command->footer(
      "One verdict per requirement: data write integrity, guaranteed exclusive access, locks released on\n"
      "failure. Exit codes: 0 all PASS; 1 one FAILs; 2 invalid input, or the hosts do not share DIR; 3\n"
      "not decided, or not all tested; 4 an agent could not be reached.\n"
      "Example:\n  plimsoll fsck /mnt/mqha --hosts node[1-2]");
  command->callback([flags, &line] { line.action = [flags, &line] { return FsckMain(*flags, line); }; });
}

}  // namespace plimsoll
