#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/posix.h"
#include "common/text.h"
#include "controller/launch/client_launcher.h"
#include "controller/launch/command_host.h"
#include "controller/launch/launcher.h"
#include "controller/plan/ha_plan.h"

namespace plimsoll {
namespace {

constexpr std::array kCommandOptions = {kAgentOption};

absl::StatusOr<HostCommand> ReadHostCommand(const LaunchOptions& options) {
  absl::StatusOr<std::vector<std::string>> words = SplitCommand(options.how);
  if (!words.ok()) return WithContext("--launch", words.status());
  if (absl::StrContains(words->front(), kHostInCommand)) {
    return absl::InvalidArgumentError(absl::StrCat("--launch ", Quoted(options.how), ": the program cannot be ",
                                                   kHostInCommand, ": write it in front, 'podman exec -i {host}'"));
  }
  const std::string& program = words->front();
  HostCommand command{*words, program.substr(program.rfind('/') + 1), "check --launch, or install it"};
  return command;
}

absl::Status CheckCommandOptions(const LaunchOptions& options) {
  const absl::StatusOr<HostCommand> command = ReadHostCommand(options);
  return command.ok() ? CheckAgentOptions(options) : command.status();
}

absl::StatusOr<std::unique_ptr<Launcher>> MakeCommandLauncher(const LaunchOptions& options, const Clock& clock,
                                                              const Launcher::Watch& watch) {
  absl::StatusOr<HostCommand> read = ReadHostCommand(options);
  if (!read.ok()) return read.status();
  return ClientLauncher::Create(CommandLaunch(*std::move(read), "command", options, clock), clock, watch);
}

}  // namespace

ClientLauncher::Setup CommandLaunch(HostCommand command, const std::string& name, const LaunchOptions& options,
                                    const Clock& clock) {
  ClientLauncher::Setup setup;
  setup.name = name;
  setup.client = command.client;
  const auto shared = std::make_shared<const HostCommand>(std::move(command));
  setup.make_host = [shared, &clock](const std::string& address, std::string local_socket) {
    return std::make_unique<CommandHost>(*shared, clock, address, std::move(local_socket));
  };
  setup.arguments = options.Values(kAgentOption);
  setup.clean_options = options.OnCommandLine();
  return setup;
}

const LauncherKind kCommandLauncher = {.name = "command",
                                       .help = "a command of your own with {host} in it: 'podman exec -i {host}'",
                                       .options = kCommandOptions,
                                       .needs_hosts = true,
                                       .encrypts = true,
                                       .recorded = v1::AGENT_LAUNCH_COMMAND,
                                       .check = CheckCommandOptions,
                                       .make = MakeCommandLauncher};

}  // namespace plimsoll
