#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "controller/cli/commands.h"
#include "controller/plan/plan_yaml.h"
#include "controller/playback/pattern_file.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/export/traced_journal.h"
#include "tests/unit/playback/watched_traces.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class FromWatchCommandTest : public ::testing::Test {
 protected:
  FromWatchCommandTest() : watched_(directory_.MakeDirectory("watched")) {
    const tests::SimRun run = tests::WatchedPair();
    std::vector<v1::JournalRecord> records = tests::AsWatch(run, tests::WatchedTwoQueueManagers());
    tests::AddSizedTraces(run, tests::WholePages, records);
    tests::WriteJournal(watched_ + "/journal", records);
  }
  int Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"plan", "from-watch"});
    out_.str("");
    err_.str("");
    CLI::App app("Plimsoll", "plimsoll");
    CommandLine line{{out_, err_}};
    AddPlanCommand(app, line);
    return ParseAndRun(app, args, line);
  }
  void ExpectRefused(const std::vector<std::string>& args, const std::string& why) {
    EXPECT_EQ(Run(args), static_cast<int>(Exit::kWrong));
    EXPECT_THAT(err_.str(), HasSubstr(why));
    EXPECT_EQ(out_.str(), "");
  }
  std::string pattern() const { return watched_ + "/pattern.plimsoll"; }

  tests::TempDirectory directory_;
  const std::string watched_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(FromWatchCommandTest, ThePatternLiesBesideTheJournalAndThePlanNamesIt) {
  ASSERT_EQ(Run({watched_}), static_cast<int>(Exit::kOk)) << err_.str();
  const absl::StatusOr<v1::TestPlan> plan = ReadPlan(out_.str(), "plan");
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->group_commit().pattern(), pattern());
  EXPECT_EQ(plan->group_commit().load_factor(), 1);
  const absl::StatusOr<PatternFile> file = PatternFile::Open(pattern(), plan->group_commit().pattern_sha256());
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->header().streams_size(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("note: beta/QM1, beta/QM2 have no log write"));
  EXPECT_THAT(err_.str(), HasSubstr("2 queue managers, 3,000 writes in 2s; the pattern is " + pattern()));
}

TEST_F(FromWatchCommandTest, TheSameWatchGivesTheSameFileAndPlanAgain) {
  ASSERT_EQ(Run({watched_ + "/"}), static_cast<int>(Exit::kOk)) << err_.str();
  const std::string first = out_.str();
  ASSERT_EQ(Run({watched_ + "/"}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_EQ(out_.str(), first);
}

TEST_F(FromWatchCommandTest, OptionsChooseTheFilesTheModeAndTheLoad) {
  const std::string out = directory_.Sub("plan.yaml");
  const std::string elsewhere = directory_.Sub("elsewhere");
  ASSERT_EQ(Run({watched_, "--out", out, "--pattern", elsewhere, "--load-factor", "2.5", "--playback", "writes"}),
            static_cast<int>(Exit::kOk))
      << err_.str();
  EXPECT_EQ(out_.str(), out + ": 2 queue managers, 3,000 writes in 2s; the pattern is " + elsewhere + "\n");
  EXPECT_FALSE(fs::exists(pattern()));
  const absl::StatusOr<v1::TestPlan> plan = ReadPlanFile(out);
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->group_commit().pattern(), elsewhere);
  EXPECT_EQ(plan->group_commit().load_factor(), 2.5);
  EXPECT_EQ(plan->group_commit().playback(), v1::PLAYBACK_MODE_WRITES);
}

TEST_F(FromWatchCommandTest, AValueThatARunWouldRefuseIsRefusedByItsOption) {
  ExpectRefused({watched_, "--load-factor", "0"}, "--load-factor");
  ExpectRefused({watched_, "--load-factor", "1001"}, "--load-factor");
  ExpectRefused({watched_, "--playback", "exact"}, "--playback");
  EXPECT_FALSE(fs::exists(pattern()));
}

TEST_F(FromWatchCommandTest, WhatCannotBeReadOrWrittenIsRefused) {
  ExpectRefused({directory_.Sub("none")}, "does not exist");
  ExpectRefused({directory_.MakeDirectory("empty")}, "holds no results of a run");
  ExpectRefused({watched_ + "/journal"}, "name a file with --pattern");
  ExpectRefused({watched_, "--pattern", watched_ + "/journal"}, "is the journal of the watch");
  ASSERT_EQ(mkfifo(directory_.Sub("pipe").c_str(), 0600), 0);
  ExpectRefused({watched_, "--pattern", directory_.Sub("pipe")}, "is not a regular file");
  ExpectRefused({watched_, "--pattern", directory_.Sub("no/such")}, directory_.Sub("no/such"));
  ExpectRefused({watched_, "--out", directory_.Sub("no/such")}, directory_.Sub("no/such"));
  ExpectRefused({watched_, "--out", watched_ + "/journal"}, "is the pattern file or the journal");
  ExpectRefused({watched_, "--out", pattern()}, "is the pattern file or the journal");
  EXPECT_EQ(Run({watched_ + "/journal", "--pattern", directory_.Sub("elsewhere")}), static_cast<int>(Exit::kOk));
  EXPECT_TRUE(fs::exists(directory_.Sub("elsewhere")));
}

TEST_F(FromWatchCommandTest, ALinkOfTheDefaultNameIsReplacedAndNotFollowed) {
  std::ofstream(directory_.Sub("precious")) << "mine";
  fs::create_symlink(directory_.Sub("precious"), pattern());
  ASSERT_EQ(Run({watched_}), static_cast<int>(Exit::kOk)) << err_.str();
  EXPECT_FALSE(fs::is_symlink(pattern()));
  EXPECT_EQ(fs::file_size(directory_.Sub("precious")), 4U);
}

TEST_F(FromWatchCommandTest, TheResultsOfSeveralRunsAreRefusedByTheirKind) {
  std::ofstream(watched_ + "/accept.json") << "{}";
  ExpectRefused({watched_}, "the parts of `plimsoll accept`, not one run");
}

}  // namespace
}  // namespace plimsoll
