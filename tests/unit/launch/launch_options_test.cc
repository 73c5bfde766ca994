#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/posix.h"
#include "common/units.h"
#include "controller/launch/launcher.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

LaunchOptions SshOptions(const std::string& command) {
  // As the program does: a client that has ended is no end of its writer.
  std::signal(SIGPIPE, SIG_IGN);
  LaunchOptions options;
  options.how = "ssh";
  options.values["--ssh-command"] = command;
  options.values["--no-copy"] = "true";
  return options;
}

absl::StatusOr<std::unique_ptr<Launcher>> MakeLauncher(const LaunchOptions& options, const Clock& clock,
                                                       const Launcher::Watch& watch) {
  return options.kind().make(options, clock, watch);
}

// Runs that many times as fast as the system's, so that limits of a minute pass in seconds.
class FastClock final : public Clock {
 public:
  MonotonicNs Now() const override { return begin_ + kFactor * (SystemClock::Read() - begin_); }
  WallNs WallNow() const override { return SystemClock().WallNow(); }
  void SleepUntil(MonotonicNs moment) const override { SystemClock().SleepUntil(ToSystem(moment)); }
  bool WaitUntil(Mutex& mutex, CondVar& changed, MonotonicNs moment) const override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return SystemClock().WaitUntil(mutex, changed, ToSystem(moment));
  }

 private:
  static constexpr int64_t kFactor = 20;
  MonotonicNs ToSystem(MonotonicNs moment) const { return begin_ + (moment - begin_) / kFactor; }

  const MonotonicNs begin_ = SystemClock::Read();
};

// An interrupt that comes only where a launch would hang for good, so that a test fails instead.
class GivesUp {
 public:
  int operator()() const { return SystemClock::Read() - begin_ > 100 * kNsPerSecond ? 1 : 0; }

 private:
  const MonotonicNs begin_ = SystemClock::Read();
};

std::vector<std::string> LinesOf(const std::vector<HostFailure>& failures) {
  std::vector<std::string> lines;
  lines.reserve(failures.size());
  for (const HostFailure& failure : failures) lines.push_back(failure.line);
  return lines;
}

// Clients that hang until the launcher kills them: they read no input, and so do not notice its end.
constexpr char kHang[] = "exec tail -f /dev/null";

// Stands still until it is set.
class SteppedClock final : public Clock {
 public:
  MonotonicNs Now() const override { return now_; }
  WallNs WallNow() const override { return {now_.value}; }
  void SleepUntil(MonotonicNs /*moment*/) const override {}
  bool WaitUntil(Mutex& /*mutex*/, CondVar& /*changed*/, MonotonicNs /*moment*/) const override { return false; }

  void Advance(int64_t duration_ns) { now_ = now_ + duration_ns; }

 private:
  MonotonicNs now_{kNsPerSecond};
};

// A host for a client that is a shell script. Its agent listens after the client has been ordered to start it; the
// socket that ssh would forward belongs to this object.
class ListeningHost {
 public:
  ListeningHost() = default;
  ListeningHost(const ListeningHost&) = delete;
  ListeningHost& operator=(const ListeningHost&) = delete;
  ~ListeningHost() { std::remove(file_.c_str()); }

  // The client: its agent ends with the next line of input, with exit code 3. It looks for the socket again and again,
  // because a shell has no means to await one.
  std::string Client() const {
    return absl::StrCat(
        "sh -c 'for a; do [ \"$before\" != -L ] || socket=${a%%:*}; before=$a; done; echo plimsoll-launch ready; "
        "while read -r line && [ \"$line\" != go ]; do :; done; echo \"$socket\" >",
        file_, ".new; mv ", file_, ".new ", file_,
        "; while ! [ -S \"$socket\" ]; do sleep 0.02; done; echo listening; ",
        "read -r line; echo plimsoll-launch ended 3; read -r line' sh");
  }

  // Whether the order to start the agent has come; from then on it listens.
  bool Starts() {
    std::string path;
    if (listening_.valid() || !std::getline(std::ifstream(file_), path)) return listening_.valid();
    listening_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // Under another name until it listens: the client goes on as soon as it finds it.
    const std::string made = absl::StrCat(path, ".new.sock");
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    made.copy(where.sun_path, sizeof(where.sun_path) - 1);
    EXPECT_EQ(bind(listening_.get(), reinterpret_cast<const sockaddr*>(&where), sizeof(where)), 0);
    EXPECT_EQ(listen(listening_.get(), 1), 0);
    EXPECT_EQ(std::rename(made.c_str(), path.c_str()), 0);
    return true;
  }

  // Whether a first connection has come.
  bool Connected() {
    if (!connection_.valid() && listening_.valid()) {
      connection_ = UniqueFd(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
    return connection_.valid();
  }

  void Answer() const { EXPECT_EQ(write(connection_.get(), "x", 1), 1); }

 private:
  const std::string file_ = ::testing::TempDir() + "/launch-socket-" + std::to_string(getpid());
  UniqueFd listening_;
  UniqueFd connection_;
};

TEST(LaunchOptionsTest, WithoutSshNoneOfItsOptionsHasAMeaning) {
  EXPECT_THAT(CheckLaunchOptions({}), IsOk());
  const auto refused = [](const auto& change, const std::string& option) {
    LaunchOptions options;
    change(options);
    EXPECT_THAT(CheckLaunchOptions(options),
                StatusIs(StatusCode::kInvalidArgument, option + " has a meaning only with --launch ssh"));
  };
  refused([](LaunchOptions& options) { options.values["--ssh-command"] = "ssh -4"; }, "--ssh-command");
  refused([](LaunchOptions& options) { options.values["--launch-agent"] = "a"; }, "--launch-agent");
  refused([](LaunchOptions& options) { options.values["--launch-cache"] = "/a"; }, "--launch-cache");
  refused([](LaunchOptions& options) { options.values["--no-copy"] = "true"; }, "--no-copy");
  refused([](LaunchOptions& options) { options.values["--launch-clean"] = "true"; }, "--launch-clean");
}

TEST(LaunchOptionsTest, ACommandWithoutHostsHasAChildUnlessItsLauncherNeedsSome) {
  EXPECT_EQ(&LaunchOptions().kind(true), &kNoLauncher);
  EXPECT_EQ(&LaunchOptions().kind(false), &kChildLauncher);
  EXPECT_EQ(&SshOptions("ssh").kind(false), &kSshLauncher);
}

TEST(LaunchOptionsTest, TheNameInTheJournalIsThatOfTheCommandLine) {
  for (const LauncherKind* kind : kLaunchers) {
    if (!kind->starts_agents()) continue;
    EXPECT_EQ(v1::AgentLaunch_Name(kind->recorded), "AGENT_LAUNCH_" + absl::AsciiStrToUpper(kind->name));
  }
}

TEST(NoLauncherTest, TheAgentsAreTheHostsThatWereNamed) {
  const SystemClock clock;
  const auto launcher = MakeLauncher({}, clock, {}).value();
  EXPECT_THAT(launcher->Launch({{"node1:7461", {{"/mnt"}}}, {"unix:/run/a", {{"/mnt"}}}}, {}), IsEmpty());
  EXPECT_THAT(launcher->Names(), ElementsAre("node1:7461", "unix:/run/a"));
  EXPECT_EQ(launcher->Target("node1:7461"), "node1:7461");
  EXPECT_THAT(launcher->End({}), IsEmpty());
}

TEST(SshLauncherTest, AClientThatFailsIsNamedForEachHost) {
  const SystemClock clock;
  const LaunchOptions options = SshOptions("sh -c 'echo no such luck >&2; exit 255'");
  auto launcher = MakeLauncher(options, clock, {nullptr, [] { return 0; }});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}, {"node2:2222", {}}}, {})),
              ElementsAre("node1: ssh could not connect (ssh: no such luck)",
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

TEST(SshLauncherTest, AHostThatHangsIsNamedThoughItsClientIgnoresTheEndOfItsInputAndSigterm) {
  const FastClock clock;
  // The client of node1 fails at once, as a host may; that of node2 hangs.
  const LaunchOptions options =
      SshOptions(absl::StrCat("sh -c 'case \"$*\" in *node1*) exit 255 ;; esac; trap \"\" TERM; ", kHang, "' sh"));
  std::vector<std::string> said;
  auto launcher = MakeLauncher(options, clock, {[&said](const std::string& line) { said.push_back(line); }, GivesUp()});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}, {"node2:7461", {}}}, {})),
              ElementsAre("node1: ssh could not connect (ssh ended with exit code 255)",
                          "node2: no answer over ssh within 1m: is the host, or a file system there, hung?"));
  EXPECT_THAT((*launcher)->End({}), IsEmpty());
  const auto waits =
      std::count(said.begin(), said.end(), "starting agents over ssh: 0 of 2 ready, 1 failed, 1 connecting (node2)");
  EXPECT_GE(waits, 1);
  EXPECT_LE(waits, 7) << "where nothing changes, every 10 s";
}

TEST(SshLauncherTest, AnAgentThatHangsAsItStartsIsNamedThoughItsClientIgnoresTheEndOfItsInput) {
  const FastClock clock;
  const LaunchOptions options = SshOptions(absl::StrCat("sh -c 'echo plimsoll-launch ready; ", kHang, "'"));
  auto launcher = MakeLauncher(options, clock, {nullptr, GivesUp()});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})),
              ElementsAre("node1: its agent did not start within 45s: does a file system there hang?"));
}

TEST(SshLauncherTest, AnInterruptLeavesHostsThatWereNotContactedAlone) {
  const SystemClock clock;
  int asked = 0;
  // After the first client, before the others.
  auto launcher =
      MakeLauncher(SshOptions("sh -c 'exec cat'"), clock, {nullptr, [&asked] { return ++asked > 1 ? 1 : 0; }});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT((*launcher)->Launch({{"node1:7461", {}}, {"node2:7461", {}}, {"node3:7461", {}}}, {}), IsEmpty());
  EXPECT_THAT((*launcher)->End({}), IsEmpty());
}

TEST(SshLauncherTest, AnInterruptEndsAClientThatIgnoresIt) {
  const FastClock clock;
  const LaunchOptions options = SshOptions(absl::StrCat("sh -c 'trap \"\" TERM; ", kHang, "'"));
  int asked = 0;
  auto launcher = MakeLauncher(options, clock, {nullptr, [&asked] { return ++asked > 3 ? 1 : 0; }});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT((*launcher)->Launch({{"node1:7461", {}}}, {}), IsEmpty());
  EXPECT_THAT((*launcher)->End({}), IsEmpty());
}

TEST(SshLauncherTest, AnAgentHasOneLimitUntilItsFirstConnectionWorks) {
  SteppedClock clock;
  ListeningHost host;
  bool starts = false;
  bool connected = false;
  int ticks = 0;
  const auto tick = [&, gives_up = GivesUp()] {
    if (host.Starts() && !std::exchange(starts, true)) clock.Advance(40 * kNsPerSecond);
    if (host.Connected() && !std::exchange(connected, true)) clock.Advance(6 * kNsPerSecond);
    // Up to 54 s in all, for ssh to end in: less than 45 s after the connection.
    if (connected && ++ticks <= 8) clock.Advance(kNsPerSecond);
    return gives_up();
  };
  auto launcher = MakeLauncher(SshOptions(host.Client()), clock, {nullptr, tick});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})),
              ElementsAre("node1: its agent did not start within 45s: does a file system there hang?"));
}

TEST(SshLauncherTest, AnAgentThatNoSessionCameToIsNamedWithThatReason) {
  const SystemClock clock;
  ListeningHost host;
  bool answered = false;
  const auto tick = [&, gives_up = GivesUp()] {
    host.Starts();
    if (host.Connected() && !std::exchange(answered, true)) host.Answer();
    return gives_up();
  };
  auto launcher = MakeLauncher(SshOptions(host.Client()), clock, {nullptr, tick});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT((*launcher)->Launch({{"node1:7461", {}}}, {}), IsEmpty());
  EXPECT_THAT((*launcher)->Names(), ElementsAre("node1"));
  EXPECT_THAT((*launcher)->End({}), ElementsAre("node1: its agent ended: no session came in time (exit code 3)"));
}

TEST(LaunchOptionsTest, AnotherCommandNeedsThoseThatWereGiven) {
  EXPECT_EQ(LaunchOptions().OnCommandLine(), "");
  LaunchOptions options = SshOptions("ssh -F 'my conf'");
  options.values["--launch-cache"] = "/var/x";
  EXPECT_EQ(options.OnCommandLine(),
            " --launch ssh --ssh-command 'ssh -F '\\''my conf'\\''' --launch-cache /var/x --no-copy");
  options.values["--launch-clean"] = "true";
  EXPECT_THAT(options.OnCommandLine(), EndsWith(" --no-copy --launch-clean"));
}

}  // namespace
}  // namespace plimsoll
