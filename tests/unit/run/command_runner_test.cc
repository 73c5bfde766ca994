// Commands of the user's own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <string>
#include <thread>

#include "common/posix.h"
#include "controller/run/process.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

std::string EndOf(RunningCommand& command) {
  while (true) {
    if (const auto ended = command.Poll(); ended.has_value()) return *ended;
    std::this_thread::yield();
  }
}

TEST(CommandRunnerTest, ReportsHowTheCommandEnded) {
  const auto runner = MakeCommandRunner();
  auto good = runner->Start({"true"});
  ASSERT_THAT(good, IsOk());
  EXPECT_EQ(EndOf(**good), "");
  EXPECT_EQ((*good)->exit_code(), 0);
  auto bad = runner->Start({"sh", "-c", "exit 3"});
  ASSERT_THAT(bad, IsOk());
  EXPECT_EQ(EndOf(**bad), "exit code 3");
  EXPECT_EQ((*bad)->exit_code(), 3);
  auto signalled = runner->Start({"sh", "-c", "kill -TERM $$"});
  ASSERT_THAT(signalled, IsOk());
  EXPECT_EQ(EndOf(**signalled), "ended by signal 15");
  EXPECT_EQ((*signalled)->exit_code(), -1);
  EXPECT_THAT(runner->Start({"/missing/program"}).status(), StatusIs(StatusCode::kNotFound, "/missing/program"));
  EXPECT_THAT(runner->Start({}).status(), StatusIs(StatusCode::kInvalidArgument, "no program"));
}

TEST(CommandRunnerTest, IsKilledWithItsChildrenWhereNobodyWaitsForItAnyMore) {
  const tests::TempDirectory directory;
  const std::string pipe = directory.Sub("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // The shell's child reads from the pipe until somebody ends it.
  auto command = MakeCommandRunner()->Start({"sh", "-c", "cat \"$0\" & wait", pipe});
  ASSERT_THAT(command, IsOk());
  // Returns when the child has opened its end.
  const UniqueFd end(open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(end.valid());
  EXPECT_FALSE((*command)->Poll().has_value());
  command->reset();
  pollfd reader{end.get(), 0, 0};
  EXPECT_EQ(poll(&reader, 1, 30'000), 1) << "the child still has its end open";
  EXPECT_NE(reader.revents & POLLERR, 0);
}

}  // namespace
}  // namespace plimsoll
