#include "controller/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

// A program with one command, `go`, that returns 7, and a version.
class CommandTest : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& args) {
    CLI::App app("Goes", "plimsoll");
    app.set_version_flag("--version", "plimsoll 1.2.3");
    CommandLine line{out_, err_, {}};
    CLI::App* go = app.add_subcommand("go", "Go");
    go->add_flag("--file-size");
    go->callback([&line] { line.action = [] { return 7; }; });
    return ParseAndRun(app, args, line);
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CommandTest, TheChosenCommandRunsAndItsCodeIsTheResult) {
  EXPECT_EQ(Run({"go"}), 7);
  EXPECT_EQ(out_.str() + err_.str(), "");
}

TEST_F(CommandTest, HelpAndVersionGoToStandardOutput) {
  EXPECT_EQ(Run({"--version"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), "plimsoll 1.2.3\n");
  EXPECT_EQ(Run({"go", "--help"}), static_cast<int>(Exit::kOk));
  EXPECT_THAT(out_.str(), HasSubstr("--file-size"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CommandTest, NothingChosenIsBadInput) {
  EXPECT_EQ(Run({}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(), "plimsoll: no command; see plimsoll --help\n");
}

TEST_F(CommandTest, AnUnknownCommandOrOptionIsToldInOneLineWithTheClosest) {
  EXPECT_EQ(Run({"gi"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Run({"go", "--fileSiz", "3"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Run({"go", "--unheard=1"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Run({"go", "east"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(),
            "plimsoll: unknown command 'gi'; did you mean go?\n"
            "plimsoll: unknown option '--fileSiz'; did you mean --file-size?\n"
            "plimsoll: unknown option '--unheard'\n"
            "plimsoll: unexpected argument 'east'\n");
}

TEST_F(CommandTest, AnErrorIsOneLineWhateverItsText) {
  CommandLine line{out_, err_, {}};
  EXPECT_EQ(PrintError(line, absl::InternalError("a\nb"), Exit::kCannotRun), static_cast<int>(Exit::kCannotRun));
  EXPECT_EQ(err_.str(), "plimsoll: a b\n");
}

TEST(WrapHelp, BreaksBetweenWordsWithinTheWidth) {
  EXPECT_EQ(WrapHelp("short"), "short");
  const std::string word(30, 'x');
  EXPECT_EQ(WrapHelp(word + " " + word + " " + word), word + " " + word + "\n" + word);
  EXPECT_EQ(WrapHelp(std::string(90, 'x')), std::string(90, 'x'));
}

}  // namespace
}  // namespace plimsoll
