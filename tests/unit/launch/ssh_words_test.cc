#include "controller/launch/ssh_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr char kChanged[] =
    "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r\n"
    "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
    "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\r\n"
    "Host key for 10.77.0.1 has changed and you have requested strict checking.\r\n"
    "Host key verification failed.\r\n";

TEST(SshWords, EachOfSshsOwnErrorsHasItsWayOut) {
  struct Case {
    std::string errors;
    std::string words;
  };
  const std::vector<Case> cases = {
      {kChanged, "run `ssh-keygen -R node1`"},
      {"No ED25519 host key is known for node1 and you have requested strict checking.\r\nHost key verification "
       "failed.",
       "its host key is unknown: connect once by hand, `ssh node1`"},
      {"mqm@node1: Permission denied (publickey,password).", "`ssh-copy-id node1`"},
      {"ssh: Could not resolve hostname node1: Name or service not known", "name not found"},
      {"ssh: connect to host node1 port 22: Connection refused", "start sshd"},
      {"ssh: connect to host node1 port 22: No route to host", "cannot be reached"},
      {"ssh: connect to host node1 port 22: Connection timed out", "does not answer"},
      {"kex_exchange_identification: Connection closed by remote host\nConnection closed by 10.0.0.1 port 22",
       "raise MaxStartups there"},
      {"command-line: line 0: Bad configuration option: remotecommand", "OpenSSH 7.6 or newer"},
  };
  for (const Case& each : cases) {
    const HostFailure failure = SshFailure({"node1", each.errors, "", "exit code 255", false});
    EXPECT_EQ(failure.code, Exit::kCannotRun);
    EXPECT_THAT(failure.line, AllOf(StartsWith("node1: "), HasSubstr(each.words),
                                    EndsWith(" (ssh: " + LastLine(each.errors) + ")"), Not(HasSubstr("\n"))));
  }
}

TEST(SshWords, AnErrorThatIsNotKnownIsShownAsItIs) {
  EXPECT_EQ(SshFailure({"node1", "mux: strange\n", "", "exit code 255", false}).line,
            "node1: ssh could not connect (ssh: mux: strange)");
  EXPECT_EQ(SshFailure({"node1", "", "", "signal 9", true}).line,
            "node1: ssh ended before the agent ran (ssh ended with signal 9)");
  EXPECT_THAT(
      SshFailure({"node1", "", "This account is closed.", "exit code 1", false}).line,
      AllOf(StartsWith("node1: no POSIX shell answers there"), EndsWith(" (it printed: This account is closed.)")));
}

TEST(SshWords, ThePortOfTheListIsInTheCommandsThatAreProposed) {
  EXPECT_THAT(SshFailure({"node1:2222", "Host key verification failed.", "", "exit code 255", false}).line,
              HasSubstr("`ssh -p 2222 node1`"));
  EXPECT_THAT(SshFailure({"[::1]", "Host key verification failed.", "", "exit code 255", false}).line,
              HasSubstr("`ssh ::1`"));
}

TEST(SshWords, WhatTheHostReportsHasItsWayOut) {
  const SshWays ways{"x86_64", "", false};
  const auto line = [&](const std::string& kind, const std::string& text) {
    return HostSideFailure("node1", kind, text, ways, {}).line;
  };
  EXPECT_THAT(line("write", "dd: error writing '/home/x': No space left on device"), HasSubstr("no space"));
  EXPECT_THAT(line("write", "dd: error writing '/home/x': Disk quota exceeded"), HasSubstr("no space"));
  EXPECT_THAT(line("write", "mkdir: cannot create directory: Permission denied"), HasSubstr("cannot be stored"));
  EXPECT_THAT(line("run", "sh: 1: /x/plimsoll-agent: Permission denied"), HasSubstr("noexec"));
  EXPECT_THAT(
      line("machine", "aarch64 /home/a b/plimsoll-agent"),
      AllOf(HasSubstr("it is aarch64, the agent is for x86_64"), HasSubstr("as /home/a b/plimsoll-agent, mode")));
  EXPECT_THAT(line("tmp", "mkdir: cannot create directory '/tmp/plimsoll-1': No space left on device"),
              AllOf(HasSubstr("in /tmp"), HasSubstr("No space left"), Not(HasSubstr("--launch-cache"))));
  EXPECT_THAT(line("private", "/home/x"), HasSubstr("--launch-cache"));
  EXPECT_THAT(line("above", "/home"), HasSubstr("/home, above the cache directory, belongs to another user"));
  EXPECT_THAT(line("missing", "/home/x"), HasSubstr("leave out --no-copy"));
  EXPECT_THAT(line("else", "what"), HasSubstr("else (what)"));
}

TEST(SshWords, ADirectoryThatCannotBeUsedHasTheSystemsReason) {
  const auto failure = [](const std::string& text) {
    return HostSideFailure("node1", "directory", text, {},
                           {{"/mnt/x"}, {"/mnt/x: y"}, {"/data", "--data-dir"}, {"/a", ""}});
  };
  const HostFailure missing = failure("/mnt/x: No such file or directory");
  EXPECT_EQ(missing.code, Exit::kWrong);
  EXPECT_EQ(missing.line, "--dir: /mnt/x does not exist on node1; create it there or pass another --dir");
  EXPECT_EQ(failure("/mnt/x: y: Not a directory").line, "--dir: /mnt/x: y is not a directory on node1");
  EXPECT_EQ(failure("/mnt/x: Permission denied").line,
            "--dir: /mnt/x cannot be entered on node1 by the user of ssh (Permission denied)");
  const HostFailure stale = failure("/mnt/x: Stale file handle");
  EXPECT_EQ(stale.code, Exit::kCannotRun);
  EXPECT_EQ(stale.line, "node1: --dir: /mnt/x cannot be used (Stale file handle)");
  EXPECT_EQ(failure("/data: No such file or directory").line,
            "--data-dir: /data does not exist on node1; create it there or pass another --data-dir");
  EXPECT_EQ(failure("/a: No such file or directory").line,
            "/a does not exist on node1; create it there or name another directory");
  EXPECT_EQ(failure("/a: Not a directory").line, "/a is not a directory on node1");
}

TEST(SshWords, WhatABannerSaysIsNotSshsError) {
  const auto line = [](const std::string& errors) {
    return SshFailure({"node1", errors, "", "exit code 255", false}).line;
  };
  for (const char* banner : {"Idle sessions are timed out after an hour.", "Connection refused for strangers.",
                             "If you read Permission denied (publickey), call the desk.", "Broken pipe in hall 3.",
                             "Connection to this host is logged; it is timed out."}) {
    EXPECT_THAT(line(absl::StrCat(banner, "\r\nmqm@node1: Permission denied (publickey).\r\n")),
                HasSubstr("`ssh-copy-id node1`"))
        << banner;
    EXPECT_THAT(line(absl::StrCat(banner, "\r\nmux: strange\r\n")),
                StartsWith("node1: ssh could not connect (ssh: mux"))
        << banner;
  }
}

TEST(SshWords, WhatAJumpHostCannotReachIsSshsError) {
  EXPECT_THAT(SshFailure({"node1",
                          "channel 0: open failed: connect failed: No route to host\r\nstdio forwarding failed\r\n"
                          "kex_exchange_identification: Connection closed by remote host\r\n",
                          "", "exit code 255", false})
                  .line,
              HasSubstr("cannot be reached"));
  EXPECT_THAT(SshFailure({"node1", "Connection to 10.0.0.1 port 22 timed out\r\n", "", "exit code 255", false}).line,
              HasSubstr("does not answer"));
}

TEST(SshWords, OfAnAgentThatIsLinkedDynamicallyTheWayOutIsThePortableOne) {
  const auto run = [](const SshWays& ways) { return HostSideFailure("node1", "run", "not found", ways, {}).line; };
  EXPECT_THAT(run({"x86_64", "", true}), HasSubstr("scripts/portable"));
  EXPECT_THAT(run({"x86_64", "", false}), Not(HasSubstr("scripts/portable")));
}

TEST(SshWords, AnAgentsOwnErrorLosesTheTimeOfItsLog) {
  const HostFailure failure =
      AgentFailure("node1", 2, "2026-11-23T10:00:00.000 error --root /x is not an absolute path");
  EXPECT_EQ(failure.line, "node1: --root /x is not an absolute path");
  EXPECT_EQ(failure.code, Exit::kWrong);
  EXPECT_THAT(AgentFailure("node1", 137, "").line, HasSubstr("exit code 137"));
}

TEST(SshWords, TheLastLineIsTheLastThatHasText) {
  EXPECT_EQ(LastLine("one\r\ntwo\r\n \t\n"), "two");
  EXPECT_EQ(LastLine("\n\n"), "");
}

}  // namespace
}  // namespace plimsoll
