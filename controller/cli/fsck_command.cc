#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/command_line/command_line.h"
#include "common/posix.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/analysis/host_facts.h"
#include "controller/cli/asked_agents.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/cli/outputs.h"
#include "controller/cli/run_command.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/fsck/checks.h"
#include "controller/fsck_course/fsck_course.h"
#include "controller/journal/results.h"
#include "controller/plan/accept_plan.h"
#include "controller/plan/ha_plan.h"
#include "controller/render/json.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

constexpr uint32_t kCheckReportFormat = 1;
// Before the checks; while they run, clocks are asked all the time.
constexpr int kFirstProbes = 20;

struct FsckFlags {
  AgentList agents;
  AccessFlags access;
  std::string directory;
  std::string directory_option = "DIR";
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
  bool quiet = false;
};

using FaultCommands = std::map<FsckField::Fault, std::vector<std::string>>;

absl::StatusOr<FaultCommands> CommandsOf(const FsckFlags& flags) {
  FaultCommands commands;
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

std::set<std::string> Only(const FsckFlags& flags) {
  const std::vector<std::string> names = absl::StrSplit(flags.only, ',', absl::SkipEmpty());
  return {names.begin(), names.end()};
}

Exit ExitOf(const v1::CheckReport& report) {
  switch (report.verdict()) {
    case v1::CHECK_VERDICT_PASS:
      return Exit::kOk;
    case v1::CHECK_VERDICT_FAIL:
      return Exit::kFailed;
    default:
      return Exit::kInconclusive;
  }
}

// One `plimsoll fsck`, in the order in which it goes.
class Fsck {
 public:
  // `finish` takes the report in place of standard output; empty: it is printed. `end`: of a part; null: there is none.
  // `events` gets the interrupts.
  Fsck(const FsckFlags& flags, FaultCommands commands, int64_t lease_ns, CommandLine& line, EventQueue& events,
       std::function<void(const v1::CheckReport&)> finish = {}, PartEnd* end = nullptr)
      : flags_(flags),
        commands_(std::move(commands)),
        lease_ns_(lease_ns),
        line_(line),
        finish_(std::move(finish)),
        end_(end),
        events_(events) {}

  int Execute() {
    if (auto failure = Connect(); failure.has_value()) return Fail(*failure);
    const v1::CheckLevel level = LevelOf(flags_.level);
    FsckCourse course({.fleet = &agents_.fleet(),
                       .events = &events_,
                       .clock = &clock_,
                       .directory = agents_.directory(),
                       .run_id = NewRunId(),
                       .run_token = NewRunToken(),
                       .lease_ns = lease_ns_,
                       .files = CatalogFiles(),
                       .processes = CatalogProcesses(level),
                       .commands = commands_,
                       .describe = [this](const std::string& address, int64_t timeout_ns) {
                         return agents_.Ask(address, timeout_ns);
                       }});
    const WallNs begin = clock_.WallNow();
    const MonotonicNs begin_ns = clock_.Now();
    if (auto failure = course.Begin(); failure.has_value()) return Fail(*failure);
    v1::CheckReport report;
    report.set_format(kCheckReportFormat);
    report.set_run_id(course.run_id());
    report.set_directory(agents_.directory());
    report.set_level(level);
    report.mutable_start()->set_seconds(begin.value / kNsPerSecond);
    report.mutable_start()->set_nanos(static_cast<int32_t>(begin.value % kNsPerSecond));
    for (v1::CheckResult& result : RunChecks(course, level, Only(flags_), [this](const CatalogEntry& entry) {
           if (!flags_.quiet) line_.err << "checking " << entry.name << '\n' << std::flush;
         })) {
      *report.add_checks() = std::move(result);
    }
    const std::vector<std::string> left = course.End();
    if (course.left()) return static_cast<int>(Exit::kLeft);
    report.set_duration_ns(clock_.Now() - begin_ns);
    DescribeHosts(report);
    for (const std::string& loss : course.losses()) report.add_notes(absl::StrCat("ended early: ", loss));
    if (course.interrupted()) report.add_notes("ended early: interrupted");
    for (const std::string& each : left) report.add_notes(each);
    JudgeChecks(Untested(course, report), report);
    if (!finish_) return Print(report);
    finish_(report);
    return static_cast<int>(ExitOf(report));
  }

 private:
  int Fail(const Failure& failure) {
    if (end_ != nullptr) end_->errors = failure.lines;
    return PrintFailure(line_, failure);
  }

  std::optional<Failure> Connect() {
    if (auto failure = agents_.Connect(flags_.agents, flags_.access, {flags_.directory}); failure.has_value()) {
      return failure;
    }
    Fleet& fleet = agents_.fleet();
    if (fleet.size() > kMostCheckedHosts) {
      return Failure{Exit::kWrong,
                     {absl::StrCat("--hosts: fsck checks at most ", kMostCheckedHosts, " hosts at once, not ",
                                   fleet.size(), "; name fewer")}};
    }
    fleet.DescribeAll(std::vector<std::vector<std::string>>(fleet.size(), {agents_.directory()}), kAskTimeoutNs);
    if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was checked"}};
    LabelHosts(fleet.hosts());
    if (auto failure = agents_.CheckAnswers(); failure.has_value()) return failure;
    std::map<std::string, std::string> addresses;  // by the agent's instance
    for (const auto& host : fleet.hosts()) {
      const auto [first, added] = addresses.emplace(host->description->instance_id(), host->address);
      if (!added) {
        return Failure{Exit::kWrong,
                       {absl::StrCat(first->second, " and ", host->address, " are the same agent: name it once")}};
      }
    }
    fleet.ProbeAll(kFirstProbes, kAskTimeoutNs);
    return std::nullopt;
  }

  void DescribeHosts(v1::CheckReport& report) {
    for (const auto& host : agents_.fleet().hosts()) {
      const v1::HostDescription& description = *host->description;
      const v1::DirectoryDescription& directory = description.directories(0);
      v1::CheckHost& described = *report.add_hosts();
      CopySharedFields(description, described);
      CopySharedFields(directory, described);
      described.set_label(host->label);
      described.set_address(host->address);
    }
  }

  // What keeps every requirement from PASS: checks that ran between fewer than two kernels.
  static std::vector<std::string> Untested(const FsckCourse& course, v1::CheckReport& report) {
    if (course.hosts() < 2) return {"one host alone: nothing was tested between hosts"};
    std::set<std::string> kernels;
    std::vector<std::string> labels;
    for (const v1::CheckHost& host : report.hosts()) {
      kernels.insert(host.boot_id());
      labels.push_back(host.label());
    }
    if (kernels.size() == 1) {
      return {absl::StrCat(absl::StrJoin(labels, ", "), " share one kernel: nothing was tested between hosts")};
    }
    if (kernels.size() < course.hosts()) {
      report.add_notes("some agents share a kernel; checks between them prove nothing about hosts");
    }
    return {};
  }

  int Print(const v1::CheckReport& report) {
    line_.out << (flags_.json
                      ? RenderJson(report)
                      : PaintVerdicts(flags_.full ? RenderFsckText(report) : RenderFsckBrief(report), line_.color_out))
              << std::flush;
    if (!WroteOutput(line_)) return static_cast<int>(Exit::kWrong);
    if (!flags_.junit.empty()) {
      if (const absl::Status written = WriteFile(flags_.junit, RenderJUnit(report)); !written.ok()) {
        return PrintError(line_, written, Exit::kWrong);
      }
    }
    return static_cast<int>(ExitOf(report));
  }

  const FsckFlags& flags_;
  const FaultCommands commands_;
  const int64_t lease_ns_;
  CommandLine& line_;
  const std::function<void(const v1::CheckReport&)> finish_;
  PartEnd* const end_;
  const SystemClock clock_;
  EventQueue& events_;
  const Interrupts interrupts_{events_};
  AskedAgents agents_{clock_, events_, line_.err, flags_.quiet, flags_.directory_option};
};

int FsckMain(const FsckFlags& flags, CommandLine& line) {
  const absl::StatusOr<int64_t> lease_ns = ParseDuration(flags.lease);
  if (!lease_ns.ok() || *lease_ns < kNsPerSecond || *lease_ns > 3600 * kNsPerSecond) {
    return PrintError(line, absl::StrCat("--lease ", flags.lease, ": a time from 1s to 1h"), Exit::kWrong);
  }
  absl::StatusOr<FaultCommands> commands = CommandsOf(flags);
  if (!commands.ok()) return PrintError(line, commands.status(), Exit::kWrong);
  if (!commands->empty() && !flags.allow_commands) {
    return PrintError(line,
                      absl::StrCat(FaultOption(commands->begin()->first), ": commands run only with --allow-commands"),
                      Exit::kWrong);
  }
  if (!commands->empty() && LevelOf(flags.level) != v1::CHECK_LEVEL_FULL) {
    return PrintError(line, absl::StrCat(FaultOption(commands->begin()->first), ": needs --level full"), Exit::kWrong);
  }
  for (const std::string& name : Only(flags)) {
    const auto& catalog = FsckCatalog();
    const auto named =
        std::find_if(catalog.begin(), catalog.end(), [&](const auto& entry) { return entry.name == name; });
    if (named == catalog.end()) {
      return PrintError(line, absl::StrCat("--only: unknown check '", name, "'; docs/fsck.md lists the checks"),
                        Exit::kWrong);
    }
    if (named->level > LevelOf(flags.level)) {
      return PrintError(line, absl::StrCat("--only: ", name, " needs --level ", LevelName(named->level)), Exit::kWrong);
    }
  }
  if (const LauncherKind& kind = flags.access.launch.kind(); !kind.survives_reboot && !flags.kill_host.empty()) {
    return PrintError(line,
                      absl::StrCat("--kill-host ends the agent that --launch ", kind.name,
                                   " has started, and nothing starts it again: install agents as a service for it"),
                      Exit::kWrong);
  }
  if (const absl::Status status = WriteUnfinishedJUnit(flags.junit); !status.ok()) {
    return PrintError(line, status, Exit::kWrong);
  }
  const SystemClock clock;
  EventQueue events(clock);
  return Fsck(flags, *std::move(commands), *lease_ns, line, events).Execute();
}

}  // namespace

int RunQuickChecks(const QuickChecks& checks, CommandLine& line, PartEnd& end) {
  FsckFlags flags;
  flags.agents = checks.agents;
  flags.access = checks.access;
  flags.directory = checks.directory;
  flags.directory_option = "--dir";
  flags.quiet = checks.quiet;
  const SystemClock clock;
  EventQueue events(clock);
  const int code = Fsck(flags, {}, checks.lease_ns, line, events, checks.finish, &end).Execute();
  // Its agents have ended by now: an interrupt that came meanwhile counts, too.
  end.interrupted = events.interrupts() > 0;
  return code;
}

void AddFsckCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<FsckFlags>();
  CLI::App* command = app.add_subcommand("fsck", "Check a shared file system for multi-instance queue managers");
  command->add_option("DIR", flags->directory, "The shared directory, as the hosts see it")->required()->type_name("");
  command
      ->add_option("--hosts", flags->agents.hosts,
                   "Agents, at least two (default: this machine alone, which tests nothing between hosts)")
      ->type_name("LIST");
  command
      ->add_option("--hosts-file", flags->agents.hosts_file, "File with agents, one or more per line, # for comments")
      ->type_name("FILE");
  command->add_option("--level", flags->level, "Level of the checks: quick, standard or full")
      ->capture_default_str()
      ->check(CLI::IsMember({"quick", "standard", "full"}));
  command->add_option("--only", flags->only, "Run only these checks")->type_name("CHECKS");
  command->add_option("--lease", flags->lease, "An agent that receives no message for this long ends and cleans up")
      ->capture_default_str()
      ->type_name("TIME");
  command->add_flag("--allow-commands", flags->allow_commands,
                    "Run the commands of the next three options, on this machine");
  command
      ->add_option("--kill-host", flags->kill_host,
                   "Command that powers off the last host at once; {host} is its name in --hosts")
      ->type_name("COMMAND");
  command->add_option("--restore-host", flags->restore_host, "Command that starts that host and its agent again")
      ->type_name("COMMAND");
  command
      ->add_option("--restart-server", flags->restart_server,
                   "Command that resets the storage server, so that it loses its memory and restarts")
      ->type_name("COMMAND");
  command->add_flag("--json", flags->json, "Print the report as JSON instead of text");
  AddFullFlag(*command, flags->full)
      ->description("Print everything (default: what matters most, in at most 40 lines)")
      ->excludes("--json");
  AddOutputFile(*command, "--junit", flags->junit, "Also write the report as JUnit XML");
  AddAccessFlags(*command, flags->access);
  command->footer(
      "One verdict per requirement: data write integrity, guaranteed exclusive access, locks released on\n"
      "failure. Exit codes: 0 all PASS; 1 one FAILs; 2 invalid input, or the hosts do not share DIR; 3\n"
      "not decided, or not all tested; 4 an agent could not be reached.\n"
      "Example:\n  plimsoll fsck /mnt/mqha --hosts node[1-2]");
  command->callback([flags, &line] { line.action = [flags, &line] { return FsckMain(*flags, line); }; });
}

}  // namespace plimsoll
