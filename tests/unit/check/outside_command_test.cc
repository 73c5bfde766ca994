// Commands of the user's own.
#include "controller/check/outside_command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <string>
#include <thread>

#include "common/posix.h"
#include "tests/status_matchers.h"
#include "tests/temp_directory.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
using ::testing::ElementsAre;
using testing::IsOk;
using testing::StatusIs;

absl::Status EndOf(OutsideCommand& command) {
  while (true) {
    if (const auto ended = command.Poll(); ended.has_value()) return *ended;
    std::this_thread::yield();
  }
}

TEST(OutsideCommandTest, SplitsAtBlanksAndThenFillsInTheHost) {
  EXPECT_THAT(CommandArguments("  power  off {host} bmc-{host} '$(date)'", "a b"),
              ElementsAre("power", "off", "a b", "bmc-a b", "'$(date)'"));
  EXPECT_THAT(CommandArguments(" ", "a"), ElementsAre());
}

TEST(OutsideCommandTest, TellsHowTheCommandEnded) {
  auto good = OutsideCommand::Start({"true"});
  ASSERT_THAT(good, IsOk());
  EXPECT_THAT(EndOf(**good), IsOk());
  auto bad = OutsideCommand::Start({"false"});
  ASSERT_THAT(bad, IsOk());
  EXPECT_THAT(EndOf(**bad), StatusIs(StatusCode::kAborted, "false ended with exit code 1"));
  EXPECT_THAT(OutsideCommand::Start({"/missing/program"}).status(),
              StatusIs(StatusCode::kNotFound, "/missing/program"));
  EXPECT_THAT(OutsideCommand::Start({}).status(), StatusIs(StatusCode::kInvalidArgument, "empty"));
}

TEST(OutsideCommandTest, IsKilledWithItsChildrenWhereNobodyWaitsForItAnyMore) {
  const testing::TempDirectory directory;
  const std::string pipe = directory.Sub("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  // The shell's child reads from the pipe until somebody ends it.
  auto command = OutsideCommand::Start({"sh", "-c", "cat \"$0\" & wait", pipe});
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
