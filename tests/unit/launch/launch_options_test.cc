#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/link/frame.h"
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

// A host for a client that is a shell script, with an agent that greets, and then sends the controller's bytes back,
// once it may.
class GreetingHost {
 public:
  GreetingHost() {
    Write("hello", PackFrame(FrameType::kHello, 0, HelloPayload()));
    Write("probe", PackFrame(FrameType::kProbe, 0, HelloPayload()));
    Write("end", PackFrame(FrameType::kEnd, 0, ""));
    for (Gate* gate : {&may_greet_, &may_answer_, &may_break_}) {
      const std::string path = directory_ + "/" + gate->name;
      EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
      // Open for reading, too: neither this nor the client's opening waits for the other side.
      gate->fd = UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC));
    }
  }
  GreetingHost(const GreetingHost&) = delete;
  GreetingHost& operator=(const GreetingHost&) = delete;
  ~GreetingHost() { std::filesystem::remove_all(directory_); }

  // The client: its agent ends with the controller's last frame, with exit code 3. It waits for a line in a FIFO.
  std::string Client() const {
    return absl::StrCat("sh -c 'cd ", directory_, "; echo plimsoll-launch ready; ",
                        "while read -r line && [ \"$line\" != go ]; do :; done; : >starts; ",
                        "read -r line <may-greet; cat hello; head -c ", kFrameHeaderBytes + HelloPayload().size(),
                        " >asked; : >greeted; ", "read -r line <may-answer; cat probe; head -c ", kFrameHeaderBytes,
                        " >ends; cat end; echo plimsoll-launch ended 3; read -r line' sh");
  }

  const std::string& directory() const { return directory_; }
  // The order to start the agent has come.
  bool Starts() const { return std::filesystem::exists(directory_ + "/starts"); }
  void MayGreet() const { may_greet_.Open(); }
  // The controller has answered the greeting.
  bool Greeted() const { return std::filesystem::exists(directory_ + "/greeted"); }
  void MayAnswer() const { may_answer_.Open(); }
  void MayBreak() const { may_break_.Open(); }

 private:
  // A FIFO, in which the client waits for a line.
  struct Gate {
    const char* name;
    UniqueFd fd = UniqueFd();
    void Open() const { EXPECT_EQ(write(fd.get(), "\n", 1), 1); }
  };

  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(directory_ + "/" + name, std::ios::binary) << bytes;
  }
  static std::string MakeDirectory() {
    std::string directory = ::testing::TempDir() + "/launch-host-" + std::to_string(getpid());
    std::filesystem::create_directories(directory);
    return directory;
  }

  const std::string directory_ = MakeDirectory();
  Gate may_greet_{"may-greet"};
  Gate may_answer_{"may-answer"};
  Gate may_break_{"may-break"};
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

TEST(LaunchOptionsTest, ACommandIsKnownByTheHostInIt) {
  LaunchOptions options;
  options.how = "podman exec -i {host}";
  EXPECT_EQ(&options.kind(), &kCommandLauncher);
  EXPECT_THAT(CheckLaunchOptions(options), IsOk());
  EXPECT_EQ(options.OnCommandLine(), " --launch 'podman exec -i {host}'");
  EXPECT_THAT(options.Words(), ElementsAre("--launch", "podman exec -i {host}"));
  options.how = "{host} exec";
  EXPECT_THAT(CheckLaunchOptions(options), StatusIs(StatusCode::kInvalidArgument, "the program cannot be {host}"));
  options.how = "podman 'exec {host}";
  EXPECT_THAT(CheckLaunchOptions(options), StatusIs(StatusCode::kInvalidArgument, "--launch: "));
  options = {.how = "env {host}", .values = {{"--agent-option", "x"}}};
  EXPECT_THAT(CheckLaunchOptions(options), StatusIs(StatusCode::kInvalidArgument, "--agent-option 'x'"));
  options = {.how = "env {host}", .values = {{"--selector", "app=x"}}};
  EXPECT_THAT(CheckLaunchOptions(options),
              StatusIs(StatusCode::kInvalidArgument, "--selector has a meaning only with --launch kubernetes"));
  EXPECT_THAT(FindLauncher("rsh"), IsNull());
}

TEST(LaunchOptionsTest, PodsAreNamedOrChosen) {
  LaunchOptions options{.how = "kubernetes", .values = {}};
  EXPECT_THAT(kKubernetesLauncher.find_hosts(options),
              StatusIs(StatusCode::kInvalidArgument, "name them with --hosts, or choose them with --selector"));
  options.values["--selector"] = "app=x";
  options.values["--kubectl"] = "sh -c 'echo no route >&2; exit 1'";
  EXPECT_THAT(kKubernetesLauncher.find_hosts(options),
              StatusIs(StatusCode::kUnavailable, "it ended with exit code 1: no route"));
  options.values["--kubectl"] = R"(sh -c 'echo "{\"items\":[]}"')";
  EXPECT_THAT(kKubernetesLauncher.find_hosts(options),
              StatusIs(StatusCode::kInvalidArgument, "no such pod is running"));
}

// A launcher of agents by this command, which is started for each host.
absl::StatusOr<std::unique_ptr<Launcher>> ByCommand(const std::string& command, const Clock& clock) {
  std::signal(SIGPIPE, SIG_IGN);
  LaunchOptions options;
  options.how = command;
  return MakeLauncher(options, clock, {nullptr, GivesUp()});
}

TEST(CommandLauncherTest, TheNameOfTheHostIsInTheCommandAndTheAgentsCommandLineBehindIt) {
  const SystemClock clock;
  auto launcher = ByCommand("sh -c 'echo \"$@\" >&2; exit 7' {host} at-{host}", clock);
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(
      LinesOf((*launcher)->Launch({{"node1:7461", {{"/mnt"}}}}, {"--keep-leftovers"})),
      ElementsAre(EndsWith("(sh ended with exit code 7: at-node1 plimsoll-agent --stdio --log-level error --root "
                           "/mnt --session-wait 6m --keep-leftovers)")));
}

TEST(CommandLauncherTest, WhatAShellOnTheWayWouldReadIsRefusedByName) {
  const SystemClock clock;
  const auto line = [&clock](const std::string& name, const std::string& root, const std::string& option) {
    auto launcher = ByCommand("sh -c 'exit 7' {host}", clock);
    EXPECT_THAT(launcher, IsOk());
    const std::vector<HostFailure> failures = (*launcher)->Launch({{name + ":7461", {{root}}}}, {option});
    EXPECT_EQ(failures.at(0).code == Exit::kWrong, !absl::StrContains(failures.at(0).line, "sh ended with"));
    return failures.at(0).line;
  };
  EXPECT_THAT(line("node1", "/mnt/mq_log-1.a,b=c@d+e%f:g[h]", "--allow-kept"), HasSubstr("sh ended with exit code 7"));
  EXPECT_THAT(line("a;reboot", "/mnt", "--allow-kept"),
              AllOf(StartsWith("a;reboot: the name of the host, 'a;reboot', may be read by a shell"),
                    HasSubstr("use letters, digits and _./:=,@%+[]- alone")));
  EXPECT_THAT(line("node1", "/mnt/mq log", "--allow-kept"), StartsWith("node1: --dir, '/mnt/mq log', may be read"));
  EXPECT_THAT(line("node1", "/mnt", "--name=$(reboot)"),
              StartsWith("node1: the agent's option, '--name=$(reboot)', may be read"));
}

TEST(CommandLauncherTest, AClientThatWaitsHasFiveMinutesAndIsNamed) {
  std::signal(SIGPIPE, SIG_IGN);
  SteppedClock clock;
  const MonotonicNs begin = clock.Now();
  const auto tick = [&clock, gives_up = GivesUp()] {
    clock.Advance(10 * kNsPerSecond);
    return gives_up();
  };
  LaunchOptions options;
  options.how = absl::StrCat("sh -c '", kHang, "' {host}");
  auto launcher = MakeLauncher(options, clock, {nullptr, tick});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})),
              ElementsAre("node1: its agent did not start within 5m: is sh waiting for something?"));
  EXPECT_GE(clock.Now() - begin, 300 * kNsPerSecond);
}

// A client whose agent serves until MayBreak; it then writes what is no frame, and hangs.
std::string BreakingClient(const GreetingHost& host) {
  return absl::StrCat("sh -c 'cd ", host.directory(), "; echo $$ >client; cat hello; head -c ",
                      kFrameHeaderBytes + HelloPayload().size(),
                      " >asked; cat probe; read -r line <may-break; echo broken; ", kHang, "' {host}");
}

TEST(CommandLauncherTest, AClientThatHangsWhileOthersServeIsKilledWithoutThem) {
  const FastClock clock;
  const GreetingHost host;
  auto launcher = ByCommand(BreakingClient(host), clock);
  ASSERT_THAT(launcher, IsOk());
  ASSERT_THAT((*launcher)->Launch({{"node1:7461", {{"/mnt"}}}}, {}), IsEmpty());
  host.MayBreak();
  pid_t client = 0;
  std::ifstream(host.directory() + "/client") >> client;
  ASSERT_GT(client, 0);
  // Readable once the client has ended; there is none where it is gone already.
  const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, client, 0)));
  pollfd wait{ended.get(), POLLIN, 0};
  constexpr int kHangsForGoodMs = 60'000;
  EXPECT_TRUE(ended.get() < 0 || poll(&wait, 1, kHangsForGoodMs) == 1) << "it hangs until the launcher ends";
  EXPECT_THAT((*launcher)->End({}),
              ElementsAre(AllOf(StartsWith("node1: "),
                                HasSubstr("; what it left, if it was killed, is removed by: plimsoll clean --hosts "
                                          "node1 --launch 'sh -c "),
                                EndsWith(" --dir /mnt --yes"))));
}

TEST(CommandLauncherTest, AHostCannotBeAnOptionOfTheCommand) {
  const SystemClock clock;
  auto launcher = ByCommand("echo {host}", clock);
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"-t:7461", {}}}, {})),
              ElementsAre("-t: the name of a host cannot begin with '-'"));
}

TEST(CommandLauncherTest, ABannerAndATerminalAreNamed) {
  const SystemClock clock;
  const auto line = [&clock](const std::string& command) {
    auto launcher = ByCommand(command, clock);
    EXPECT_THAT(launcher, IsOk());
    return LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})).at(0);
  };
  EXPECT_THAT(line("sh -c 'echo Welcome to $0; cat' {host}"),
              AllOf(HasSubstr("a banner, .bashrc"), HasSubstr("'Welcome to node1?'")));
  const GreetingHost host;
  EXPECT_THAT(line(absl::StrCat("sh -c 'sed s/$/\\r/ ", host.directory(), "/hello; cat' {host}")),
              HasSubstr("a terminal (pty) is in between"));
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

TEST(SshLauncherTest, AnAgentHasOneLimitUntilItServes) {
  SteppedClock clock;
  const GreetingHost host;
  bool starts = false;
  bool greeted = false;
  int ticks = 0;
  const auto tick = [&, gives_up = GivesUp()] {
    if (host.Starts() && !std::exchange(starts, true)) {
      clock.Advance(40 * kNsPerSecond);
      host.MayGreet();
    }
    if (host.Greeted() && !std::exchange(greeted, true)) clock.Advance(6 * kNsPerSecond);
    // Up to 54 s in all, for ssh to end in: less than 45 s after the greeting.
    if (greeted && ++ticks <= 8) clock.Advance(kNsPerSecond);
    return gives_up();
  };
  auto launcher = MakeLauncher(SshOptions(host.Client()), clock, {nullptr, tick});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})),
              ElementsAre("node1: its agent did not start within 45s: does a file system there hang?"));
}

TEST(SshLauncherTest, AnAgentThatNoSessionCameToIsNamedWithThatReason) {
  const SystemClock clock;
  const GreetingHost host;
  host.MayGreet();
  host.MayAnswer();
  auto launcher = MakeLauncher(SshOptions(host.Client()), clock, {nullptr, GivesUp()});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT((*launcher)->Launch({{"node1:7461", {}}}, {}), IsEmpty());
  EXPECT_THAT((*launcher)->Names(), ElementsAre("node1"));
  EXPECT_THAT((*launcher)->End({}), ElementsAre("node1: its agent ended: no session came in time (exit code 3)"));
}

TEST(SshLauncherTest, AnAgentThatDoesNotStartIsNamedWithItsOwnReason) {
  const SystemClock clock;
  const LaunchOptions options = SshOptions(
      "sh -c 'echo plimsoll-launch ready; while read -r line && [ \"$line\" != go ]; do :; done; echo plimsoll-launch "
      "ended 2; echo welcome >&2; echo plimsoll-agent: --root: /mnt is full >&2; echo bye >&2' sh");
  auto launcher = MakeLauncher(options, clock, {nullptr, GivesUp()});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})), ElementsAre("node1: --root: /mnt is full"));
}

TEST(SshLauncherTest, AHostThatSendsLastFramesOnlyIsTakenForOneAgent) {
  const SystemClock clock;
  const GreetingHost host;
  const LaunchOptions options =
      SshOptions(absl::StrCat("sh -c 'cd ", host.directory(),
                              "; echo plimsoll-launch ready; while read -r line && [ \"$line\" != go ]; do :; done; "
                              "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do cat end end >more; cp more end; "
                              "done; cat end' sh"));
  auto launcher = MakeLauncher(options, clock, {nullptr, GivesUp()});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})), ElementsAre(StartsWith("node1: ")));
}

TEST(SshLauncherTest, BytesThatChangeOnTheirWayAreNamed) {
  const SystemClock clock;
  const GreetingHost host;
  host.MayGreet();
  host.MayAnswer();
  std::string client = host.Client();
  // As a terminal writes the ends of lines.
  client.replace(client.find("cat hello"), 9, "sed s/$/\\\\r/ hello");
  auto launcher = MakeLauncher(SshOptions(client), clock, {nullptr, GivesUp()});
  ASSERT_THAT(launcher, IsOk());
  EXPECT_THAT(LinesOf((*launcher)->Launch({{"node1:7461", {}}}, {})),
              ElementsAre(AllOf(StartsWith("node1: the bytes between controller and agent change on their way"),
                                HasSubstr("leave out -t"))));
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
