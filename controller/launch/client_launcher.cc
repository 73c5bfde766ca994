#include "controller/launch/client_launcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"

namespace plimsoll {
namespace {

// How often times and interrupts are looked at.
constexpr int kTickMs = 50;
constexpr int64_t kReportNs = kNsPerSecond;
// Where nothing changes.
constexpr int64_t kRepeatReportNs = 10 * kNsPerSecond;
// Hosts that a line of progress names.
constexpr size_t kMostNamed = 3;
// For the agents to end and the hosts to clean up; an agent that hangs exits after its own --stop-wait.
constexpr int64_t kEndLimitNs = 20 * kNsPerSecond;
// After which the clients have to go.
constexpr int64_t kKillLimitNs = 2 * kNsPerSecond;
// "/65535.sock" is within a socket's longest path, too.
constexpr size_t kMostDirectory = 80;

// Removes the directory of the sockets once its standard input ends.
constexpr char kRemover[] = "read -r end; rm -f \"$1\"/*.sock; rmdir \"$1\"";

// "node1, node2, node3 and 5 more"
std::string SomeOf(const std::vector<std::string>& names) {
  const size_t named = std::min(names.size(), kMostNamed);
  const std::string text = absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", ");
  return named == names.size() ? text : absl::StrCat(text, " and ", names.size() - named, " more");
}

}  // namespace

absl::Status CheckAgentOptions(const LaunchOptions& options) {
  for (const std::string& option : options.Values(kAgentOption)) {
    if (option.size() > 2 && option.starts_with("--")) continue;
    return absl::InvalidArgumentError(absl::StrCat("--agent-option ", Quoted(option),
                                                   " is not an option of plimsoll-agent, with its value after '=': "
                                                   "write --agent-option=--allow-kept"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Launcher>> ClientLauncher::Create(Setup setup, const Clock& clock, const Watch& watch) {
  auto launcher = std::unique_ptr<ClientLauncher>(new ClientLauncher(std::move(setup), clock, watch));
  PLIMSOLL_RETURN_IF_ERROR(launcher->PrepareDirectory());
  return std::unique_ptr<Launcher>(std::move(launcher));
}

absl::Status ClientLauncher::PrepareDirectory() {
  std::string place = RuntimeDirectory();
  if (place.size() > kMostDirectory) place = "/tmp";
  PLIMSOLL_ASSIGN_OR_RETURN(directory_, MakePrivateDirectory(place));
  PLIMSOLL_ASSIGN_OR_RETURN(
      remover_, PipedProcess::Start({"sh", "-c", kRemover, "sh", directory_}, PipedProcess::Life::kOutlives));
  return absl::OkStatus();
}

ClientLauncher::~ClientLauncher() {
  End({});
  if (remover_ == nullptr) {
    if (!directory_.empty()) rmdir(directory_.c_str());
    return;
  }
  remover_->CloseInput();
  remover_->Wait();
}

std::vector<HostFailure> ClientLauncher::Launch(const std::vector<AgentPlace>& places,
                                                const std::vector<std::string>& arguments) {
  using State = ClientHost::State;
  std::vector<HostFailure> failures;
  for (const AgentPlace& place : places) {
    if (!absl::StartsWith(place.address, "unix:")) continue;
    failures.push_back({place.address, Exit::kWrong,
                        absl::StrCat(place.address, ": --launch ", setup_.name, " takes names of hosts, not sockets")});
  }
  if (!failures.empty()) return failures;
  std::vector<std::string> all_arguments = arguments;
  all_arguments.insert(all_arguments.end(), setup_.arguments.begin(), setup_.arguments.end());
  next_report_ = clock_.Now() + kReportNs;
  // A host whose turn has not come when the user interrupts is not one to be ended.
  for (const AgentPlace& place : places) {
    if (watch_.interrupts() > 0) return failures;
    hosts_.push_back(setup_.make_host(place.address, absl::StrCat(directory_, "/", hosts_.size(), ".sock")));
    roots_[hosts_.back()->name()] = place.roots;
    hosts_.back()->Start(place.roots, all_arguments);
    ServeOnce(0, -1);
  }
  if (!ServeUntil({State::kReady, State::kEnded}, 1)) return failures;
  // Agents end by themselves when no session comes: none may wait for a slow host.
  for (const auto& host : hosts_) {
    if (host->state() == State::kReady) host->Go();
  }
  if (!ServeUntil({State::kUp, State::kEnded}, 1)) return failures;
  for (const auto& host : hosts_) {
    if (host->state() == State::kUp) serving_[host->name()] = host.get();
    if (host->failure().has_value()) failures.push_back(*host->failure());
  }
  StartReading();
  if (setup_.find_nodes && !serving_.empty()) nodes_ = setup_.find_nodes(Names());
  return failures;
}

void ClientLauncher::ServeOnce(int timeout_ms, int stop) {
  const auto needs_time = [](const auto& host) { return host->needs_time(); };
  if (timeout_ms < 0 && std::ranges::any_of(hosts_, needs_time)) timeout_ms = kTickMs;
  std::vector<pollfd> waits;
  std::vector<size_t> counts;
  counts.reserve(hosts_.size());
  for (const auto& host : hosts_) counts.push_back(host->AddWaits(waits));
  waits.push_back({stop, POLLIN, 0});
  if (poll(waits.data(), waits.size(), timeout_ms) < 0) return;
  std::span<const pollfd> found = waits;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i]->Serve(found.first(counts[i]));
    found = found.subspan(counts[i]);
  }
}

bool ClientLauncher::ServeUntil(const std::set<ClientHost::State>& states, int interrupts) {
  while (!std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& host) { return states.contains(host->state()); })) {
    if (watch_.interrupts() >= interrupts) return false;
    ServeOnce(kTickMs, -1);
    Report(clock_.Now());
  }
  return true;
}

void ClientLauncher::Report(MonotonicNs now) {
  if (now < next_report_ || !watch_.say) return;
  next_report_ = now + kReportNs;
  using State = ClientHost::State;
  size_t ready = 0;
  size_t failed = 0;
  std::vector<std::string> connecting;
  std::vector<std::string> starting;
  std::vector<std::string> copying;
  std::vector<size_t> copied;
  for (const auto& host : hosts_) {
    const State state = host->state();
    ready += state == State::kReady || state == State::kUp ? 1U : 0U;
    failed += host->failure().has_value() ? 1U : 0U;
    if (state == State::kConnecting) connecting.push_back(host->name());
    if (state == State::kStarting) starting.push_back(host->name());
    if (state != State::kCopying) continue;
    copying.push_back(host->name());
    copied.push_back(host->copied_bytes());
  }
  if (ready == hosts_.size()) return;
  std::string line = absl::StrCat("starting agents over ", setup_.client, ": ", ready, " of ", hosts_.size(), " ready");
  if (failed > 0) absl::StrAppend(&line, ", ", failed, " failed");
  if (!connecting.empty()) absl::StrAppend(&line, ", ", connecting.size(), " connecting (", SomeOf(connecting), ")");
  if (!starting.empty()) absl::StrAppend(&line, ", ", starting.size(), " starting (", SomeOf(starting), ")");
  if (!copying.empty()) {
    absl::StrAppend(&line, ", copying to ", copying.size(), " (", SomeOf(copying), "; the slowest has ",
                    FormatSizeForPeople(*std::min_element(copied.begin(), copied.end())), " of ",
                    FormatSizeForPeople(setup_.copy_bytes), ")");
  }
  // Where lines are kept, the same again only shows that it still waits.
  if (line == reported_ && now < repeat_report_) return;
  reported_ = line;
  repeat_report_ = now + kRepeatReportNs;
  watch_.say(line);
}

void ClientLauncher::StartReading() {
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  reader_ = std::thread([this] {
    pollfd stopped{stop_.get(), POLLIN, 0};
    while (poll(&stopped, 1, 0) == 0) ServeOnce(-1, stop_.get());
  });
}

void ClientLauncher::StopReading() {
  if (!reader_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  reader_.join();
}

std::vector<std::string> ClientLauncher::Names() const {
  std::vector<std::string> names;
  for (const auto& host : hosts_) {
    if (serving_.contains(host->name())) names.push_back(host->name());
  }
  return names;
}

std::string ClientLauncher::Target(const std::string& name) const {
  const auto found = serving_.find(name);
  return found == serving_.end() ? name : absl::StrCat("unix:", found->second->local_socket());
}

std::string ClientLauncher::RemovalText(const ClientHost& host) const {
  const auto roots = roots_.find(host.name());
  if (setup_.clean_options.empty() || host.agent_ended() || roots == roots_.end() || roots->second.empty()) return "";
  std::string command = absl::StrCat("plimsoll clean --hosts ", ShellQuoted(host.name()), setup_.clean_options);
  for (const AgentRoot& root : roots->second) absl::StrAppend(&command, " --dir ", ShellQuoted(root.path));
  return absl::StrCat("; what it left, if it was killed, is removed by: ", command, " --yes");
}

// A lost host may be back by now, so that it can be ended like the others: `lost` makes no difference.
std::vector<std::string> ClientLauncher::End(const std::set<std::string>& /*lost*/) {
  using State = ClientHost::State;
  StopReading();
  if (hosts_.empty()) return {};
  ServeOnce(0, -1);
  std::vector<std::string> notes;
  for (const auto& host : hosts_) {
    const bool served = serving_.contains(host->name());
    if (served && host->state() == State::kEnded && !host->failure().has_value()) {
      notes.push_back(absl::StrCat(host->name(), ": ", setup_.client, " ", host->LastWords(),
                                   "; its agent ends with it", RemovalText(*host)));
    }
    host->End();
  }
  const auto pending = [this](auto done) {
    return std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& host) { return !done(*host); });
  };
  const auto ended = [](const ClientHost& host) { return host.state() == State::kEnded; };
  // A cached agent that hosts share may be removed only when none of them runs it any more.
  const auto clean = [&](const ClientHost& host) { return ended(host) || host.agent_ended(); };
  const MonotonicNs limit = clock_.Now() + kEndLimitNs;
  const auto in_time = [&] { return clock_.Now() < limit && watch_.interrupts() < 2; };
  while (pending(clean) && in_time()) ServeOnce(kTickMs, -1);
  for (const auto& host : hosts_) {
    if (host->agent_ended()) host->Finish(setup_.clean);
  }
  while (pending(ended) && in_time()) ServeOnce(kTickMs, -1);
  for (const auto& host : hosts_) {
    if (serving_.contains(host->name()) && host->failure().has_value()) {
      notes.push_back(absl::StrCat(host->failure()->line, RemovalText(*host)));
    }
    if (ended(*host)) continue;
    notes.push_back(absl::StrCat(host->name(),
                                 ": the agent did not end in time: it ends by itself, some minutes after its "
                                 "session at the latest"));
    host->Kill();
  }
  const MonotonicNs last = clock_.Now() + kKillLimitNs;
  while (pending(ended) && clock_.Now() < last) ServeOnce(kTickMs, -1);
  hosts_.clear();
  serving_.clear();
  return notes;
}

}  // namespace plimsoll
