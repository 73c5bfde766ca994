#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/host/describe.h"
#include "common/posix.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class QueueManagersTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& relative) {
    const std::string path = directory_.path() + "/" + relative;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "x";
    return path;
  }
  // What is found of this test: others may hold extents on the same file system meanwhile.
  std::vector<std::string> Find() {
    std::vector<std::string> ours;
    for (const std::string& sign : FindQueueManagers(directory_.path(), directory_.path(), [] { return false; })) {
      if (sign.find(directory_.path()) != std::string::npos) ours.push_back(sign);
    }
    return ours;
  }

  tests::TempDirectory directory_;
};

TEST(QueueManagerLog, IsRecognisedByItsName) {
  EXPECT_TRUE(IsQueueManagerLog("/mnt/mq/QM1/active/S0000012.LOG"));
  EXPECT_TRUE(IsQueueManagerLog("/mnt/mq/QM1/amqhlctl.lfh"));
  EXPECT_FALSE(IsQueueManagerLog("/mnt/mq/QM1/active/S000001.LOG"));
  EXPECT_FALSE(IsQueueManagerLog("/mnt/mq/QM1/active/S0000012.LOG (deleted)"));
  EXPECT_FALSE(IsQueueManagerLog("/mnt/mq/X0000012.LOG"));
  EXPECT_FALSE(IsQueueManagerLog(""));
}

TEST_F(QueueManagersTest, AnEmptyFileSystemHasNone) {
  EXPECT_THAT(Find(), IsEmpty());
}

TEST_F(QueueManagersTest, AControlFileIsFound) {
  const std::string path = Make("QM1/amqhlctl.lfh");
  EXPECT_THAT(Find(), Contains(path));
}

TEST_F(QueueManagersTest, AProcessThatHoldsAnExtentIsNamed) {
  const std::string extent = Make("QM1/active/S0000000.LOG");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    // Held until the pipe ends.
    [[maybe_unused]] const int fd = open(extent.c_str(), O_RDONLY);
    char byte = 0;
    [[maybe_unused]] const ssize_t n = read(ends[0], &byte, 1);
    _exit(0);
  }
  close(ends[0]);
  UniqueFd hold(ends[1]);
  std::vector<std::string> found;
  // The child needs a moment to open it.
  while (found.empty() && waitpid(child, nullptr, WNOHANG) == 0) found = Find();
  EXPECT_THAT(found, Contains(HasSubstr("holds " + extent)));
  EXPECT_THAT(found, Contains(HasSubstr("process " + std::to_string(child))));
  hold.Reset();
  waitpid(child, nullptr, 0);
}

TEST_F(QueueManagersTest, OurOwnRunsDoNotCount) {
  const UniqueFd held(open(Make("plimsoll-7f3a21/alpha/qm1/active/S0000000.LOG").c_str(), O_RDONLY));
  // Another process: this one passes itself over.
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  EXPECT_THAT(Find(), IsEmpty());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace plimsoll
