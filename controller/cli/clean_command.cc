#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/agents.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/render/plain_text.h"
#include "controller/run/cleaner.h"
#include "controller/run/process.h"
#include "controller/run/run_records.h"

namespace plimsoll {
namespace {

// Agents are asked, and answer heartbeats, within this.
constexpr int64_t kLeaseNs = 10 * kNsPerSecond;

struct CleanFlags {
  AgentList agents;
  AccessFlags access;
  std::vector<std::string> directories;
  std::string run_id;
  bool yes = false;
};

// In whole units, the largest that gives a number: "3 d", "12 s".
std::string AgeInWords(int64_t age_ns) {
  const int64_t seconds = age_ns / kNsPerSecond;
  if (seconds < 60) return absl::StrCat(seconds, " s");
  if (seconds < 3600) return absl::StrCat(seconds / 60, " min");
  if (seconds < 2 * 86400) return absl::StrCat(seconds / 3600, " h");
  return absl::StrCat(seconds / 86400, " d");
}

std::string OwnerInWords(const v1::RunDirectoryDescription& directory) {
  std::string words;
  switch (directory.owner()) {
    case v1::RUN_DIRECTORY_OWNER_THIS_AGENT:
      words = "this agent";
      break;
    case v1::RUN_DIRECTORY_OWNER_OTHER_AGENT:
      words = "another agent";
      break;
    default:
      words = absl::StrCat("unknown: ", directory.note());
      break;
  }
  if (directory.in_use()) absl::StrAppend(&words, ", in use");
  if (directory.kept()) absl::StrAppend(&words, ", kept");
  if (directory.shared()) absl::StrAppend(&words, ", shared");
  return words;
}

// Why `plimsoll clean --yes` leaves a directory that it may not remove, and what removes it; empty where it was kept on
// purpose, and its run is not `named`.
std::string WhyItStays(const v1::RunDirectoryDescription& directory, bool named) {
  if (directory.kept() && !named) return "";
  if (directory.in_use()) return "is in use: it belongs to a run that is still active";
  if (directory.owner() == v1::RUN_DIRECTORY_OWNER_UNKNOWN) {
    return absl::StrCat("has no owner that is known (", directory.note(), "): remove it by hand");
  }
  if (directory.shared()) return "is shared by the hosts of its run: name that run with --run";
  return absl::StrCat(
      "belongs to the agent of ", directory.host_label(),
      ": run `plimsoll clean` with that agent in --hosts, started with the --name and --root that it had");
}

const char* Plural(size_t count) {
  return count == 1 ? "directory" : "directories";
}

// One `plimsoll clean` of one directory, in the order in which it goes.
class Clean {
 public:
  Clean(const CleanFlags& flags, std::string directory, CommandLine& line)
      : flags_(flags), directory_(std::move(directory)), line_(line) {}

  int Execute() {
    if (auto failure = Connect()) return PrintFailure(line_, *failure);
    const std::vector<FoundRun> found = Chosen();
    if (found.empty()) {
      if (!flags_.run_id.empty() && !flags_.yes) {
        return PrintError(line_,
                          absl::StrCat("no directory of run ", flags_.run_id, " exists in ", agents_.directory(),
                                       ": plimsoll clean without --run lists what is there"),
                          Exit::kWrong);
      }
      line_.out << (flags_.run_id.empty() ? "No run has left anything in "
                                          : absl::StrCat("No directory of run ", flags_.run_id, " is in "))
                << agents_.directory() << ".\n";
      return static_cast<int>(Exit::kOk);
    }
    Print(found);
    std::vector<size_t> hosts;
    size_t removable = 0;
    uint64_t bytes = 0;
    for (const FoundRun& run : found) {
      if (!MayClean(run.directory, flags_.run_id)) {
        const std::string why = WhyItStays(run.directory, !flags_.run_id.empty());
        if (!why.empty()) staying_.push_back(absl::StrCat(run.directory.path(), " ", why));
        continue;
      }
      ++removable;
      bytes += run.directory.bytes();
      if (hosts.empty() || hosts.back() != run.host) hosts.push_back(run.host);
    }
    if (!flags_.yes) return Announce(removable, bytes);
    for (const std::string& text : staying_) PrintError(line_, text, Exit::kInconclusive);
    Exit code = staying_.empty() ? Exit::kOk : Exit::kInconclusive;
    if (removable > 0) code = std::max(code, Remove(hosts));
    if (removable == 0 && staying_.empty()) line_.out << "Nothing was removed: what is kept needs --run ID.\n";
    return static_cast<int>(code);
  }
  bool interrupted() const { return events_.interrupts() > 0; }

 private:
  std::optional<Failure> Connect() {
    // Listing must not remove: by default a child cleans up when it starts.
    if (auto failure = agents_.Connect(flags_.agents, flags_.access, {directory_}, {kKeepLeftovers})) return failure;
    agents_.fleet().ListRunDirectories(agents_.directory(), kLeaseNs);
    if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted: nothing was removed"}};
    LabelHosts(agents_.fleet().hosts());
    return agents_.CheckAnswers();
  }

  std::vector<FoundRun> Chosen() {
    std::vector<FoundRun> found = FoundRuns(agents_.fleet().hosts());
    if (flags_.run_id.empty()) return found;
    std::erase_if(found, [this](const FoundRun& run) { return run.directory.run_id() != flags_.run_id; });
    return found;
  }

  void Print(const std::vector<FoundRun>& found) {
    std::vector<std::vector<std::string>> rows = {{"agent", "run", "host", "age", "files", "size", "owner"}};
    for (const FoundRun& run : found) {
      const v1::RunDirectoryDescription& directory = run.directory;
      rows.push_back({SanitizeForTerminal(agents_.fleet().host(run.host).label),
                      SanitizeForTerminal(directory.run_id()), SanitizeForTerminal(directory.host_label()),
                      AgeInWords(directory.age_ns()), FormatCount(directory.files()),
                      FormatSizeForPeople(directory.bytes()), SanitizeForTerminal(OwnerInWords(directory))});
    }
    for (const std::string& text : AlignColumns(rows, "lllrrrl")) line_.out << text << '\n';
  }

  int Announce(size_t removable, uint64_t bytes) const {
    if (removable > 0) {
      line_.out << absl::StrFormat("%d %s with %s can be removed: add --yes. Nothing was touched.\n", removable,
                                   Plural(removable), FormatSizeForPeople(bytes));
      return static_cast<int>(Exit::kOk);
    }
    line_.out << "Nothing here can be removed: a directory in use belongs to its run, a kept or shared one needs --run "
                 "ID,\nand one of another agent needs that agent (its --name and --root).\n";
    return static_cast<int>(Exit::kOk);
  }

  Exit Remove(const std::vector<size_t>& hosts) {
    const std::vector<CleanAnswer> answers =
        CleanHosts(agents_.fleet(), hosts, agents_.directory(), flags_.run_id, NewRunId(), kLeaseNs, clock_, events_);
    // Two agents that remove a shared directory at once may each find the other at it.
    std::set<std::string> removed;
    for (const CleanAnswer& answer : answers) {
      for (const v1::CleanedDirectory& cleaned : answer.cleaned) {
        if (cleaned.left().empty()) removed.insert(cleaned.path());
      }
    }
    Exit code = Exit::kOk;
    for (size_t i = 0; i < hosts.size(); ++i) {
      const std::string& label = agents_.fleet().host(hosts[i]).label;
      for (const v1::CleanedDirectory& cleaned : answers[i].cleaned) {
        if (cleaned.left().empty()) {
          line_.out << SanitizeForTerminal(absl::StrFormat("%s: removed %s (%s files, %s)", label, cleaned.path(),
                                                           FormatCount(cleaned.removed_files()),
                                                           FormatSizeForPeople(cleaned.removed_bytes())))
                    << '\n';
          continue;
        }
        if (removed.contains(cleaned.path())) continue;
        code = std::max(code, Exit::kInconclusive);
        PrintError(line_, absl::StrCat(label, ": ", cleaned.path(), " remains: ", cleaned.left()), code);
      }
      if (!answers[i].status.ok()) {
        code = std::max(code, absl::IsCancelled(answers[i].status) ? Exit::kInconclusive : Exit::kCannotRun);
        PrintError(line_, absl::StrCat(label, ": ", std::string(answers[i].status.message())), code);
      }
    }
    return code;
  }

  const CleanFlags& flags_;
  const std::string directory_;
  CommandLine& line_;
  const SystemClock clock_;
  EventQueue events_{clock_};
  const Interrupts interrupts_{events_};
  AskedAgents agents_{clock_, events_, line_.err};
  // What stays, and why.
  std::vector<std::string> staying_;
};

int CleanMain(const CleanFlags& flags, CommandLine& line) {
  if (!flags.run_id.empty() && !IsRunId(flags.run_id)) {
    return PrintError(line,
                      absl::StrCat("--run ", flags.run_id,
                                   " is not a run id: lower-case hexadecimal digits, as in plimsoll-<run id>"),
                      Exit::kWrong);
  }
  int worst = static_cast<int>(Exit::kOk);
  for (const std::string& directory : flags.directories) {
    Clean clean(flags, directory, line);
    worst = std::max(worst, clean.Execute());
    if (clean.interrupted()) break;
  }
  return worst;
}

}  // namespace

void AddCleanCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<CleanFlags>();
  CLI::App* command = app.add_subcommand("clean", "List and remove leftovers of runs");
  AddAgentList(*command, flags->agents, "Agents (if not given: this machine, with an agent started for it)");
  AddValue(*command, "--dir", "DIR", flags->directories,
           "Directory of the runs, as the hosts see it; repeat for several")
      ->required()
      ->allow_extra_args(false);
  AddValue(*command, "--run", "ID", flags->run_id, "Remove this run only, including kept and shared files");
  command->add_flag("--yes", flags->yes, "Remove the leftovers; without it nothing is changed");
  AddAccessFlags(*command, flags->access, /*only_asks=*/true);
  command->footer(
      "Each agent removes only its own directories that are not in use; shared directories only with "
      "--run.\n"
      "Exit codes: 0 listed, or with --yes nothing is left but what is kept on purpose; 2 invalid input;\n"
      "3 something could not be removed, or interrupted; 4 an agent did not answer.\n"
      "Example:\n  plimsoll clean --hosts node[1-4] --dir /mnt/mqlog --yes");
  command->callback([flags, &line] { line.action = [flags, &line] { return CleanMain(*flags, line); }; });
}

}  // namespace plimsoll
