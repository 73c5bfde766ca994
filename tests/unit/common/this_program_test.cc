#include "common/this_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/sha256.h"
#include "common/text.h"
#include "common/time_status.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

TEST(Sha256, IsThatOfTheStandardsExample) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(ThisProgram, HasTheDigestOfItsFile) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(bytes.empty());
  EXPECT_EQ(ThisProgramSha256(), Sha256(bytes));
}

TEST(ThisProgram, KnowsItsCommandLine) {
  EXPECT_THAT(ThisCommand(), HasSubstr("this_program_test"));
}

TEST(CommandText, IsWhatAShellReadsBack) {
  EXPECT_EQ(CommandText({"plimsoll", "run", "--dir", "/mnt/mq log", "--require", "p99<10ms", "--change", "it's"}),
            "plimsoll run --dir '/mnt/mq log' --require 'p99<10ms' --change 'it'\\''s'");
  EXPECT_EQ(CommandText({"plimsoll", ""}), "plimsoll ''");
}

TEST(CommandText, LeavesOutTheArgumentsOfAnotherProgram) {
  EXPECT_EQ(CommandText({"plimsoll", "watch", "--", "mqstart", "--password", "secret"}), "plimsoll watch -- \u2026");
  EXPECT_EQ(CommandText({"plimsoll", "watch", "--"}), "plimsoll watch --");
}

TEST(CommandText, IsOneLineOfBoundedLengthInUtf8) {
  EXPECT_EQ(CommandText({"plimsoll", "a\nb\xff"}), "plimsoll 'a\ufffdb\ufffd'");
  for (size_t more = 0; more < 4; ++more) {
    std::vector<std::string> arguments = {std::string(more, 'x')};
    for (int i = 0; i < 5'000; ++i) arguments.emplace_back("\u00e4");
    const std::string text = CommandText(arguments);
    EXPECT_LE(text.size(), kMostCommandBytes);
    EXPECT_GT(text.size(), kMostCommandBytes - 16);
    EXPECT_EQ(FindInvalidUtf8(text), std::string::npos);
    EXPECT_THAT(text, EndsWith("\u2026"));
  }
}

namespace fs = std::filesystem;

TEST(TimeService, IsFoundByTheNameOfItsProcess) {
  const tests::TempDirectory proc;
  const auto add = [&proc](const std::string& pid, const std::string& name) {
    fs::create_directory(proc.Sub(pid));
    std::ofstream(proc.Sub(pid + "/comm")) << name << "\n";
  };
  EXPECT_EQ(TimeServiceIn(proc.path()), "");
  add("1", "systemd");
  add("self", "chronyd");
  add("17", "chronyd-helper");
  EXPECT_EQ(TimeServiceIn(proc.path()), "") << "neither a process nor a whole name";
  // A kernel keeps 15 characters.
  add("200", "systemd-timesyn");
  EXPECT_EQ(TimeServiceIn(proc.path()), "systemd-timesyncd");
  fs::remove_all(proc.Sub("200"));
  add("201", "chronyd");
  EXPECT_EQ(TimeServiceIn(proc.path()), "chronyd");
  EXPECT_EQ(TimeServiceIn(proc.Sub("none")), "");
}

}  // namespace
}  // namespace plimsoll
