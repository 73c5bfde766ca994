#include "controller/launch/launcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "controller/launch/ssh_launcher.h"
#include "controller/run/process.h"

namespace plimsoll {
namespace {

class RunningAgents final : public Launcher {
 public:
  std::vector<HostFailure> Launch(const std::vector<AgentPlace>& places,
                                  const std::vector<std::string>& /*arguments*/) override {
    for (const AgentPlace& place : places) addresses_.push_back(place.address);
    return {};
  }
  std::vector<std::string> Names() const override { return addresses_; }
  std::string Target(const std::string& name) const override { return name; }

 private:
  std::vector<std::string> addresses_;
};

class OneChild final : public Launcher {
 public:
  std::vector<HostFailure> Launch(const std::vector<AgentPlace>& places,
                                  const std::vector<std::string>& arguments) override {
    auto child = ChildAgent::Start(places.front().roots, arguments);
    if (!child.ok()) return {{"", Exit::kCannotRun, std::string(child.status().message())}};
    child_ = *std::move(child);
    return {};
  }
  std::vector<std::string> Names() const override {
    return child_ == nullptr ? std::vector<std::string>{} : std::vector<std::string>{child_->address()};
  }
  std::string Target(const std::string& name) const override { return name; }

  // A child whose host was lost may hang for as long as its storage does.
  std::vector<std::string> End(const std::set<std::string>& lost) override {
    if (child_ == nullptr || !lost.contains(child_->address())) return {};
    return {absl::StrCat("the agent of this run (process ", child_->Detach(),
                         ") is left running: it removes its files as soon as it can")};
  }

 private:
  std::unique_ptr<ChildAgent> child_;
};

}  // namespace

absl::Status CheckLaunchOptions(const LaunchOptions& options) {
  if (options.ssh()) {
    if (options.ssh_command.empty()) return absl::InvalidArgumentError("--ssh-command is empty; it is ssh by default");
    if (!options.cache.empty() && options.cache.front() != '/') {
      return absl::InvalidArgumentError(
          absl::StrCat("--launch-cache ", options.cache, " is not an absolute path: it is a directory on the hosts"));
    }
    if (options.no_copy && !options.agent_file.empty()) {
      return absl::InvalidArgumentError("--launch-agent names an agent to copy, and --no-copy forbids it: drop one");
    }
    return absl::OkStatus();
  }
  const LaunchOptions unset;
  for (const auto& [option, given] : {std::pair("--ssh-command", options.ssh_command != unset.ssh_command),
                                      {"--launch-agent", !options.agent_file.empty()},
                                      {"--launch-cache", !options.cache.empty()},
                                      {"--no-copy", options.no_copy},
                                      {"--launch-clean", options.clean}}) {
    if (given) return absl::InvalidArgumentError(absl::StrCat(option, " has a meaning only with --launch ssh"));
  }
  return absl::OkStatus();
}

std::unique_ptr<Launcher> NoLauncher() {
  return std::make_unique<RunningAgents>();
}

std::unique_ptr<Launcher> ChildLauncher() {
  return std::make_unique<OneChild>();
}

absl::StatusOr<std::unique_ptr<Launcher>> MakeLauncher(const LaunchOptions& options, const Clock& clock,
                                                       Launcher::Watch watch) {
  if (!options.ssh()) return NoLauncher();
  return SshLauncher::Create(options, clock, std::move(watch));
}

Failure AsFailure(const std::vector<HostFailure>& failures) {
  Failure failure{Exit::kWrong, {}};
  for (const HostFailure& each : failures) {
    if (each.code != Exit::kWrong) failure.code = each.code;
    failure.lines.push_back(each.line);
  }
  return failure;
}

}  // namespace plimsoll
