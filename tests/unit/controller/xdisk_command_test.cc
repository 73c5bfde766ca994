#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "common/command_line/command_line.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class XdiskCommandTest : public ::testing::Test {
 protected:
  XdiskCommandTest() {
    WrapHelp(app_);
    AddColorOption(app_, line_);
    AddXdiskCommand(app_, line_);
    AddHelpCommand(app_);
  }

  int Run(std::vector<std::string> words) {
    words.insert(words.begin(), "xdisk");
    out_.str("");
    err_.str("");
    return ParseAndRun(app_, words, line_);
  }

  CLI::App app_{"Test", "plimsoll"};
  std::ostringstream out_;
  std::ostringstream err_;
  CommandLine line_{{out_, err_}};
};

TEST_F(XdiskCommandTest, TheHeaderLineAloneNeedsNothingElse) {
  EXPECT_EQ(Run({"-P", "-V"}), static_cast<int>(Exit::kOk));
  EXPECT_THAT(out_.str(), StartsWith("BS Proc AIO read% IO Flag IO/s MB/s rMin-ms"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(XdiskCommandTest, EverySpellingOfHelpPrintsTheOptions) {
  EXPECT_EQ(Run({"--help"}), static_cast<int>(Exit::kOk));
  const std::string help = out_.str();
  EXPECT_THAT(help, HasSubstr("-M NUM"));
  EXPECT_THAT(help, HasSubstr("--overwrite"));
  for (const char* const word : {"-h", "-?"}) {
    EXPECT_EQ(Run({word}), static_cast<int>(Exit::kOk));
    EXPECT_EQ(out_.str(), help);
  }
  out_.str("");
  EXPECT_EQ(ParseAndRun(app_, {"help", "xdisk"}, line_), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), help);
}

TEST_F(XdiskCommandTest, AttachedValuesAndNamesOfCommandsAreXdisksOwn) {
  EXPECT_EQ(Run({"-S", "-M4", "-f", "/x", "-T", "xdisk", "-k"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(), "plimsoll: unknown option '-k'; see plimsoll xdisk --help\n");
  EXPECT_EQ(Run({"-S", "-f", "/x", "--overwrites"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(), "plimsoll: unknown option '--overwrites'; did you mean --overwrite?\n");
}

TEST_F(XdiskCommandTest, ALogThatCannotBeWrittenIsNamed) {
  EXPECT_EQ(Run({"-S", "-f", "/x", "-L", "/missing/log"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), StartsWith("plimsoll: -L: /missing/log cannot be written"));
}

TEST_F(XdiskCommandTest, NothingIsPrintedWhereTheLineIsWrong) {
  EXPECT_EQ(Run({"-S"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(), StartsWith("plimsoll: -f or -F is missing"));
}

}  // namespace
}  // namespace plimsoll
