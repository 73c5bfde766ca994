#include "controller/cli/asked_agents.h"

#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/cli/command.h"
#include "controller/fleet/agent_client.h"
#include "controller/fleet/agent_trust.h"
#include "controller/plan/host_list.h"
#include "controller/plan/yaml_tree.h"

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
  std::vector<std::string> names;
  std::vector<std::string> helps;
  for (const LauncherKind* kind : kLaunchers) {
    names.emplace_back(kind->name);
    helps.emplace_back(kind->help);
  }
  app.add_option("--launch", flags.launch.how, "How agents are started: " + absl::StrJoin(helps, ", or "))
      ->type_name("HOW")
      ->group("Agents")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
  for (const LauncherKind* kind : kLaunchers) {
    for (const LaunchOption& option : kind->options) {
      const auto [value, is_new] = flags.launch.values.emplace(option.name, option.preset);
      if (!is_new) continue;
      std::string& text = value->second;
      CLI::Option* added = option.type == nullptr
                               ? app.add_flag_callback(
                                     option.name, [&text] { text = "true"; }, option.help)
                               : app.add_option(option.name, text, option.help)->type_name(option.type);
      added->group("Agents");
      if (!text.empty()) added->capture_default_str();
    }
  }
}

absl::StatusOr<AgentAccess> LoadAccess(const AccessFlags& flags) {
  PLIMSOLL_RETURN_IF_ERROR(CheckLaunchOptions(flags.launch));
  if (const LauncherKind& kind = flags.launch.kind(); kind.encrypts && flags.tls.given()) {
    return absl::InvalidArgumentError(absl::StrCat("--launch ", kind.name, " needs no TLS, ", kind.name,
                                                   " encrypts: drop --tls-ca, --tls-cert and --tls-key"));
  }
  AgentAccess access{nullptr, flags.launch};
  PLIMSOLL_ASSIGN_OR_RETURN(access.trust, AgentTrust::Load(flags.tls));
  return access;
}

absl::StatusOr<std::unique_ptr<Launcher>> LauncherFor(const AgentAccess& access, bool any, const Clock& clock,
                                                      const EventQueue& events,
                                                      std::function<void(const std::string&)> say) {
  const LauncherKind& kind = access.launch.kind(any);
  if (kind.needs_hosts && !any) {
    return absl::InvalidArgumentError(absl::StrCat("--launch ", kind.name, " needs hosts: name them with --hosts"));
  }
  return kind.make(access.launch, clock, {std::move(say), [&events] { return events.interrupts(); }});
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
