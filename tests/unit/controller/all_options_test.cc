// Every command of the program with every option that it takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/command_line/command_line.h"
#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class AllOptionsTest : public ::testing::Test {
 protected:
  AllOptionsTest() {
    WrapHelp(app_);
    AddColorOption(app_, line_);
    for (const auto add_command : kCommands) add_command(app_, line_);
  }

  // Calls `visit` with each command that has none below it, and its words.
  void EachCommand(const std::function<void(CLI::App&, const std::vector<std::string>&)>& visit) {
    Visit(app_, {}, visit);
  }

  // What is wrong with the line, which the command never sees.
  std::string Refused(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    err_.str("");
    EXPECT_EQ(ParseAndRun(app_, words, line_), static_cast<int>(Exit::kWrong)) << ::testing::PrintToString(words);
    return err_.str();
  }

  static bool TakesValue(const CLI::Option& option) { return option.get_items_expected_min() > 0; }
  static std::string Name(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

 private:
  static void Visit(CLI::App& app, const std::vector<std::string>& words,
                    const std::function<void(CLI::App&, const std::vector<std::string>&)>& visit) {
    const auto commands = app.get_subcommands([](const CLI::App* /*each*/) { return true; });
    if (commands.empty()) visit(app, words);
    for (CLI::App* command : commands) {
      std::vector<std::string> longer = words;
      longer.push_back(command->get_name());
      Visit(*command, longer, visit);
    }
  }

  CLI::App app_{"Test", "plimsoll"};
  std::ostringstream out_;
  std::ostringstream err_;
  CommandLine line_{{out_, err_}};
};

TEST_F(AllOptionsTest, AnOptionWithOneValueThatIsGivenTwiceIsNamed) {
  int options = 0;
  EachCommand([&](CLI::App& command, const std::vector<std::string>& words) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_lnames().empty() || option->get_items_expected_max() > 1) continue;
      if (!TakesValue(*option) && option->get_fnames().empty()) continue;
      const CLI::MultiOptionPolicy policy = option->get_multi_option_policy();
      if (policy == CLI::MultiOptionPolicy::TakeAll || policy == CLI::MultiOptionPolicy::Join) continue;
      ++options;
      const std::string name = Name(*option);
      EXPECT_THAT(Refused(words, {name + "=7", name + "=7"}), StartsWith("plimsoll: " + name + " was given twice: "));
      EXPECT_THAT(Refused(words, {name + "=7", "--" + option->get_lnames().back() + "=8"}),
                  StartsWith("plimsoll: " + name));
    }
  });
  EXPECT_GT(options, 200);
}

TEST_F(AllOptionsTest, AnOptionWithoutItsValueIsNamedAndNotTheOneAfterIt) {
  EachCommand([&](CLI::App& command, const std::vector<std::string>& words) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_lnames().empty() || !TakesValue(*option)) continue;
      const std::string name = Name(*option);
      const std::string needs = absl::StrCat("plimsoll: ", name, " needs a value");
      EXPECT_THAT(Refused(words, {name, "--help"}), StartsWith(needs));
      EXPECT_THAT(Refused(words, {name, "", "x"}), StartsWith(needs));
      EXPECT_THAT(Refused(words, {name + "=", "x"}), StartsWith(needs));
      EXPECT_THAT(Refused(words, {name}), StartsWith(needs));
      for (const CLI::Option* next : command.get_options()) {
        if (next->get_lnames().empty()) continue;
        EXPECT_THAT(Refused(words, {name, Name(*next), "node1"}), StartsWith(needs));
        EXPECT_THAT(Refused(words, {name, Name(*next) + "=node1"}), StartsWith(needs));
      }
    }
  });
}

TEST_F(AllOptionsTest, APlaceForResultsThatCannotBeIsNamedBeforeAnythingIsDone) {
  int options = 0;
  EachCommand([&](CLI::App& command, const std::vector<std::string>& words) {
    for (const CLI::Option* option : command.get_options()) {
      const std::string about = option->get_description();
      const bool directory = absl::StartsWith(about, "Directory for the results");
      if (!directory && !absl::StartsWith(about, "Also write") && !absl::StartsWith(about, "Write the plan")) continue;
      ++options;
      const std::string name = Name(*option);
      if (directory) {
        EXPECT_THAT(Refused(words, {name, "/etc/passwd"}),
                    EndsWith(": /etc/passwd exists and is not a directory; name another one\n"));
        EXPECT_THAT(Refused(words, {name, "/etc"}), HasSubstr("/etc is not empty: results are never overwritten"));
      } else {
        EXPECT_THAT(Refused(words, {name, "/missing/x.xml"}),
                    EndsWith(absl::StrCat(name,
                                          ": /missing/x.xml cannot be written: /missing does not exist; create it or "
                                          "pass another ",
                                          name, "\n")));
        EXPECT_THAT(Refused(words, {name, "/etc"}), EndsWith(name + ": /etc is a directory; name a file in it\n"));
      }
      EXPECT_THAT(Refused(words, {name, "/etc/passwd/x"}), HasSubstr("/etc/passwd is not a directory"));
    }
  });
  EXPECT_GE(options, 16);
}

TEST_F(AllOptionsTest, ADirectoryInPlaceOfAFileIsNamedWithItsOption) {
  const std::vector<std::vector<std::string>> lines = {{"hosts", "--hosts", "a", "--launch", "ssh", "--launch-agent"},
                                                       {"hosts", "--hosts-file"},
                                                       {"clean", "--dir", "/mnt/x", "--hosts-file"},
                                                       {"run", "--dir", "/mnt/x", "--hosts-file"},
                                                       {"plan", "from-mq", "--qm-ini"}};
  for (const std::vector<std::string>& line : lines) {
    EXPECT_EQ(Refused(line, {"/usr"}), "plimsoll: " + line.back() + ": /usr is a directory; name a file in it\n");
  }
  EXPECT_EQ(Refused({"plan", "from-mq", "--qm-ini", "/missing", "--amqsrua"}, {"/usr"}),
            "plimsoll: --qm-ini: open /missing: No such file or directory (2)\n"
            "plimsoll: --amqsrua: /usr is a directory; name a file in it\n");
}

TEST_F(AllOptionsTest, HelpNamesOptionsThatExcludeEachOtherInTheirDescriptions) {
  EachCommand([&](CLI::App& command, const std::vector<std::string>& words) {
    EXPECT_EQ(command.help().find("Excludes"), std::string::npos) << ::testing::PrintToString(words);
    for (const CLI::Option* option : command.get_options()) {
      for (const CLI::Option* other : option->get_excludes()) {
        const auto given = [](const CLI::Option& each) {
          if (!TakesValue(each)) return Name(each);
          return Name(each) + (Name(each) == "--summary" ? "=md" : Name(each) == "--ready" ? "=nfs" : "=7");
        };
        std::vector<std::string> line = {given(*option), given(*other)};
        if (command.get_option_no_throw("DIR") != nullptr) line.emplace_back("directory");
        if (Name(*option) == "--junit" || Name(*other) == "--junit") continue;  // takes a file that can be written
        EXPECT_THAT(Refused(words, line), EndsWith(" exclude each other: leave one of them out\n"));
      }
    }
  });
}

}  // namespace
}  // namespace plimsoll
