#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "controller/launch/client_launcher.h"
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
  PLIMSOLL_RETURN_IF_ERROR(CheckAgentOptions(options));
  if (options.Given(kNoCopy) && options.Given(kLaunchAgent)) {
    return absl::InvalidArgumentError("--launch-agent names an agent to copy, and --no-copy forbids it: drop one");
  }
  return absl::OkStatus();
}

// A unique name that cannot be guessed: 96 random bits.
std::string RandomName() {
  std::random_device random;
  return absl::StrFormat("%08x%08x%08x", random(), random(), random());
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

// What the hosts of one launch have in common; they live as long.
struct SshLaunch {
  std::optional<AgentFile> agent;
  SshSetup setup;
};

// INVALID_ARGUMENT where --ssh-command or --launch-agent cannot be used; the system's error where the private directory
// cannot be made.
absl::StatusOr<std::unique_ptr<Launcher>> MakeSshLauncher(const LaunchOptions& options, const Clock& clock,
                                                          const Launcher::Watch& watch) {
  auto launch = std::make_shared<SshLaunch>();
  SshSetup& setup = launch->setup;
  absl::StatusOr<std::vector<std::string>> command = SplitCommand(options.Value(kSshCommand));
  if (!command.ok()) return WithContext("--ssh-command", command.status());
  setup.command = *std::move(command);
  setup.cache = options.Value(kLaunchCache);
  if (!options.Given(kNoCopy)) {
    absl::StatusOr<AgentFile> agent = FindAgent(options, setup.ways.no_agent);
    if (agent.ok()) {
      launch->agent = *std::move(agent);
      setup.agent = &*launch->agent;
      setup.ways.machine = setup.agent->machine;
      setup.ways.dynamic = setup.agent->dynamic;
    } else if (setup.ways.no_agent.empty()) {
      return agent.status();
    }
  }
  ClientLauncher::Setup client;
  client.name = client.client = "ssh";
  client.make_host = [launch, &clock](const std::string& address, std::string local_socket) {
    return std::make_unique<SshHost>(launch->setup, clock, address, std::move(local_socket),
                                     absl::StrCat("/tmp/plimsoll-", RandomName()));
  };
  client.arguments = options.Values(kAgentOption);
  client.copy_bytes = launch->agent.has_value() ? launch->agent->bytes.size() : 0;
  client.clean = options.Given(kLaunchClean);
  return ClientLauncher::Create(std::move(client), clock, watch);
}

}  // namespace

const LauncherKind kSshLauncher = {.name = "ssh",
                                   .help = "ssh",
                                   .options = kSshOptions,
                                   .needs_hosts = true,
                                   .encrypts = true,
                                   .recorded = v1::AGENT_LAUNCH_SSH,
                                   .check = CheckSshOptions,
                                   .make = MakeSshLauncher};

}  // namespace plimsoll
