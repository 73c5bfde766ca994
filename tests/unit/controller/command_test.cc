#include "controller/cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "common/command_line/command_line.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

// A program with one command, `go`, that returns 7, and a version.
class CommandTest : public ::testing::Test {
 protected:
  int Run(const std::vector<std::string>& args) {
    CLI::App app("Goes", "plimsoll");
    app.set_version_flag("--version", "plimsoll 1.2.3");
    CommandLine line{{out_, err_}};
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

TEST_F(CommandTest, TheCommandHelpPrintsWhatTheOptionDoes) {
  EXPECT_EQ(Run({"go", "--help"}), static_cast<int>(Exit::kOk));
  const std::string of_option = out_.str();
  out_.str("");
  EXPECT_EQ(Run({"help", "go"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), of_option);
  out_.str("");
  EXPECT_EQ(Run({"help", "go", "--help"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), of_option);
  out_.str("");
  EXPECT_EQ(Run({"help", "--help"}), static_cast<int>(Exit::kOk));
  EXPECT_THAT(out_.str(), HasSubstr("go"));
  EXPECT_EQ(Run({"help", "gi"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(), "plimsoll: unknown command 'gi'; did you mean go?\n");
}

TEST_F(CommandTest, NothingChosenIsBadInput) {
  EXPECT_EQ(Run({}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(), "plimsoll: no command; see plimsoll --help\n");
}

TEST_F(CommandTest, AnUnknownCommandOrOptionIsReportedInOneLineWithTheClosest) {
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
  CommandLine line{{out_, err_}};
  EXPECT_EQ(PrintError(line, absl::InternalError("a\nb"), Exit::kCannotRun), static_cast<int>(Exit::kCannotRun));
  EXPECT_EQ(err_.str(), "plimsoll: a b\n");
}

TEST_F(CommandTest, AnErrorIsColouredWhereStandardErrorIs) {
  CommandLine line{{out_, err_}};
  line.color_err = true;
  PrintError(line, "no", Exit::kWrong);
  EXPECT_EQ(err_.str(), "\033[31mplimsoll:\033[0m no\n");
}

TEST_F(CommandTest, ColorMayStandAnywhereOnTheLine) {
  CLI::App app("Goes", "plimsoll");
  CommandLine line{{out_, err_}};
  AddColorOption(app, line);
  app.add_subcommand("go", "Go")->callback([&line] { line.action = [] { return 7; }; });
  AddHelpCommand(app);
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"--color", "always", "go"}, {"go", "--color", "always"}, {"go", "--color=always"}}) {
    line.color_out = false;
    EXPECT_EQ(ParseAndRun(app, args, line), 7);
    EXPECT_TRUE(line.color_out);
  }
  EXPECT_EQ(ParseAndRun(app, {"help", "go", "--color=never"}, line), static_cast<int>(Exit::kOk));
  EXPECT_EQ(ParseAndRun(app, {"go", "--color", "often"}, line), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(ParseAndRun(app, {"go", "--color"}, line), static_cast<int>(Exit::kWrong));
}

// A command `go` with options of every kind.
class PrepareWordsTest : public ::testing::Test {
 protected:
  PrepareWordsTest() {
    CLI::App* go = app_.add_subcommand("go", "Go");
    go->add_option("PLAN", plan_, "Plan");
    go->add_option("--dir,-d", dir_, "Directory")->type_name("DIR");
    go->add_option("--hosts", hosts_, "Hosts")->type_name("LIST");
    go->add_option("--file-size,--fileSize", size_, "Size");
    go->add_option("--require", criteria_, "Criteria")->type_size(1)->expected(1)->take_all();
    go->add_flag("--until-steady{10m}", steady_, "Rounds");
    go->add_flag("--quiet,-q");
  }

  std::string Error(const std::vector<std::string>& words) {
    const auto prepared = PrepareWords(app_, words);
    return prepared.ok() ? "" : std::string(prepared.status().message());
  }

  CLI::App app_{"Goes", "plimsoll"};
  std::string plan_;
  std::string dir_;
  std::string hosts_;
  std::string size_;
  std::string steady_;
  std::vector<std::string> criteria_;
};

TEST_F(PrepareWordsTest, AValueThatMayBeLeftOutCanFollowABlank) {
  const auto words = [this](const std::vector<std::string>& given) { return PrepareWords(app_, given).value(); };
  EXPECT_THAT(words({"go", "--until-steady", "90s", "-q"}), ElementsAre("go", "--until-steady=90s", "-q"));
  EXPECT_THAT(words({"go", "--until-steady", "1.5h"}), ElementsAre("go", "--until-steady=1.5h"));
  for (const std::vector<std::string>& same : {std::vector<std::string>{"go", "--until-steady", "10m.yaml"},
                                               {"go", "--until-steady", "plan.yaml"},
                                               {"go", "--until-steady=5m", "plan.yaml"},
                                               {"go", "--until-steady"},
                                               {"go", "--until-steady", "--quiet"},
                                               {"go", "--", "--until-steady", "10m"}}) {
    EXPECT_EQ(words(same), same);
  }
}

TEST_F(PrepareWordsTest, AnOptionThatIsThereTwiceIsNamedAsItWasSpelled) {
  EXPECT_EQ(Error({"go", "-d", "/x", "--dir=/y"}), "-d and --dir are one option: give it once");
  EXPECT_EQ(Error({"go", "--file-size", "1m", "--fileSize", "2m"}),
            "--file-size and --fileSize are one option: give it once");
  EXPECT_EQ(Error({"go", "--hosts", "a", "--hosts", "b"}),
            "--hosts was given twice: list all values in one, separated by commas");
  EXPECT_EQ(Error({"go", "--until-steady", "--until-steady", "5m"}), "--until-steady was given twice: give it once");
  EXPECT_EQ(Error({"go", "--require", "a", "--require", "b", "-q", "-q"}), "");
}

TEST_F(PrepareWordsTest, AValueIsNotTakenForAnOption) {
  EXPECT_EQ(Error({"go", "--dir", "--hosts", "node1"}), "--dir needs a value: DIR");
  EXPECT_EQ(Error({"go", "-d", "-q"}), "-d needs a value: DIR");
  EXPECT_EQ(Error({"go", "--dir", "-x", "--hosts", "--other"}), "");
  EXPECT_EQ(Error({"go", "--dir", "dir", "--", "--dir", "--hosts"}), "");
  EXPECT_EQ(Error({"go", "-d/x", "-q"}), "");
}

TEST(ColorFirst, LeavesWhatFollowsTwoDashesAlone) {
  EXPECT_THAT(ColorFirst({"go", "--", "--color", "always"}), ElementsAre("go", "--", "--color", "always"));
}

TEST(PaintVerdicts, PaintsTheVerdictAndTheResultsOfCriteriaAlone) {
  const std::string report =
      "Verdict   FAIL: p99<10ms\n          PASS is no word of this\n\nCriteria, with the worst value of each step\n"
      "  criterion  result\n  p99<10ms   PASS    FAIL\n  PASSING    INCONCLUSIVE\n\nNotes\n  FAIL stays\n";
  EXPECT_EQ(PaintVerdicts(report, false), report);
  EXPECT_EQ(PaintVerdicts(report, true),
            "Verdict   \033[31mFAIL\033[0m: p99<10ms\n          PASS is no word of this\n\nCriteria, with the worst "
            "value of each "
            "step\n  criterion  result\n  p99<10ms   \033[32mPASS\033[0m    FAIL\n"
            "  PASSING    \033[33mINCONCLUSIVE\033[0m\n\nNotes\n  FAIL stays\n");
}

TEST(WrapHelp, BreaksDescriptionsBetweenWordsWithinTheWidth) {
  CLI::App app("Goes", "plimsoll");
  WrapHelp(app);
  const std::string word(30, 'x');
  const std::string three = word + " " + word + " " + word;
  const std::string wide(90, 'x');
  app.add_flag("--three", three);
  app.add_flag("--long", wide);
  app.add_subcommand("go", three)->add_flag("--fast", three);
  const std::string wrapped = word + " " + word + "\n" + std::string(30, ' ') + word + "\n";
  EXPECT_THAT(app.help(), AllOf(HasSubstr("  --three                     " + wrapped),
                                HasSubstr("  --long                      " + wide + "\n"),
                                HasSubstr("  go                          " + wrapped)));
  EXPECT_THAT(app.get_subcommand("go")->help(), HasSubstr("  --fast                      " + wrapped));
}

}  // namespace
}  // namespace plimsoll
