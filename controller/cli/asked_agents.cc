#include "controller/cli/asked_agents.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "controller/cli/command.h"
#include "controller/plan/host_list.h"
#include "controller/run/agent_client.h"
#include "controller/run/agent_trust.h"

namespace plimsoll {

absl::StatusOr<std::vector<std::string>> ReadAgentList(const AgentList& list) {
  std::vector<std::string> addresses;
  if (!list.hosts.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(addresses, ParseHostList(list.hosts));
  }
  if (!list.hosts_file.empty()) {
    std::ifstream file(list.hosts_file);
    if (!file) return PosixError("--hosts-file", list.hosts_file, errno);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> more, ReadHostsFile(text, list.hosts_file));
    addresses.insert(addresses.end(), more.begin(), more.end());
  }
  return addresses;
}

std::optional<Failure> AskedAgents::Connect(const AgentList& list, const TlsPaths& tls, const std::string& directory,
                                            const std::vector<std::string>& child_arguments) {
  auto addresses = ReadAgentList(list);
  if (!addresses.ok()) return Failure{Exit::kWrong, {std::string(addresses.status().message())}};
  const auto trust = AgentTrust::Load(tls);
  if (!trust.ok()) return Failure{Exit::kWrong, {std::string(trust.status().message())}};
  directory_ = directory;
  if (addresses->empty()) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::canonical(directory_, error);
    if (error) {
      return Failure{Exit::kWrong, {std::string(LocalDirectoryError(directory_, error).message())}};
    }
    directory_ = absolute.string();
    auto child = ChildAgent::Start(directory_, child_arguments);
    if (!child.ok()) return Failure{Exit::kCannotRun, {std::string(child.status().message())}};
    child_ = *std::move(child);
    addresses->push_back(child_->address());
  }
  make_client_ = [this, trust = *trust](const std::string& address, AgentListener& listener) {
    return MakeGrpcAgentClient(address, clock_, listener, trust);
  };
  fleet_ = std::make_unique<Fleet>(*addresses, kAskedMaxSlewPpm, make_client_, clock_, events_);
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
  for (const auto& host : fleet_->hosts()) {
    if (!host->description.ok()) {
      unreachable.lines.push_back(UnreachableInWords(host->address, host->description.status()));
    } else if (const std::string& error = host->description->directories(0).error(); !error.empty()) {
      wrong.lines.push_back(DirectoryInWords(host->label, error));
    }
  }
  if (!unreachable.lines.empty()) return unreachable;
  if (!wrong.lines.empty()) return wrong;
  return std::nullopt;
}

}  // namespace plimsoll
