#include "controller/cli/hosts_command.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/terminal_text.h"
#include "common/tls/tls_flags.h"
#include "common/units.h"
#include "controller/cli/agent_list.h"
#include "controller/cli/asked_agents.h"
#include "controller/run/exit_code.h"
#include "controller/run/fleet.h"
#include "controller/run/grpc_agent_client.h"
#include "controller/run/preflight.h"

namespace plimsoll {
namespace {

constexpr int kProbes = 32;

struct HostsFlags {
  std::string hosts;
  std::string hosts_file;
  std::string directory;
  TlsPaths tls;
};

absl::StatusOr<std::vector<std::string>> Addresses(const HostsFlags& flags) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> addresses, ReadAgentList({flags.hosts, flags.hosts_file}));
  if (addresses.empty()) return absl::InvalidArgumentError("name agents with --hosts or --hosts-file");
  return addresses;
}

std::string Microseconds(int64_t ns) {
  return absl::StrFormat("%.1f us", static_cast<double>(ns) / 1e3);
}

// One line, whatever an agent put into it.
void Line(std::ostream& out, const std::string& text) {
  out << SanitizeForTerminal(text) << '\n';
}

void PrintDirectory(const v1::DirectoryDescription& directory, std::ostream& out) {
  if (!directory.error().empty()) {
    Line(out, absl::StrFormat("  %-16s %s: %s", "directory", directory.path(), directory.error()));
    return;
  }
  Line(out, absl::StrFormat("  %-16s %s on %s, %s at %s (%s)", "directory", directory.path(), directory.fs_type(),
                            directory.fs_source(), directory.mount_point(), directory.mount_options()));
  Line(out, absl::StrFormat("  %-16s %s of %s", "free", FormatSizeForPeople(directory.free_bytes()),
                            FormatSizeForPeople(directory.total_bytes())));
  if (!directory.caveat().empty()) {
    Line(out, absl::StrFormat("  %-16s %s", "note", directory.caveat()));
  }
}

// What the agent was started with, as options; "none" where nothing is capped.
std::string LimitsInWords(const v1::AgentLimits& limits) {
  std::string words;
  if (limits.max_bytes() > 0) absl::StrAppend(&words, " --max-bytes ", FormatSize(limits.max_bytes()));
  if (limits.max_writers() > 0) absl::StrAppend(&words, " --max-writers ", limits.max_writers());
  if (limits.max_duration_ns() > 0) {
    absl::StrAppend(&words, " --max-duration ", FormatDuration(limits.max_duration_ns()));
  }
  return words.empty() ? "none" : words.substr(1);
}

void PrintHost(const Host& host, MonotonicNs now, std::ostream& out) {
  const v1::HostDescription& facts = *host.description;
  Line(out, absl::StrFormat("%s (%s)", host.label, host.address));
  Line(out, absl::StrFormat("  %-16s %s, protocol %d", "version", facts.version(), facts.protocol_version()));
  Line(out, absl::StrFormat("  %-16s %s, %d CPUs, %s", "kernel", facts.kernel(), facts.cpus(),
                            FormatSizeForPeople(facts.memory_bytes())));
  Line(out, absl::StrFormat("  %-16s %s", "limits", LimitsInWords(facts.limits())));
  for (const v1::DirectoryDescription& directory : facts.directories()) PrintDirectory(directory, out);
  if (host.clock.empty()) {
    Line(out, absl::StrFormat("  %-16s no answer to the probes", "clock"));
  } else {
    const ClockOffset offset = host.clock.OffsetAtLocal(now.value);
    Line(out, absl::StrFormat("  %-16s offset %.9f s +/- %s, source %s, a read takes %d ns", "clock",
                              static_cast<double>(offset.offset_ns) / 1e9, Microseconds(offset.error_ns),
                              facts.clock_source(), facts.clock_read_ns() / 2));
    Line(out, absl::StrFormat("  %-16s %+.6f s against this host, %s", "wall clock",
                              static_cast<double>(host.wall_difference_ns) / 1e9,
                              facts.time_synchronized()
                                  ? absl::StrCat("synchronised, error at most ",
                                                 Microseconds(static_cast<int64_t>(facts.time_error_ns())))
                                  : "not synchronised"));
    Line(out, absl::StrFormat("  %-16s %s at best", "round trip", Microseconds(host.clock.MinRoundTripNs())));
  }
  if (facts.has_holder()) {
    Line(out, absl::StrFormat("  %-16s %s for %d s (%s)", "busy with", HolderInWords(facts.holder()),
                              facts.holder().age_ns() / 1'000'000'000, facts.holder().doing()));
  }
}

int HostsMain(const HostsFlags& flags, CommandLine& line) {
  const absl::StatusOr<std::vector<std::string>> addresses = Addresses(flags);
  if (!addresses.ok()) {
    return PrintError(line, addresses.status(), Exit::kWrong);
  }
  const absl::StatusOr<std::shared_ptr<const AgentTrust>> trust = AgentTrust::Load(flags.tls);
  if (!trust.ok()) return PrintError(line, trust.status(), Exit::kWrong);
  const SystemClock clock;
  EventQueue events(clock);
  Fleet fleet(
      *addresses, kAskedMaxSlewPpm,
      [&](const std::string& address, AgentListener& listener) {
        return MakeGrpcAgentClient(address, clock, listener, *trust);
      },
      clock, events);
  const std::vector<std::string> directories =
      flags.directory.empty() ? std::vector<std::string>{} : std::vector<std::string>{flags.directory};
  fleet.DescribeAll(std::vector<std::vector<std::string>>(fleet.size(), directories), kAskTimeoutNs);
  fleet.ProbeAll(kProbes, kAskTimeoutNs);
  LabelHosts(fleet.hosts());
  Exit code = Exit::kOk;
  for (const auto& host : fleet.hosts()) {
    if (host->description.ok() && host->description->protocol_version() == 0) {
      code = Exit::kCannotRun;
      PrintError(line, absl::StrCat("agent at ", host->address, ": what answers there is no plimsoll-agent"), code);
    } else if (host->description.ok()) {
      PrintHost(*host, clock.Now(), line.out);
    } else {
      code = Exit::kCannotRun;
      PrintError(line,
                 absl::StrCat("agent at ", host->address, ": ", std::string(host->description.status().message())),
                 code);
    }
  }
  return static_cast<int>(code);
}

}  // namespace

void AddHostsCommand(CLI::App& app, CommandLine& line) {
  auto flags = std::make_shared<HostsFlags>();
  CLI::App* command = app.add_subcommand("hosts", "Show each agent: version, kernel, storage, clock");
  command->add_option("--hosts,HOSTS", flags->hosts, "Agents: a,b:7462,[::1]:7463,node[1-4]")->type_name("LIST");
  command->add_option("--hosts-file", flags->hosts_file, "File with agents, one or more a line, # for comments")
      ->type_name("FILE");
  command->add_option("--dir", flags->directory, "Directory to tell about on each host")->type_name("DIR");
  AddTlsFlags(*command, flags->tls);
  command->footer("Example:\n  plimsoll hosts --hosts node[1-4] --dir /mnt/mqlog");
  command->callback([flags, &line] { line.action = [flags, &line] { return HostsMain(*flags, line); }; });
}

}  // namespace plimsoll
