// Commands of the user's own.
#include "controller/check/outside_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/status_matchers.h"

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
  // Returns at once, although the command would run for an hour.
  auto command = OutsideCommand::Start({"sh", "-c", "sleep 3600 & wait"});
  ASSERT_THAT(command, IsOk());
  EXPECT_FALSE((*command)->Poll().has_value());
  command->reset();
}

}  // namespace
}  // namespace plimsoll
