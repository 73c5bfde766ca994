#include "controller/launch/command_words.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/link/frame.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

const std::vector<AgentRoot> kRoots = {{"/mnt/x"}, {"/data", "--data-dir"}};

TEST(CommandWords, ACommandThatStartsNoAgentIsShownWithItsLastLinesAndHowItEnded) {
  const HostFailure failure = CommandFailure(
      {"node1", "kubectl", "Defaulted container\nerror: exec failed\ncommand terminated with exit code 126\n", "",
       "exit code 126"},
      kRoots);
  EXPECT_EQ(failure.code, Exit::kCannotRun);
  EXPECT_THAT(failure.line,
              AllOf(StartsWith("node1: no agent answered: plimsoll-agent "), HasSubstr("in the PATH there"),
                    EndsWith("(kubectl ended with exit code 126: error: exec failed; command terminated with exit code "
                             "126)")));
  EXPECT_THAT(CommandFailure({"node1", "podman", "", "", "signal 9"}, kRoots).line,
              EndsWith("(podman ended with signal 9)"));
}

TEST(CommandWords, AnAgentThatRefusesIsShownWithItsOwnReason) {
  const HostFailure failure =
      CommandFailure({"node1", "kubectl", "plimsoll-agent: --allow-x is unknown\ncommand terminated with exit code 2\n",
                      "", "exit code 2"},
                     kRoots);
  EXPECT_EQ(failure.code, Exit::kWrong);
  EXPECT_EQ(failure.line, "node1: --allow-x is unknown");
}

TEST(CommandWords, AMissingDirectoryIsNamedAsTheCommandLineNamesIt) {
  const auto line = [](const std::string& root) {
    return CommandFailure({"node1", "podman",
                           "plimsoll-agent: --root: " + root + " does not exist; create it or pass another --root\n",
                           "", "exit code 2"},
                          kRoots)
        .line;
  };
  EXPECT_EQ(line("/mnt/x"), "--dir: /mnt/x does not exist on node1; create it there or pass another --dir");
  EXPECT_EQ(line("/data"), "--data-dir: /data does not exist on node1; create it there or pass another --data-dir");
}

TEST(CommandWords, WhatGarblesTheOutputIsShown) {
  EXPECT_THAT(CommandFailure({"node1", "podman", "", "Welcome!\n\xfePL", "exit code 4"}, kRoots).line,
              AllOf(StartsWith("node1: something else than the agent prints"), HasSubstr("'Welcome!?")));
  // A terminal joins standard error and output.
  EXPECT_THAT(CommandFailure({"node1", "podman", "",
                              "plimsoll-agent: --stdio: standard input is a terminal (pty), which changes bytes\r\n",
                              "exit code 2"},
                             kRoots)
                  .line,
              StartsWith("node1: --stdio: standard input is a terminal (pty)"));
}

}  // namespace
}  // namespace plimsoll
