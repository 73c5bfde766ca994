// Commands that take plans from files.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "controller/cli/command.h"
#include "controller/cli/commands.h"
#include "tests/temp_directory.h"

namespace plimsoll {
namespace {

class PlanFilesTest : public ::testing::Test {
 protected:
  std::string Plan(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.Sub(name)) << text;
    return directory_.Sub(name);
  }

  // What is wrong with the line.
  static std::string Refused(const std::vector<std::string>& words) {
    std::ostringstream out;
    std::ostringstream err;
    CLI::App app{"Test", "plimsoll"};
    CommandLine line{{out, err}};
    for (const auto add_command : kCommands) add_command(app, line);
    EXPECT_EQ(ParseAndRun(app, words, line), static_cast<int>(Exit::kWrong)) << ::testing::PrintToString(words);
    return err.str();
  }

  const tests::TempDirectory directory_;
};

TEST_F(PlanFilesTest, ADrillOfThePlanOfARunIsOneErrorThatNamesTheCommand) {
  const std::string plan = Plan("run.yaml",
                                "workload: {dir: /x, file_size: 5000}\n"
                                "block_size: [4k, 8k]\n"
                                "hosts: [node1, node2]\n"
                                "criteria: [p99<1s]\n");
  EXPECT_EQ(Refused({"ha", plan, "--dry-run"}),
            "plimsoll: " + plan +
                " is the plan of a run: run it with `plimsoll run`, or make it a drill with --pairs, such as --pairs "
                "node1+node2\n");
}

TEST_F(PlanFilesTest, AbNamesThePlanInWhichAProblemIs) {
  const std::string good = Plan("good.yaml", "workload: {dir: /x}\nhosts: [node1]\n");
  const std::string bad = Plan("bad.yaml", "name: x\n");
  const std::string missing = "plimsoll: " + bad + ": --dir (workload.dir) is missing";
  EXPECT_EQ(Refused({"ab", good, bad}).substr(0, missing.size()), missing);
  EXPECT_EQ(Refused({"ab", bad, good}).substr(0, missing.size()), missing);
  const std::string wrong = Plan("wrong.yaml", "workload: {dir: x}\nhosts: [node1]\n");
  const std::string relative = "plimsoll: " + wrong + ":1: --dir (workload.dir) 'x'";
  EXPECT_EQ(Refused({"ab", good, wrong}).substr(0, relative.size()), relative);
  const std::string split = Plan("split.yaml", "workload: {qm_dirs: [/x, /y]}\nhosts: [node1]\n");
  const std::string several = "plimsoll: " + split + ": ab takes no plan with several directories";
  EXPECT_EQ(Refused({"ab", good, split}).substr(0, several.size()), several);
  // An option is in no plan.
  EXPECT_EQ(Refused({"ab", good, good, "--qm", "0"}).substr(0, 16), "plimsoll: --qm: ");
}

TEST_F(PlanFilesTest, AbNamesAMissingPlanBeforeWhatIsWrongInTheOther) {
  const std::string bad = Plan("bad.yaml", "name: x\n");
  const std::string none = directory_.Sub("none.yaml");
  const std::string error = "plimsoll: " + none + " does not exist; `plimsoll plan example` prints a plan\n";
  EXPECT_EQ(Refused({"ab", bad, none}), error);
  EXPECT_EQ(Refused({"ab", none, bad}), error);
}

}  // namespace
}  // namespace plimsoll
