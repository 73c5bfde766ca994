#include "controller/launch/launcher.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/text.h"
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
    std::vector<std::string> roots;
    for (const AgentRoot& root : places.front().roots) roots.push_back(root.path);
    auto child = ChildAgent::Start(roots, arguments);
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

template <typename Type>
absl::StatusOr<std::unique_ptr<Launcher>> MakeLauncher(const LaunchOptions& /*options*/, const Clock& /*clock*/,
                                                       const Launcher::Watch& /*watch*/) {
  return std::make_unique<Type>();
}

}  // namespace

const LauncherKind kNoLauncher = {.name = "none",
                                  .help = "none (they already run on the hosts)",
                                  .survives_reboot = true,
                                  .make = MakeLauncher<RunningAgents>};
const LauncherKind kChildLauncher = {
    .name = "child", .supplies_hosts = true, .recorded = v1::AGENT_LAUNCH_CHILD, .make = MakeLauncher<OneChild>};

const LauncherKind* FindLauncher(const std::string& how) {
  const auto* named =
      std::find_if(std::begin(kLaunchers), std::end(kLaunchers), [&](const auto* each) { return each->name == how; });
  if (named != std::end(kLaunchers)) return *named;
  return absl::StrContains(how, kHostInCommand) ? &kCommandLauncher : nullptr;
}

std::string LaunchOptions::Value(const LaunchOption& option) const {
  const auto found = values.find(option.name);
  return found == values.end() ? option.preset : found->second;
}

const LauncherKind& LaunchOptions::kind(bool hosts_named) const {
  // The command line takes nothing else.
  const LauncherKind* found = FindLauncher(how);
  const LauncherKind& named = found == nullptr ? kNoLauncher : *found;
  return hosts_named || named.needs_hosts || named.supplies_hosts ? named : kChildLauncher;
}

std::vector<std::string> LaunchOptions::Values(const LaunchOption& option) const {
  const std::string text = Value(option);
  if (text.empty()) return {};
  return absl::StrSplit(text, '\n');
}

std::vector<std::string> LaunchOptions::Words() const {
  if (!kind().starts_agents()) return {};
  std::vector<std::string> words = {"--launch", how};
  for (const LaunchOption& option : kind().options) {
    if (!Given(option)) continue;
    if (option.repeated) {
      for (const std::string& value : Values(option)) words.push_back(absl::StrCat(option.name, "=", value));
      continue;
    }
    words.emplace_back(option.name);
    if (option.type != nullptr) words.push_back(Value(option));
  }
  return words;
}

std::string LaunchOptions::OnCommandLine() const {
  std::string text;
  for (const std::string& word : Words()) absl::StrAppend(&text, " ", ShellQuoted(word));
  return text;
}

absl::Status CheckLaunchOptions(const LaunchOptions& options) {
  const LauncherKind& kind = options.kind();
  for (const LauncherKind* other : kLaunchers) {
    for (const LaunchOption& option : other->options) {
      const bool taken = std::any_of(kind.options.begin(), kind.options.end(),
                                     [&](const LaunchOption& own) { return std::string(own.name) == option.name; });
      if (taken || !options.Given(option)) continue;
      return absl::InvalidArgumentError(absl::StrCat(option.name, " has a meaning only with --launch ", other->name));
    }
  }
  return kind.check == nullptr ? absl::OkStatus() : kind.check(options);
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
