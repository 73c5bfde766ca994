#include "controller/run/held_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/units.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

std::string EndOf(HeldProgram& program) {
  for (;;) {
    if (const auto end = program.End(); end.has_value()) return *end;
    std::this_thread::yield();
  }
}

TEST(HeldProgram, DoesNothingBeforeItIsReleased) {
  const TempDirectory directory;
  const std::string made = absl::StrCat(directory.path(), "/made");
  const auto program = HeldProgram::Start({"touch", made});
  ASSERT_THAT(program, IsOk());
  EXPECT_GT((*program)->pid(), 0);
  EXPECT_EQ((*program)->path().front(), '/');
  EXPECT_EQ((*program)->End(), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(made));
  (*program)->Release(SystemClock::Read().value);
  EXPECT_EQ(EndOf(**program), "exit code 0");
  EXPECT_TRUE(std::filesystem::exists(made));
}

TEST(HeldProgram, StartsAtTheMomentOfItsRelease) {
  const auto program = HeldProgram::Start({"true"});
  ASSERT_THAT(program, IsOk());
  const int64_t at_ns = SystemClock::Read().value + 50 * kNsPerMs;
  (*program)->Release(at_ns);
  EXPECT_EQ(EndOf(**program), "exit code 0");
  EXPECT_GE(SystemClock::Read().value, at_ns);
}

TEST(HeldProgram, IsNeverExecutedIfItIsNotReleased) {
  const TempDirectory directory;
  const std::string made = absl::StrCat(directory.path(), "/made");
  {
    const auto program = HeldProgram::Start({"touch", made});
    ASSERT_THAT(program, IsOk());
  }
  EXPECT_FALSE(std::filesystem::exists(made));
}

TEST(HeldProgram, ReportsHowItEnded) {
  const auto program = HeldProgram::Start({"sh", "-c", "exit 3"});
  ASSERT_THAT(program, IsOk());
  (*program)->Release(0);
  EXPECT_EQ(EndOf(**program), "exit code 3");
  EXPECT_EQ((*program)->End(), "exit code 3");
}

TEST(HeldProgram, IsRefusedWhereItCannotBeExecuted) {
  const TempDirectory directory;
  const std::string text = absl::StrCat(directory.path(), "/text");
  std::ofstream(text) << "no program";
  EXPECT_THAT(HeldProgram::Start({"no-such-program-of-plimsoll"}),
              StatusIs(absl::StatusCode::kNotFound, "is not in PATH"));
  EXPECT_THAT(HeldProgram::Start({text}), StatusIs(absl::StatusCode::kNotFound, "is not an executable file"));
  EXPECT_THAT(HeldProgram::Start({"/no/such/program"}), StatusIs(absl::StatusCode::kNotFound, "/no/such"));
}

}  // namespace
}  // namespace plimsoll
