#include "controller/app/agents.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/plan/host_list.h"
#include "controller/plan/yaml_tree.h"
#include "controller/render/plain_text.h"
#include "controller/run/preparation.h"

namespace plimsoll {
namespace {

// Drift allowed for between a host's clock and the controller's, in ppm, where there is no plan to set it.
constexpr double kAskedMaxSlewPpm = 500;
// How often a busy agent is asked again, and the longest --wait.
constexpr int64_t kBusyPeriodNs = kNsPerSecond;
constexpr int64_t kLongestWaitNs = 7 * 86'400 * kNsPerSecond;

// Addresses in the order of both, the list's first; none where neither was given. INVALID_ARGUMENT names the item; the
// system's error for the file.
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

// Why a launcher finds no hosts.
Failure LaunchFailure(const absl::Status& status) {
  return {absl::IsInvalidArgument(status) ? Exit::kWrong : Exit::kCannotRun, {std::string(status.message())}};
}

}  // namespace

absl::StatusOr<AgentAccess> LoadAccess(const AccessFlags& flags) {
  PLIMSOLL_RETURN_IF_ERROR(CheckLaunchOptions(flags.launch));
  if (const LauncherKind& kind = flags.launch.kind(); kind.encrypts && flags.tls.given()) {
    return absl::InvalidArgumentError(absl::StrCat("--launch ", kind.name,
                                                   " needs no TLS: its agents listen on no "
                                                   "network; drop --tls-ca, --tls-cert and --tls-key"));
  }
  AgentAccess access{nullptr, flags.launch};
  if (!flags.wait.empty()) {
    const absl::StatusOr<int64_t> wait = ParseDuration(flags.wait);
    if (!wait.ok()) return WithContext("--wait", wait.status());
    if (*wait < kNsPerSecond || *wait > kLongestWaitNs) {
      return absl::InvalidArgumentError(absl::StrCat("--wait: ", flags.wait, " is not a time from 1s to 7d"));
    }
    access.wait_ns = *wait;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(access.trust, AgentTrust::Load(flags.tls));
  return access;
}

absl::Status LocalDirectoryError(const std::string& dir, std::error_code error, const std::string& option) {
  if (error == std::errc::no_such_file_or_directory) {
    return absl::NotFoundError(absl::StrCat(option, ": ", dir, " does not exist; create it or pass another ", option));
  }
  return PosixError(option, dir, error.value());
}

absl::StatusOr<std::string> LocalDirectory(const std::string& dir, const std::string& option) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::canonical(dir, error);
  if (error) return LocalDirectoryError(dir, error, option);
  if (!std::filesystem::is_directory(absolute, error)) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", dir, " is not a directory; pass another ", option));
  }
  return absolute.string();
}

std::optional<Failure> LaunchedAgents::Interrupted(const std::string& text) const {
  return events_.interrupts() > 0 ? std::optional(Failure{Exit::kInconclusive, {text}}) : std::nullopt;
}

std::optional<Failure> LaunchedAgents::Launch(const AgentAccess& access, const std::vector<AgentPlace>& places,
                                              const std::vector<std::string>& arguments, double max_slew_ppm,
                                              const std::string& interrupted) {
  const bool any = !places.front().address.empty();
  const LauncherKind& kind = access.launch.kind(any);
  if (kind.needs_hosts && !any) {
    return Failure{Exit::kWrong, {absl::StrCat("--launch ", kind.name, " needs hosts: name them with --hosts")}};
  }
  auto launcher = kind.make(access.launch, clock_, {say_, [this] { return events_.interrupts(); }});
  if (!launcher.ok()) return Failure{Exit::kWrong, {std::string(launcher.status().message())}};
  launcher_ = *std::move(launcher);
  not_started_ = launcher_->Launch(places, arguments);
  if (auto failure = Interrupted(interrupted)) return failure;
  const std::vector<std::string> names = launcher_->Names();
  if (names.empty()) return AsFailure(not_started_);
  max_slew_ppm_ = max_slew_ppm;
  wait_ns_ = access.wait_ns;
  if (!make_client_) {
    make_client_ = [this, trust = access.trust](const std::string& address, AgentListener& listener) {
      return MakeGrpcAgentClient(launcher_->Target(address), clock_, listener, trust, beside_key_);
    };
  }
  fleet_ = std::make_unique<Fleet>(names, max_slew_ppm, make_client_, clock_, events_);
  const std::map<std::string, std::string> nodes = launcher_->Nodes();
  for (const auto& host : fleet_->hosts()) {
    host->launch = kind.recorded;
    host->launch_words = access.launch.Words();
    if (const auto node = nodes.find(host->address); node != nodes.end()) host->node = node->second;
  }
  return std::nullopt;
}

std::optional<Failure> LaunchedAgents::Describe(const std::vector<std::vector<std::string>>& directories,
                                                int64_t timeout_ns, const std::string& interrupted,
                                                const std::vector<std::vector<std::string>>& files) {
  fleet_->DescribeAll(directories, timeout_ns, files);
  const MonotonicNs give_up = clock_.Now() + wait_ns_;
  std::set<std::string> shown;
  while (events_.interrupts() == 0 && clock_.Now() < give_up && ShowBusy(give_up - clock_.Now(), shown)) {
    const MonotonicNs again = std::min(clock_.Now() + kBusyPeriodNs, give_up);
    // What comes meanwhile is of calls that have ended.
    while (events_.interrupts() == 0 && clock_.Now() < again) events_.TakeUntil(again);
    if (events_.interrupts() == 0) fleet_->DescribeAll(directories, timeout_ns, files);
  }
  if (auto failure = Interrupted(interrupted)) return failure;
  LabelHosts(fleet_->hosts());
  return std::nullopt;
}

bool LaunchedAgents::ShowBusy(int64_t left_ns, std::set<std::string>& shown) const {
  bool any = false;
  for (const auto& host : fleet_->hosts()) {
    if (!host->description.ok() || !host->description->has_holder()) continue;
    any = true;
    const v1::SessionHolder& holder = host->description->holder();
    if (!shown.insert(absl::StrCat(host->address, " ", holder.run_id())).second) continue;
    say_(SanitizeForTerminal(absl::StrCat(
        "waiting for ", host->address, ", at most ", TimeLeft(left_ns), ": ", HolderInWords(holder),
        " has held it for ", holder.age_ns() / static_cast<uint64_t>(kNsPerSecond), " s (", holder.doing(), ")")));
  }
  return any;
}

absl::StatusOr<v1::HostDescription> LaunchedAgents::Ask(const std::string& address, int64_t timeout_ns) const {
  EventQueue events(clock_);
  Fleet fleet({address}, max_slew_ppm_, make_client_, clock_, events);
  fleet.DescribeAll({{}}, timeout_ns);
  return fleet.host(0).description;
}

std::vector<std::string> LaunchedAgents::End() {
  if (launcher_ == nullptr) return {};
  std::set<std::string> lost;
  if (fleet_ != nullptr) {
    for (const auto& host : fleet_->hosts()) {
      if (host->lost()) lost.insert(host->address);
    }
  }
  return launcher_->End(lost);
}

AskedAgents::AskedAgents(const Clock& clock, EventQueue& events, std::ostream& err, bool quiet, std::string option)
    : LaunchedAgents(clock, events,
                     [&err, quiet](const std::string& text) {
                       if (!quiet) err << text << std::endl;
                     }),
      err_(err),
      option_(std::move(option)) {}

AskedAgents::~AskedAgents() {
  fleet_.reset();
  for (const std::string& note : End()) err_ << "plimsoll: " << SanitizeForTerminal(note) << std::endl;
}

std::optional<Failure> AskedAgents::Connect(const AgentList& list, const AccessFlags& flags,
                                            const std::vector<std::string>& directories,
                                            const std::vector<std::string>& arguments) {
  auto addresses = ReadAgentList(list);
  if (!addresses.ok()) return Failure{Exit::kWrong, {std::string(addresses.status().message())}};
  auto access = LoadAccess(flags);
  if (!access.ok()) return Failure{Exit::kWrong, {std::string(access.status().message())}};
  if (const LauncherKind& kind = access->launch.kind(); addresses->empty() && kind.find_hosts != nullptr) {
    addresses = kind.find_hosts(access->launch);
    if (!addresses.ok()) return LaunchFailure(addresses.status());
  }
  directory_ = directories.front();
  // Launch refuses a list without hosts where the launcher needs them.
  if (addresses->empty() && !access->launch.kind(false).needs_hosts) {
    absl::StatusOr<std::string> absolute = LocalDirectory(directory_, option_);
    if (!absolute.ok()) return Failure{Exit::kWrong, {std::string(absolute.status().message())}};
    directory_ = *std::move(absolute);
  }
  if (addresses->empty()) addresses->emplace_back();
  std::vector<AgentPlace> places;
  for (size_t i = 0; i < addresses->size(); ++i) {
    const std::string& directory = directories.size() > 1 ? directories[i] : directory_;
    places.push_back({(*addresses)[i], {}});
    if (!directory.empty()) places.back().roots.push_back({directory, option_});
  }
  return Launch(*access, places, arguments, kAskedMaxSlewPpm, "interrupted while the agents were started");
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
