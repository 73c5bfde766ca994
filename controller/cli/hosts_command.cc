#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/app/agents.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/agent_trust.h"
#include "controller/fleet/exit_code.h"
#include "controller/fleet/fleet.h"
#include "controller/run/preparation.h"
#include "controller/run/process.h"
#include "controller/storage/host_text.h"

namespace plimsoll {
namespace {

constexpr int kProbes = 32;

struct HostsFlags {
  AgentList agents;
  std::string directory;
  AccessFlags access;
};

AskedHost Asked(const Host& host, MonotonicNs now) {
  AskedHost asked{host.label, host.address, *host.description, !host.clock.empty(), 0, 0, 0, 0, "", host.node};
  if (asked.probed) {
    const ClockOffset offset = host.clock.OffsetAtLocal(now.value);
    asked.offset_ns = offset.offset_ns;
    asked.error_ns = offset.error_ns;
    asked.round_trip_ns = host.clock.MinRoundTripNs();
    asked.wall_difference_ns = host.wall_difference_ns;
  }
  if (asked.description.has_holder()) {
    const v1::SessionHolder& holder = asked.description.holder();
    asked.busy_with = absl::StrCat(HolderInWords(holder), " for ",
                                   holder.age_ns() / static_cast<uint64_t>(kNsPerSecond), " s (", holder.doing(), ")");
  }
  return asked;
}

int HostsMain(const HostsFlags& flags, CommandLine& line) {
  if (flags.agents.hosts.empty() && flags.agents.hosts_file.empty() &&
      flags.access.launch.kind().find_hosts == nullptr) {
    return PrintError(line, "name agents with --hosts or --hosts-file", Exit::kWrong);
  }
  const SystemClock clock;
  EventQueue events(clock);
  // Agents that were started on hosts are ended; otherwise there is nothing to end, and Ctrl-C need not wait for an
  // answer.
  std::optional<Interrupts> interrupts;
  if (flags.access.launch.kind().starts_agents()) interrupts.emplace(events);
  AskedAgents agents(clock, events, line.err);
  if (auto failure = agents.Connect(flags.agents, flags.access, {flags.directory}, {kKeepLeftovers}))
    return PrintFailure(line, *failure);
  Fleet& fleet = agents.fleet();
  const std::vector<std::string> directories =
      flags.directory.empty() ? std::vector<std::string>{} : std::vector<std::string>{flags.directory};
  fleet.DescribeAll(std::vector<std::vector<std::string>>(fleet.size(), directories), kAskTimeoutNs);
  fleet.ProbeAll(kProbes, kAskTimeoutNs);
  if (events.interrupts() > 0) return PrintError(line, kInterruptedAsking, Exit::kInconclusive);
  LabelHosts(fleet.hosts());
  Exit code = Exit::kOk;
  for (const HostFailure& failure : agents.not_started()) {
    code = Exit::kCannotRun;
    PrintError(line, failure.line, code);
  }
  std::vector<AskedHost> hosts;
  for (const auto& host : fleet.hosts()) {
    if (host->description.ok() && host->description->protocol_version() == 0) {
      code = Exit::kCannotRun;
      PrintError(line, absl::StrCat(host->address, ": not a Plimsoll agent: check the port"), code);
    } else if (host->description.ok()) {
      hosts.push_back(Asked(*host, clock.Now()));
    } else {
      code = Exit::kCannotRun;
      PrintError(line, UnreachableInWords(host->address, host->description.status()), code);
    }
  }
  for (const std::string& text : TextOfHosts(hosts)) line.out << text << '\n';
  return static_cast<int>(code);
}

}  // namespace

void AddHostsCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<HostsFlags>();
  CLI::App* command = app.add_subcommand("hosts", "Show each host: agent, kernel, storage, clock");
  AddAgentList(*command, flags->agents, "Agents: a,b:7462,[::1]:7463,node[1-4]", "--hosts,HOSTS");
  AddValue(*command, "--dir", "DIR", flags->directory, "Directory to describe on each host");
  AddAccessFlags(*command, flags->access, /*only_asks=*/true);
  command->footer("Example:\n  plimsoll hosts --hosts node[1-4] --dir /mnt/mqlog");
  command->callback([flags, &line] { line.action = [flags, &line] { return HostsMain(*flags, line); }; });
}

namespace {

struct StorageFlags {
  AgentList agents;
  AccessFlags access;
  std::string directory;
  // Busy queue managers write some hundred KiB at a time.
  std::string block_size = "128k";
};

int StorageMain(const StorageFlags& flags, CommandLine& line) {
  const absl::StatusOr<uint64_t> block_size_bytes = ParseSize(flags.block_size);
  if (!block_size_bytes.ok() || *block_size_bytes == 0) {
    return PrintError(line,
                      absl::StrCat("--bsize ", flags.block_size, ": a size such as 128k, the largest write of the log"),
                      Exit::kWrong);
  }
  const SystemClock clock;
  EventQueue events(clock);
  // Agents that were started on hosts are ended; otherwise there is nothing to end, and Ctrl-C need not wait for an
  // answer.
  std::optional<Interrupts> interrupts;
  if (flags.access.launch.kind().starts_agents()) interrupts.emplace(events);
  AskedAgents agents(clock, events, line.err, false, "DIR");
  if (auto failure = agents.Connect(flags.agents, flags.access, {flags.directory}, {kKeepLeftovers}))
    return PrintFailure(line, *failure);
  // A directory on a server that does not answer makes its agent wait; the others are shown.
  Fleet& fleet = agents.fleet();
  const std::vector<std::vector<std::string>> directories(fleet.size(), {agents.directory()});
  if (auto failure = agents.Describe(directories, kAskTimeoutNs, kInterruptedAsking))
    return PrintFailure(line, *failure);
  std::vector<HostDirectory> hosts;
  for (const auto& host : fleet.hosts()) {
    if (host->description.ok()) hosts.push_back({host->label, host->description->directories(0)});
  }
  for (const std::string& text : TextOfStorages(hosts, *block_size_bytes)) line.out << text << '\n';
  line.out.flush();
  if (auto failure = agents.CheckAnswers()) return PrintFailure(line, *failure);
  return static_cast<int>(Exit::kOk);
}

}  // namespace

void AddStorageCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<StorageFlags>();
  CLI::App* command =
      app.add_subcommand("storage", "Show a directory's storage stack and its risks for a recovery log");
  AddValue(*command, "DIR", "", flags->directory, "The directory, as the hosts see it")->required();
  AddAgentList(*command, flags->agents, "Agents (if not given: this machine, with an agent started for it)");
  AddValue(*command, "--bsize", "SIZE", flags->block_size, "Largest write that the log will make")
      ->capture_default_str();
  AddAccessFlags(*command, flags->access, /*only_asks=*/true);
  command->footer(
      "The command writes nothing and examines only the directory's file system.\n"
      "Example:\n  plimsoll storage /mnt/mqlog --hosts node[1-4]");
  command->callback([flags, &line] { line.action = [flags, &line] { return StorageMain(*flags, line); }; });
}

}  // namespace plimsoll
