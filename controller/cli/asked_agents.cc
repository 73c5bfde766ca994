#include "controller/cli/asked_agents.h"

#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/cli/command.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/agent_trust.h"
#include "controller/plan/host_list.h"

namespace plimsoll {

absl::StatusOr<std::vector<std::string>> ReadAgentList(const AgentList& list) {
  std::vector<std::string> addresses;
  if (!list.hosts.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(addresses, ParseHostList(list.hosts));
  }
  if (!list.hosts_file.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                              ReadFile(list.hosts_file, kMaxHostsFileBytes, FileKind::kAny, "--hosts-file"));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> more, ReadHostsFile(text, list.hosts_file));
    addresses.insert(addresses.end(), more.begin(), more.end());
  }
  return addresses;
}

void AddAccessFlags(CLI::App& app, AccessFlags& flags) {
  AddTlsFlags(app, flags.tls);
  LaunchOptions& launch = flags.launch;
  const auto add = [&app](const char* name, std::string& value, const std::string& help, const char* type) {
    return app.add_option(name, value, help)->type_name(type)->group("Agents");
  };
  add("--launch", launch.how, "How agents are started: none (they already run on the hosts), or ssh", "HOW")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "ssh"}));
  add("--ssh-command", launch.ssh_command, "OpenSSH client with its options; quotes group words", "COMMAND")
      ->capture_default_str();
  add("--launch-agent", launch.agent_file,
      "Agent program to copy to hosts without this version (default: the plimsoll-agent beside this program)", "FILE");
  add("--launch-cache", launch.cache,
      "Directory on the hosts in which the copy is cached (default: plimsoll in $XDG_CACHE_HOME or ~/.cache)", "DIR");
  app.add_flag("--no-copy", launch.no_copy, "Do not copy the agent: every host must have it in its cache")
      ->group("Agents");
  app.add_flag("--launch-clean", launch.clean, "Remove the agent from the hosts' caches at the end")->group("Agents");
}

absl::StatusOr<AgentAccess> LoadAccess(const AccessFlags& flags) {
  PLIMSOLL_RETURN_IF_ERROR(CheckLaunchOptions(flags.launch));
  if (flags.launch.ssh() && flags.tls.given()) {
    return absl::InvalidArgumentError(
        "--launch ssh needs no TLS, ssh encrypts: drop --tls-ca, --tls-cert and --tls-key");
  }
  AgentAccess access{nullptr, flags.launch};
  PLIMSOLL_ASSIGN_OR_RETURN(access.trust, AgentTrust::Load(flags.tls));
  return access;
}

absl::StatusOr<std::unique_ptr<Launcher>> LauncherFor(const AgentAccess& access, bool any, const Clock& clock,
                                                      const EventQueue& events,
                                                      std::function<void(const std::string&)> say) {
  if (any) {
    return MakeLauncher(access.launch, clock, {std::move(say), [&events] { return events.interrupts(); }});
  }
  if (access.launch.ssh()) return absl::InvalidArgumentError("--launch ssh needs hosts: name them with --hosts");
  return ChildLauncher();
}

AskedAgents::~AskedAgents() {
  fleet_.reset();
  if (launcher_ == nullptr) return;
  for (const std::string& note : launcher_->End({})) err_ << "plimsoll: " << SanitizeForTerminal(note) << std::endl;
}

std::optional<Failure> AskedAgents::Connect(const AgentList& list, const AccessFlags& flags,
                                            const std::vector<std::string>& directories,
                                            const std::vector<std::string>& arguments) {
  auto addresses = ReadAgentList(list);
  if (!addresses.ok()) return Failure{Exit::kWrong, {std::string(addresses.status().message())}};
  auto access = LoadAccess(flags);
  if (!access.ok()) return Failure{Exit::kWrong, {std::string(access.status().message())}};
  directory_ = directories.front();
  auto launcher = LauncherFor(*access, !addresses->empty(), clock_, events_, [this](const std::string& text) {
    if (!quiet_) err_ << text << std::endl;
  });
  if (!launcher.ok()) return Failure{Exit::kWrong, {std::string(launcher.status().message())}};
  launcher_ = *std::move(launcher);
  if (addresses->empty()) {
    absl::StatusOr<std::string> absolute = LocalDirectory(directory_, option_);
    if (!absolute.ok()) return Failure{Exit::kWrong, {std::string(absolute.status().message())}};
    directory_ = *std::move(absolute);
    addresses->emplace_back();
  }
  std::vector<AgentPlace> places;
  for (size_t i = 0; i < addresses->size(); ++i) {
    const std::string& directory = directories.size() > 1 ? directories[i] : directory_;
    places.push_back({(*addresses)[i], {}});
    if (!directory.empty()) places.back().roots.push_back({directory, option_});
  }
  not_started_ = launcher_->Launch(places, arguments);
  if (events_.interrupts() > 0) return Failure{Exit::kInconclusive, {"interrupted while the agents were started"}};
  const std::vector<std::string> names = launcher_->Names();
  if (names.empty()) return AsFailure(not_started_);
  make_client_ = [this, trust = access->trust](const std::string& address, AgentListener& listener) {
    return MakeGrpcAgentClient(launcher_->Target(address), clock_, listener, trust);
  };
  fleet_ = std::make_unique<Fleet>(names, kAskedMaxSlewPpm, make_client_, clock_, events_);
  return std::nullopt;
}

absl::StatusOr<v1::HostDescription> AskedAgents::Ask(const std::string& address, int64_t timeout_ns) const {
  EventQueue events(clock_);
  Fleet fleet({address}, kAskedMaxSlewPpm, make_client_, clock_, events);
  fleet.DescribeAll({{}}, timeout_ns);
  return fleet.host(0).description;
}

std::optional<Failure> AskedAgents::CheckAnswers() const {
  Failure unreachable{Exit::kCannotRun, {}};
  Failure wrong{Exit::kWrong, {}};
  for (const HostFailure& failure : not_started_) {
    (failure.code == Exit::kWrong ? wrong : unreachable).lines.push_back(failure.line);
  }
  for (const auto& host : fleet_->hosts()) {
    if (!host->description.ok()) {
      unreachable.lines.push_back(UnreachableInWords(host->address, host->description.status()));
    } else if (const std::string& error = host->description->directories(0).error(); !error.empty()) {
      wrong.lines.push_back(DirectoryInWords(host->label, error, option_));
    }
  }
  if (!unreachable.lines.empty()) return unreachable;
  if (!wrong.lines.empty()) return wrong;
  return std::nullopt;
}

}  // namespace plimsoll
