#include <gtest/gtest.h>

#include <vector>

#include "common/protocol.h"

namespace plimsoll {
namespace {

std::string LineOf(const std::vector<std::string>& command) {
  v1::HostDescription host;
  host.mutable_cleanup_command()->Assign(command.begin(), command.end());
  return CleanupCommandLine(host);
}

TEST(CleanupCommand, IsOneLineForAShell) {
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "--root", "/mnt/mq log", "--insecure"}),
            "/usr/bin/plimsoll-agent --root '/mnt/mq log' --insecure");
  EXPECT_EQ(LineOf({"systemctl", "start", "plimsoll-agent.service"}), "systemctl start plimsoll-agent.service");
  EXPECT_EQ(LineOf({"/opt/bin/plimsoll", "clean", "--dir", "/mnt/mqlog", "--yes"}),
            "/opt/bin/plimsoll clean --dir /mnt/mqlog --yes");
}

TEST(CleanupCommand, OfAnAgentThatSendsAnotherProgramIsNotShown) {
  EXPECT_EQ(LineOf({}), "");
  EXPECT_EQ(LineOf({"/bin/rm", "-rf", "/mnt"}), "");
  EXPECT_EQ(LineOf({"sh", "-c", "/usr/bin/plimsoll-agent"}), "");
  EXPECT_EQ(LineOf({"plimsoll-agent"}), "") << "a program of that name may lie in the directory of the shell";
  EXPECT_EQ(LineOf({"/opt/bin/plimsoll", "run"}), "");
  EXPECT_EQ(LineOf({"systemctl", "isolate", "rescue.target"}), "");
  EXPECT_EQ(LineOf({"systemctl", "start", "reboot.target"}), "");
}

TEST(CleanupCommand, CannotBreakOutOfItsQuotesOrItsLine) {
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "'; reboot '"}), R"(/usr/bin/plimsoll-agent ''\''; reboot '\''')");
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", "a\nreboot"}), "/usr/bin/plimsoll-agent 'a\uFFFDreboot'");
  EXPECT_EQ(LineOf({"/usr/bin/plimsoll-agent", std::string(5000, 'x')}), "") << "nobody can read it";
}

TEST(CleanupCommand, IsAdviceWhereThereIsOne) {
  v1::HostDescription host;
  EXPECT_EQ(CleanupAdvice("node1", host), "");
  host.add_cleanup_command("/usr/bin/plimsoll-agent");
  EXPECT_EQ(CleanupAdvice("node1", host),
            "if the agent on node1 was killed, its files remain; to remove them, run this on node1: "
            "/usr/bin/plimsoll-agent");
}

}  // namespace
}  // namespace plimsoll
