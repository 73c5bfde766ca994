#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/protocol.h"

namespace plimsoll {
namespace {

// A host of a run in /mnt/mqlog/acceptance whose agent, `name`, says that `command` starts it again.
v1::HostJoined HostWith(const std::vector<std::string>& command, const std::string& name = "alpha") {
  v1::HostJoined host;
  host.set_label("node1");
  host.set_address("node1:7461");
  host.mutable_plan()->set_run_id("7f3a21");
  host.mutable_plan()->mutable_log()->mutable_workload()->set_dir("/mnt/mqlog/acceptance");
  host.mutable_description()->set_name(name);
  host.mutable_description()->mutable_cleanup_command()->Assign(command.begin(), command.end());
  return host;
}

std::string LineOf(const std::vector<std::string>& command, const std::string& name = "alpha") {
  return CleanupCommandLine(HostWith(command, name));
}

const std::string kEnds = " --listen 127.0.0.1:0 --exit-with-stdin </dev/null";

TEST(CleanupCommand, StartsAnAgentOfThatNameWithTheRootOfTheRun) {
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "--root", "/mnt/mqlog"}),
            "plimsoll-agent --name=alpha --root /mnt/mqlog" + kEnds);
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "--root", "/data", "--root", "/mnt/mqlog/acceptance/"}),
            "plimsoll-agent --name=alpha --root /mnt/mqlog/acceptance" + kEnds)
      << "the run was not in /data";
  EXPECT_EQ(LineOf({"systemctl", "start", "plimsoll-agent.service"}), "systemctl start plimsoll-agent.service");
}

TEST(CleanupCommand, HoldsNothingElseOfWhatAnAgentSays) {
  const std::string expected = "plimsoll-agent --name=alpha --root /mnt/mqlog" + kEnds;
  EXPECT_EQ(LineOf({"/home/mallory/plimsoll-agent", "--root", "/mnt/mqlog"}), expected) << "a path of its choice";
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "--root", "/", "--insecure", "--listen", "0.0.0.0:7461", "--root",
                    "/mnt/mqlog", "--ssh-command", "sh -c reboot"}),
            expected);
  EXPECT_EQ(LineOf({"/opt/bin/plimsoll", "clean", "--dir", "/mnt/mqlog", "--yes"}), "");
  EXPECT_EQ(LineOf({"/opt/bin/plimsoll", "clean", "--launch", "ssh", "--ssh-command", "sh -c reboot"}), "");
  for (const char* root : {"/", "//", "", "/mnt/mq", "mnt", "/mnt/mqlog/acceptance/below", "/mnt/../mnt/mqlog"}) {
    EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "--root", root}), "") << root;
  }
  EXPECT_EQ(LineOf({"systemctl", "start", "systemd-poweroff.service"}), "");
  EXPECT_EQ(LineOf({"systemctl", "isolate", "reboot.target"}), "");
  EXPECT_EQ(LineOf({}), "");
}

TEST(CleanupCommand, CannotBreakOutOfItsQuotesOrItsLine) {
  const std::vector<std::string> command = {"/usr/bin/plimsoll-agent", "--root", "/mnt/mqlog"};
  EXPECT_EQ(LineOf(command, "'; reboot '"), R"(plimsoll-agent --name=''\''; reboot '\''' --root /mnt/mqlog)" + kEnds);
  EXPECT_EQ(LineOf(command, "--insecure"), "plimsoll-agent --name=--insecure --root /mnt/mqlog" + kEnds)
      << "a value, not an option";
  EXPECT_EQ(LineOf(command, "a\nreboot"), "");
  EXPECT_EQ(LineOf(command, ""), "");
  EXPECT_EQ(LineOf(command, std::string(5000, 'x')), "") << "nobody can read it";
}

TEST(CleanupCommand, OfAnAgentThatTheControllerStartedIsPlimsollClean) {
  v1::HostJoined host = HostWith({"/usr/bin/plimsoll-agent", "--root", "/mnt/mqlog"});
  host.set_launch(v1::AGENT_LAUNCH_CHILD);
  EXPECT_EQ(CleanupCommandLine(host), "plimsoll clean --dir /mnt/mqlog/acceptance --run 7f3a21 --yes");
  host.set_launch(v1::AGENT_LAUNCH_SSH);
  EXPECT_EQ(CleanupCommandLine(host),
            "plimsoll clean --hosts node1:7461 --launch ssh --dir /mnt/mqlog/acceptance --run 7f3a21 --yes");
  EXPECT_EQ(CleanupAdvice(host),
            "if the agent on node1 was killed, its files remain; to remove them, run this on this machine: "
            "plimsoll clean --hosts node1:7461 --launch ssh --dir /mnt/mqlog/acceptance --run 7f3a21 --yes");
}

TEST(CleanupCommand, StartsTheAgentInTheSameWay) {
  v1::HostJoined host = HostWith({});
  host.set_launch(v1::AGENT_LAUNCH_COMMAND);
  for (const char* word : {"--launch", "podman exec -i {host}", "--agent-option=--allow-kept"}) {
    host.add_launch_words(word);
  }
  EXPECT_EQ(CleanupCommandLine(host),
            "plimsoll clean --hosts node1:7461 --launch 'podman exec -i {host}' --agent-option=--allow-kept --dir "
            "/mnt/mqlog/acceptance --run 7f3a21 --yes");
  host.set_launch_words(1, "sh -c 'reboot' {host}\n");
  EXPECT_EQ(CleanupCommandLine(host), "") << "another line";
}

TEST(CleanupCommand, ThereIsNothingToRemoveOfAWatch) {
  v1::HostJoined host = HostWith({"/usr/bin/plimsoll-agent", "--root", "/mnt/mqlog"});
  host.mutable_plan()->mutable_watch();
  host.set_launch(v1::AGENT_LAUNCH_CHILD);
  EXPECT_EQ(CleanupCommandLine(host), "");
  EXPECT_EQ(CleanupAdvice(host), "the watch has made no files on node1");
}

TEST(CleanupCommand, ThereIsNothingToRemoveOfFilesThatAPlanGivesByTheirPaths) {
  v1::HostJoined host = HostWith({"/usr/bin/plimsoll-agent", "--root", "/mnt/mqlog"});
  v1::LogWorkload& workload = *host.mutable_plan()->mutable_log()->mutable_workload();
  workload.add_files("/mnt/mqlog/acceptance/F000");
  EXPECT_EQ(CleanupCommandLine(host), "");
  EXPECT_EQ(CleanupAdvice(host), "the run has made no files on node1");
  workload.set_create(true);
  EXPECT_EQ(CleanupAdvice(host), "the files that --create has made on node1 are kept");
}

TEST(CleanupCommand, AdviceNamesTheWayWhereThereIsNoCommand) {
  EXPECT_EQ(CleanupAdvice(HostWith({})),
            "if the agent on node1 was killed, its files remain; to remove them, start it there again with the --name "
            "and --root that it had");
  EXPECT_EQ(CleanupAdvice(HostWith({"systemctl", "start", "plimsoll-agent.service"})),
            "if the agent on node1 was killed, its files remain; to remove them, run this on node1: "
            "systemctl start plimsoll-agent.service");
}

}  // namespace
}  // namespace plimsoll
