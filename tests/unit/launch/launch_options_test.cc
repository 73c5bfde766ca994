#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "common/clock.h"
#include "controller/launch/launcher.h"
#include "tests/status_matchers.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using testing::IsOk;
using testing::StatusIs;

LaunchOptions SshOptions(const std::string& command) {
  // As the program does: a client that has ended is no end of its writer.
  std::signal(SIGPIPE, SIG_IGN);
  LaunchOptions options;
  options.how = "ssh";
  options.ssh_command = command;
  options.no_copy = true;
  return options;
}

TEST(LaunchOptionsTest, WithoutSshNoneOfItsOptionsHasAMeaning) {
  EXPECT_THAT(CheckLaunchOptions({}), IsOk());
  const auto refused = [](const auto& change, const std::string& option) {
    LaunchOptions options;
    change(options);
    EXPECT_THAT(CheckLaunchOptions(options),
                StatusIs(StatusCode::kInvalidArgument, option + " has a meaning only with --launch ssh"));
  };
  refused([](LaunchOptions& options) { options.ssh_command = "ssh -4"; }, "--ssh-command");
  refused([](LaunchOptions& options) { options.agent_file = "a"; }, "--launch-agent");
  refused([](LaunchOptions& options) { options.cache = "/a"; }, "--launch-cache");
  refused([](LaunchOptions& options) { options.no_copy = true; }, "--no-copy");
  refused([](LaunchOptions& options) { options.clean = true; }, "--launch-clean");
}

TEST(NoLauncherTest, TheAgentsAreTheHostsThatWereNamed) {
  const auto launcher = NoLauncher();
  EXPECT_THAT(launcher->Launch({{"node1:7461", {"/mnt"}}, {"unix:/run/a", {"/mnt"}}}, {}), IsEmpty());
  EXPECT_THAT(launcher->Names(), ElementsAre("node1:7461", "unix:/run/a"));
  EXPECT_EQ(launcher->Target("node1:7461"), "node1:7461");
  EXPECT_EQ(launcher->Options(), "");
  EXPECT_THAT(launcher->End({}), IsEmpty());
}

TEST(SshLauncherTest, AClientThatFailsIsNamedForEachHost) {
  const SystemClock clock;
  const LaunchOptions options = SshOptions("sh -c 'echo no such luck >&2; exit 255'");
  auto launcher = MakeLauncher(options, clock, {nullptr, [] { return 0; }});
  ASSERT_THAT(launcher, IsOk());
  std::vector<std::string> lines;
  for (const HostFailure& failure : (*launcher)->Launch({{"node1:7461", {}}, {"node2:2222", {}}}, {})) {
    lines.push_back(failure.line);
  }
  EXPECT_THAT(lines, ElementsAre("node1: ssh could not connect (ssh: no such luck)",
                                 "node2:2222: ssh could not connect (ssh: no such luck)"));
  EXPECT_THAT((*launcher)->Names(), IsEmpty());
}

TEST(SshLauncherTest, AnInterruptEndsTheLaunch) {
  const SystemClock clock;
  const LaunchOptions options = SshOptions("sh -c 'exec cat'");
  int asked = 0;
  auto launcher = MakeLauncher(options, clock, {nullptr, [&asked] { return ++asked > 3 ? 1 : 0; }});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT((*launcher)->Launch({{"node1:7461", {}}}, {}), IsEmpty());
  EXPECT_THAT((*launcher)->Names(), IsEmpty());
}

TEST(SshLauncherTest, ItsOptionsAreThoseThatAnotherCommandNeeds) {
  const SystemClock clock;
  LaunchOptions options = SshOptions("ssh -F 'my conf'");
  options.cache = "/var/x";
  const auto launcher = MakeLauncher(options, clock, {nullptr, [] { return 0; }});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_EQ((*launcher)->Options(), " --launch ssh --ssh-command 'ssh -F '\\''my conf'\\''' --launch-cache /var/x");
}

}  // namespace
}  // namespace plimsoll
