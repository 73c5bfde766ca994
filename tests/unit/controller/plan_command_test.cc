#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "controller/cli/commands.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

class PlanCommandTest : public ::testing::Test {
 public:
  ~PlanCommandTest() override { std::filesystem::remove_all(dir_); }

 protected:
  PlanCommandTest() {
    std::string name = (std::filesystem::temp_directory_path() / "plimsoll-XXXXXX").string();
    dir_ = mkdtemp(name.data());
    path_ = dir_ + "/plan.yaml";
  }

  int Run(const std::vector<std::string>& args) {
    out_.str("");
    err_.str("");
    CLI::App app("Plimsoll", "plimsoll");
    CommandLine line{{out_, err_}};
    AddPlanCommand(app, line);
    return ParseAndRun(app, args, line);
  }

  // Checks a plan with this text.
  int Check(const std::string& text, const std::vector<std::string>& options = {}) {
    std::ofstream(path_) << text;
    std::vector<std::string> args = {"plan", "check", path_};
    args.insert(args.end(), options.begin(), options.end());
    return Run(args);
  }

  std::string dir_;
  std::string path_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(PlanCommandTest, TheExampleIsGood) {
  EXPECT_EQ(Run({"plan", "example"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), ExamplePlan());
  EXPECT_EQ(Check(ExamplePlan()), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), path_ + " is valid: 1 host, 1 queue manager, 1 step, 12s of writing\n");
}

TEST_F(PlanCommandTest, TheCommandsOfADrillAreShownBeforeAnybodyAllowsThem) {
  EXPECT_EQ(Check("workload: {dir: /mnt/log}\n"
                  "ha:\n"
                  "  pairs: [node1+node2]\n"
                  "  faults: [freeze]\n"
                  "  commands: [{fault: freeze, do: [sh, -c, 'reboot; sleep 1'], undo: [virsh, resume, '{host}']}]\n"),
            static_cast<int>(Exit::kOk))
      << err_.str();
  EXPECT_THAT(out_.str(),
              HasSubstr("\nfreeze: runs on this machine, with --allow-commands: sh -c 'reboot; sleep 1'; undone by: "
                        "virsh resume '{host}'\n"));
}

TEST_F(PlanCommandTest, ADrillIsSummedUpByItsPairsAndRounds) {
  EXPECT_EQ(Check("workload: {dir: /mnt/log, qm: 3}\nha: {pairs: [a+b, c+d], rounds: 8}\n"),
            static_cast<int>(Exit::kOk))
      << err_.str();
  EXPECT_THAT(out_.str(),
              ::testing::StartsWith(path_ + " is valid: a drill of 2 pairs of hosts, 6 queue managers, 8 rounds\n"));
}

TEST_F(PlanCommandTest, NamesHoldNoCharacterThatDoesNotShow) {
  EXPECT_EQ(Check("workload: {dir: \"/mnt/mq\\u200Blog\"}\n"), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("holds a character that does not show"));
}

TEST_F(PlanCommandTest, AGoodPlanIsSummedUpAndItsWeaknessesNoted) {
  EXPECT_EQ(
      Check("workload: {dir: /x, qm: 2, sync: none}\nblock_size: 4k,8k\nhosts: [a, {address: b, workload: {qm: 5}}]\n"),
      static_cast<int>(Exit::kOk));
  EXPECT_THAT(out_.str(),
              ::testing::StartsWith(path_ + " is valid: 2 hosts, 7 queue managers, 2 steps, 24s of writing\n"
                                            "note: --sync (workload.sync) none on a:7461 and 1 more:"));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(PlanCommandTest, EveryProblemIsALineOfItsOwn) {
  EXPECT_EQ(Check("workload: {dir: x, rate: 1, delay: 1}\n"), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(out_.str(), "");
  EXPECT_EQ(err_.str(), "plimsoll: " + path_ +
                            ":1: --dir (workload.dir) 'x' is not absolute: begin it with '/'\n"
                            "plimsoll: " +
                            path_ +
                            ":1: --rate (workload.rate) and --delay (workload.delay) are both given: a rate sets the "
                            "pauses by itself, leave one of them out\n");
}

TEST_F(PlanCommandTest, AMistakeInTheTextIsReportedWithItsPlace) {
  EXPECT_EQ(Check("workload:\n  dir: /x\n  qm: 0\n"), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(),
            "plimsoll: " + path_ + ":3:7: qm: '0' is out of range: expected a whole number from 1 to 4096\n");
}

TEST_F(PlanCommandTest, OptionsCompleteThePlan) {
  EXPECT_EQ(Check("name: x\n"), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Check("name: x\n", {"--dir", "/x", "--require", "p99<1ms"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), path_ + " is valid: this machine, 1 queue manager, 1 step, 12s of writing\n");
  EXPECT_EQ(Check("name: x\n", {"--dir", "/x", "--qm", "0"}), static_cast<int>(Exit::kWrong));
  EXPECT_THAT(err_.str(), HasSubstr("plimsoll: --qm: '0' is out of range"));
}

TEST_F(PlanCommandTest, WhatChoosesItsStepsItselfIsSummedUpByItsTime) {
  const std::string plan = "workload: {dir: /x}\ncriteria: [p99<1ms, max<1s]\n";
  EXPECT_EQ(Check(plan + "limit: {budget: 5m}\n"), static_cast<int>(Exit::kOk));
  EXPECT_THAT(out_.str(), HasSubstr("1 queue manager, at most 5m of writing\n"));
  EXPECT_EQ(Check(plan + "limit: {budget: 5m}\naccept: {runs: 3, parts: [load, limit]}\n"), static_cast<int>(Exit::kOk))
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("1 queue manager, at most 936s of writing\n"));
}

TEST_F(PlanCommandTest, AMissingFileIsBadInput) {
  EXPECT_EQ(Run({"plan", "check", dir_ + "/none.yaml"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(err_.str(), "plimsoll: " + dir_ + "/none.yaml does not exist; `plimsoll plan example` prints a plan\n");
  EXPECT_EQ(Run({"plan", "check"}), static_cast<int>(Exit::kWrong));
  EXPECT_EQ(Run({"plan"}), static_cast<int>(Exit::kWrong));
}

TEST_F(PlanCommandTest, EveryHelpEndsWithAnExample) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"plan"}, {"plan", "example"}, {"plan", "check"}, {"plan", "from-mq"}, {"plan", "reference"}}) {
    std::vector<std::string> args = command;
    args.emplace_back("--help");
    EXPECT_EQ(Run(args), static_cast<int>(Exit::kOk));
    EXPECT_THAT(out_.str(), HasSubstr("\nExample:\n  plimsoll plan "));
  }
}

TEST_F(PlanCommandTest, TheReferenceIsPrintedAndNotAdvertised) {
  EXPECT_EQ(Run({"plan", "reference"}), static_cast<int>(Exit::kOk));
  EXPECT_EQ(out_.str(), PlanReference());
  EXPECT_EQ(Run({"plan", "--help"}), static_cast<int>(Exit::kOk));
  EXPECT_THAT(out_.str(), ::testing::Not(HasSubstr("reference")));
}

}  // namespace
}  // namespace plimsoll
