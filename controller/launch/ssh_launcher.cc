#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/protocol.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/units.h"
#include "controller/launch/launcher.h"
#include "controller/launch/ssh_host.h"
#include "controller/plan/ha_plan.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

constexpr LaunchOption kSshCommand = {"--ssh-command", "COMMAND", "OpenSSH client with its options; quotes group words",
                                      "ssh"};
constexpr LaunchOption kLaunchAgent = {
    "--launch-agent", "FILE",
    "Agent program to copy to hosts without this version (default: the plimsoll-agent beside this program)"};
constexpr LaunchOption kLaunchCache = {
    "--launch-cache", "DIR",
    "Directory on the hosts in which the copy is cached (default: plimsoll in $XDG_CACHE_HOME or ~/.cache)"};
constexpr LaunchOption kNoCopy = {"--no-copy", nullptr, "Do not copy the agent: every host must have it in its cache"};
constexpr LaunchOption kLaunchClean = {"--launch-clean", nullptr, "Remove the agent from the hosts' caches at the end"};
constexpr LaunchOption kAgentOption = {
    "--agent-option", "OPTION",
    "Option with which agents are started, such as --agent-option=--allow-kept; repeat for several", "", true};
constexpr std::array kSshOptions = {kSshCommand, kLaunchAgent, kLaunchCache, kNoCopy, kLaunchClean, kAgentOption};

absl::Status CheckSshOptions(const LaunchOptions& options) {
  if (options.Value(kSshCommand).empty()) {
    return absl::InvalidArgumentError("--ssh-command is empty; it is ssh by default");
  }
  const std::string cache = options.Value(kLaunchCache);
  if (!cache.empty() && cache.front() != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("--launch-cache ", cache, " is not an absolute path: it is a directory on the hosts"));
  }
  for (const std::string& option : options.Values(kAgentOption)) {
    if (option.size() > 2 && option.starts_with("--")) continue;
    return absl::InvalidArgumentError(absl::StrCat("--agent-option ", Quoted(option),
                                                   " is not an option of plimsoll-agent, with its value after '=': "
                                                   "write --agent-option=--allow-kept"));
  }
  if (options.Given(kNoCopy) && options.Given(kLaunchAgent)) {
    return absl::InvalidArgumentError("--launch-agent names an agent to copy, and --no-copy forbids it: drop one");
  }
  return absl::OkStatus();
}

// How often times and interrupts are looked at.
constexpr int kTickMs = 50;
constexpr int64_t kReportNs = kNsPerSecond;
// Where nothing changes.
constexpr int64_t kRepeatReportNs = 10 * kNsPerSecond;
// Hosts that a line of progress names.
constexpr size_t kMostNamed = 3;
// For the agents to end and the hosts to clean up; an agent that hangs exits after its own --stop-wait.
constexpr int64_t kEndLimitNs = 20 * kNsPerSecond;
// After which ssh has to go.
constexpr int64_t kKillLimitNs = 2 * kNsPerSecond;
// "/65535.sock", within a socket's longest path and the temporary names of ssh.
constexpr size_t kMostDirectory = 80;

// Removes the directory of the sockets once its standard input ends. A client whose controller was killed may still
// make its socket just then. The shell cannot wait for that: the client is not its child, and no process is left to
// report the client's end. Hence it looks three times, a second apart, and only while something is left.
constexpr char kRemover[] =
    "read -r end; for again in 1 2 3; do rm -f \"$1\"/*.sock; rmdir \"$1\" 2>/dev/null && exit; sleep 1; done";

// Characters that mean nothing to ssh in the argument of -L.
bool IsPlainPath(const std::string& path) {
  return std::all_of(path.begin(), path.end(), [](char c) { return c == '/' || IsPlainNameChar(c); });
}

// A unique name that cannot be guessed: 96 random bits.
std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x", random(), random(), random());
}

// "node1, node2, node3 and 5 more"
std::string SomeOf(const std::vector<std::string>& names) {
  const size_t named = std::min(names.size(), kMostNamed);
  const std::string text = absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", ");
  return named == names.size() ? text : absl::StrCat(text, " and ", names.size() - named, " more");
}

// The agent to copy, or why there is none to copy.
absl::StatusOr<AgentFile> FindAgent(const LaunchOptions& options, std::string& no_agent) {
  const bool named = options.Given(kLaunchAgent);
  absl::StatusOr<AgentFile> agent =
      ReadAgentFile(named ? options.Value(kLaunchAgent) : ProgramBeside("plimsoll-agent"));
  if (named) {
    if (agent.ok()) return agent;
    return absl::InvalidArgumentError(absl::StrCat("--launch-agent: ", std::string(agent.status().message())));
  }
  if (!agent.ok()) {
    no_agent = absl::StrCat("there is none to copy (", std::string(agent.status().message()),
                            "): pass one with --launch-agent");
    return agent;
  }
  if (agent->dynamic) {
    no_agent =
        absl::StrCat(agent->path,
                     " is linked dynamically and may not run there: scripts/portable builds one that runs on any "
                     "Linux, pass it with --launch-agent");
    return absl::FailedPreconditionError(no_agent);
  }
  return agent;
}

// `--launch ssh`: agents on hosts that have nothing installed, by an ssh client for each, all at once. Each forwards a
// Unix socket in a private directory of this machine to the agent's own; no agent starts before all hosts have one.
// While the agents serve, a thread reads what the clients print, so that none ever blocks. A process of the launcher's
// own removes the directory, also where this one is killed; the kernel ends the clients then.
class SshLauncher final : public Launcher {
 public:
  // INVALID_ARGUMENT where --ssh-command or --launch-agent cannot be used; the system's error where the private
  // directory cannot be made. `clock` outlives it.
  static absl::StatusOr<std::unique_ptr<Launcher>> Create(const LaunchOptions& options, const Clock& clock,
                                                          const Watch& watch);
  ~SshLauncher() override;
  SshLauncher(const SshLauncher&) = delete;
  SshLauncher& operator=(const SshLauncher&) = delete;

  std::vector<HostFailure> Launch(const std::vector<AgentPlace>& places,
                                  const std::vector<std::string>& arguments) override;
  std::vector<std::string> Names() const override;
  std::string Target(const std::string& name) const override;
  std::vector<std::string> End(const std::set<std::string>& lost) override;

 private:
  SshLauncher(const LaunchOptions& options, const Clock& clock, Watch watch)
      : options_(options), clock_(clock), watch_(std::move(watch)) {}

  absl::Status PrepareDirectory();
  // Waits for what the hosts have, once: at most `timeout_ms`, or until `stop` is readable (-1: nothing is).
  void ServeOnce(int timeout_ms, int stop);
  // Serves the hosts until each is in one of the states, or the user has interrupted `interrupts` times.
  bool ServeUntil(const std::set<SshHost::State>& states, int interrupts);
  void Report(MonotonicNs begin);
  void StartReading();
  void StopReading();

  const LaunchOptions options_;
  const Clock& clock_;
  const Watch watch_;
  std::optional<AgentFile> agent_;
  SshSetup setup_;
  std::string directory_;
  std::unique_ptr<PipedProcess> remover_;
  std::vector<std::unique_ptr<SshHost>> hosts_;
  // Hosts that serve, by name.
  std::map<std::string, const SshHost*> serving_;
  // Between StartReading and StopReading the hosts are its own.
  std::thread reader_;
  UniqueFd stop_;
  MonotonicNs next_report_;
  // The last line of progress, and when it is shown again if nothing has changed.
  std::string reported_;
  MonotonicNs repeat_report_;
};

absl::StatusOr<std::unique_ptr<Launcher>> SshLauncher::Create(const LaunchOptions& options, const Clock& clock,
                                                              const Watch& watch) {
  auto launcher = std::unique_ptr<SshLauncher>(new SshLauncher(options, clock, watch));
  SshSetup& setup = launcher->setup_;
  absl::StatusOr<std::vector<std::string>> command = SplitCommand(options.Value(kSshCommand));
  if (!command.ok()) return WithContext("--ssh-command", command.status());
  setup.command = *std::move(command);
  setup.cache = options.Value(kLaunchCache);
  if (!options.Given(kNoCopy)) {
    absl::StatusOr<AgentFile> agent = FindAgent(options, setup.ways.no_agent);
    if (agent.ok()) {
      launcher->agent_ = *std::move(agent);
      setup.agent = &*launcher->agent_;
      setup.ways.machine = setup.agent->machine;
      setup.ways.dynamic = setup.agent->dynamic;
    } else if (setup.ways.no_agent.empty()) {
      return agent.status();
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(launcher->PrepareDirectory());
  return std::unique_ptr<Launcher>(std::move(launcher));
}

absl::Status SshLauncher::PrepareDirectory() {
  std::string place = RuntimeDirectory();
  if (place.size() > kMostDirectory || !IsPlainPath(place)) place = "/tmp";
  PLIMSOLL_ASSIGN_OR_RETURN(directory_, MakePrivateDirectory(place));
  PLIMSOLL_ASSIGN_OR_RETURN(
      remover_, PipedProcess::Start({"sh", "-c", kRemover, "sh", directory_}, PipedProcess::Life::kOutlives));
  return absl::OkStatus();
}

SshLauncher::~SshLauncher() {
  End({});
  if (remover_ == nullptr) {
    if (!directory_.empty()) rmdir(directory_.c_str());
    return;
  }
  remover_->CloseInput();
  remover_->Wait();
}

std::vector<HostFailure> SshLauncher::Launch(const std::vector<AgentPlace>& places,
                                             const std::vector<std::string>& arguments) {
  using State = SshHost::State;
  std::vector<HostFailure> failures;
  for (const AgentPlace& place : places) {
    if (!absl::StartsWith(place.address, "unix:")) continue;
    failures.push_back(
        {place.address, Exit::kWrong, absl::StrCat(place.address, ": --launch ssh takes names of hosts, not sockets")});
  }
  if (!failures.empty()) return failures;
  std::vector<std::string> all_arguments = arguments;
  for (std::string& option : options_.Values(kAgentOption)) all_arguments.push_back(std::move(option));
  next_report_ = clock_.Now() + kReportNs;
  // A host whose turn has not come when the user interrupts is not one to be ended.
  for (const AgentPlace& place : places) {
    if (watch_.interrupts() > 0) return failures;
    hosts_.push_back(std::make_unique<SshHost>(setup_, clock_, place.address,
                                               absl::StrCat(directory_, "/", hosts_.size(), ".sock"),
                                               absl::StrCat("/tmp/plimsoll-", RandomName())));
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
  return failures;
}

void SshLauncher::ServeOnce(int timeout_ms, int stop) {
  std::vector<pollfd> waits;
  waits.reserve(hosts_.size() * SshHost::kDescriptors + 1);
  for (const auto& host : hosts_) {
    const SshHost::Descriptors wanted = host->Wanted();
    waits.insert(waits.end(), wanted.begin(), wanted.end());
  }
  waits.push_back({stop, POLLIN, 0});
  if (poll(waits.data(), waits.size(), timeout_ms) < 0) return;
  for (size_t i = 0; i < hosts_.size(); ++i) {
    SshHost::Descriptors found{};
    std::copy_n(waits.begin() + static_cast<std::ptrdiff_t>(i * found.size()), found.size(), found.begin());
    hosts_[i]->Serve(found);
  }
}

bool SshLauncher::ServeUntil(const std::set<SshHost::State>& states, int interrupts) {
  while (!std::all_of(hosts_.begin(), hosts_.end(), [&](const auto& host) { return states.contains(host->state()); })) {
    if (watch_.interrupts() >= interrupts) return false;
    ServeOnce(kTickMs, -1);
    Report(clock_.Now());
  }
  return true;
}

void SshLauncher::Report(MonotonicNs now) {
  if (now < next_report_ || !watch_.say) return;
  next_report_ = now + kReportNs;
  using State = SshHost::State;
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
    if (state == State::kStarting || state == State::kForwarding) starting.push_back(host->name());
    if (state != State::kCopying) continue;
    copying.push_back(host->name());
    copied.push_back(host->copied_bytes());
  }
  if (ready == hosts_.size()) return;
  std::string line = absl::StrCat("starting agents over ssh: ", ready, " of ", hosts_.size(), " ready");
  if (failed > 0) absl::StrAppend(&line, ", ", failed, " failed");
  if (!connecting.empty()) absl::StrAppend(&line, ", ", connecting.size(), " connecting (", SomeOf(connecting), ")");
  if (!starting.empty()) absl::StrAppend(&line, ", ", starting.size(), " starting (", SomeOf(starting), ")");
  if (!copying.empty()) {
    absl::StrAppend(&line, ", copying to ", copying.size(), " (", SomeOf(copying), "; the slowest has ",
                    FormatSizeForPeople(*std::min_element(copied.begin(), copied.end())), " of ",
                    FormatSizeForPeople(agent_->bytes.size()), ")");
  }
  // Where lines are kept, the same again only shows that it still waits.
  if (line == reported_ && now < repeat_report_) return;
  reported_ = line;
  repeat_report_ = now + kRepeatReportNs;
  watch_.say(line);
}

void SshLauncher::StartReading() {
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
  reader_ = std::thread([this] {
    pollfd stopped{stop_.get(), POLLIN, 0};
    while (poll(&stopped, 1, 0) == 0) ServeOnce(-1, stop_.get());
  });
}

void SshLauncher::StopReading() {
  if (!reader_.joinable()) return;
  eventfd_write(stop_.get(), 1);
  reader_.join();
}

std::vector<std::string> SshLauncher::Names() const {
  std::vector<std::string> names;
  for (const auto& host : hosts_) {
    if (serving_.contains(host->name())) names.push_back(host->name());
  }
  return names;
}

std::string SshLauncher::Target(const std::string& name) const {
  const auto found = serving_.find(name);
  return found == serving_.end() ? name : absl::StrCat("unix:", found->second->local_socket());
}

// A lost host may be back by now, so that it can be ended like the others: `lost` makes no difference.
std::vector<std::string> SshLauncher::End(const std::set<std::string>& /*lost*/) {
  using State = SshHost::State;
  StopReading();
  if (hosts_.empty()) return {};
  ServeOnce(0, -1);
  std::vector<std::string> notes;
  for (const auto& host : hosts_) {
    const bool served = serving_.contains(host->name());
    if (served && host->state() == State::kEnded && !host->failure().has_value()) {
      notes.push_back(absl::StrCat(host->name(), ": ssh ", host->LastWords(), "; its agent ends with it"));
    }
    host->End();
  }
  const auto pending = [this](auto done) {
    return std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& host) { return !done(*host); });
  };
  const auto ended = [](const SshHost& host) { return host.state() == State::kEnded; };
  // A cached agent that hosts share may be removed only when none of them runs it any more.
  const auto clean = [&](const SshHost& host) { return ended(host) || host.agent_ended(); };
  const MonotonicNs limit = clock_.Now() + kEndLimitNs;
  const auto in_time = [&] { return clock_.Now() < limit && watch_.interrupts() < 2; };
  while (pending(clean) && in_time()) ServeOnce(kTickMs, -1);
  for (const auto& host : hosts_) {
    if (host->agent_ended()) host->Finish(options_.Given(kLaunchClean));
  }
  while (pending(ended) && in_time()) ServeOnce(kTickMs, -1);
  for (const auto& host : hosts_) {
    if (serving_.contains(host->name()) && host->failure().has_value()) notes.push_back(host->failure()->line);
    if (ended(*host)) continue;
    notes.push_back(absl::StrCat(host->name(),
                                 ": the agent did not end in time: it ends by itself, at the latest 60 s "
                                 "after its session"));
    host->Kill();
  }
  const MonotonicNs last = clock_.Now() + kKillLimitNs;
  while (pending(ended) && clock_.Now() < last) ServeOnce(kTickMs, -1);
  hosts_.clear();
  serving_.clear();
  return notes;
}

}  // namespace

const LauncherKind kSshLauncher = {.name = "ssh",
                                   .help = "ssh",
                                   .options = kSshOptions,
                                   .needs_hosts = true,
                                   .encrypts = true,
                                   .recorded = v1::AGENT_LAUNCH_SSH,
                                   .check = CheckSshOptions,
                                   .make = SshLauncher::Create};

}  // namespace plimsoll
