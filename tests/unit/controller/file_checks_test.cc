#include "controller/app/file_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "controller/plan/plan_defaults.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

// One host, alpha, with the plan of a thread on /data/a, and what its agent reports of that file.
class FileChecksTest : public ::testing::Test {
 protected:
  FileChecksTest() {
    hosts_.push_back(std::make_unique<Host>());
    hosts_.back()->label = "alpha";
    file_.set_path("/data/a");
    file_.set_size_bytes(1 << 20);
  }

  static v1::TestPlan Plan(const std::string& workload, const std::string& more = "") {
    v1::TestPlan plan = PlanOf("workload: {files: [/data/a]" + workload + "}\n" + more);
    FillDefaults(plan);
    return plan;
  }

  // The file's problem, or "".
  std::string Check(const v1::TestPlan& plan, bool started = false) const {
    const auto failure = CheckFiles(plan, hosts_, {{file_}}, started);
    if (!failure.has_value()) return "";
    EXPECT_EQ(failure->code, Exit::kWrong);
    return failure->lines.size() == 1 ? failure->lines.front() : "several lines";
  }

  void Refuse(absl::StatusCode code, const std::string& error) {
    file_.set_error_code(static_cast<int32_t>(code));
    file_.set_error(error);
  }

  std::vector<std::unique_ptr<Host>> hosts_;
  v1::FileDescription file_;
};

TEST_F(FileChecksTest, AFileThatTheAgentAllowsIsReadAndWithOverwriteWritten) {
  EXPECT_EQ(Check(Plan("", "read: 100\n")), "");
  EXPECT_EQ(Check(Plan(", overwrite: true")), "");
  const std::string refused = "alpha: /data/a would be overwritten: pass --overwrite if its contents may be lost";
  EXPECT_EQ(Check(Plan("")), refused);
  EXPECT_EQ(Check(Plan("", "read: 99\n")), refused);
  file_.set_kept(true);
  EXPECT_EQ(Check(Plan("")), "") << "an earlier --create made it";
}

TEST_F(FileChecksTest, WhatTheAgentRefusesIsNamedWithItsHost) {
  file_.set_write_error("/data/a has two names (hard links)");
  EXPECT_EQ(Check(Plan("", "read: 100\n")), "") << "for writing alone";
  EXPECT_EQ(Check(Plan(", overwrite: true")), "alpha: /data/a has two names (hard links)");
  Refuse(absl::StatusCode::kPermissionDenied, "/data/a needs --allow-target");
  EXPECT_EQ(Check(Plan("", "read: 100\n")), "alpha: /data/a needs --allow-target");
  EXPECT_EQ(Check(Plan("")), "alpha: /data/a needs --allow-target");
  EXPECT_THAT(Check(Plan(""), /*started=*/true), EndsWith("pass --overwrite if its contents may be lost"));
}

TEST_F(FileChecksTest, TheAgentDecidesWhetherAFileCanBeCreated) {
  const v1::TestPlan create = Plan(", create: true");
  EXPECT_EQ(Check(create), "");
  Refuse(absl::StatusCode::kNotFound, "/data/a does not exist");
  file_.set_write_error("/data/a does not exist");
  EXPECT_EQ(Check(create), "");
  EXPECT_EQ(Check(Plan("", "read: 100\n")), "alpha: /data/a does not exist");
  file_.set_create_error("/data is not below --root");
  EXPECT_EQ(Check(create), "alpha: /data is not below --root");
}

TEST_F(FileChecksTest, AFileMustHaveTheSizeThatThePlanUses) {
  file_.set_size_bytes(8192);
  EXPECT_EQ(Check(Plan(", file_size: 16k", "read: 100\n")),
            "alpha: /data/a has 8,192 bytes, fewer than --file-size 16k: use a larger file, or a smaller --file-size");
  EXPECT_EQ(Check(Plan(", qm: 2", "read: 100\n")), "");
  EXPECT_THAT(Check(Plan(", qm: 3", "read: 100\n")), HasSubstr("fewer than 3 blocks of 4k"));
}

TEST_F(FileChecksTest, ManyProblemsAreCounted) {
  Refuse(absl::StatusCode::kNotFound, "missing");
  const auto failure = CheckFiles(Plan("", "read: 100\n"), hosts_, {HostFiles(30, file_)}, false);
  ASSERT_TRUE(failure.has_value());
  ASSERT_EQ(failure->lines.size(), 21U);
  EXPECT_EQ(failure->lines.back(), "and 10 more files");
}

TEST_F(FileChecksTest, ADryRunShowsWhatBecomesOfEachFile) {
  const auto shown = [this](const v1::TestPlan& plan) { return DescribeFiles(plan, hosts_, {{file_}}).back(); };
  EXPECT_THAT(shown(Plan("", "read: 100\n")), EndsWith("will be read"));
  EXPECT_THAT(shown(Plan(", overwrite: true")), EndsWith("will be overwritten"));
  file_.set_block_device(true);
  EXPECT_THAT(shown(Plan(", overwrite: true")), HasSubstr("block device"));
  file_.set_block_device(false);
  file_.set_kept(true);
  EXPECT_THAT(shown(Plan("")), HasSubstr("file, kept"));
  EXPECT_THAT(shown(Plan(", create: true")), EndsWith("will be emptied and created again"));
  EXPECT_THAT(shown(Plan(", create: true", "hosts: [{address: alpha, workload: {file_size: 2m}}]\n")),
              HasSubstr(" 2 MiB "));
}

TEST(RootsOfFiles, AreTheDirectoriesOfFilesAndNotOfDevices) {
  v1::TestPlan plan = PlanOf("workload: {qm: 4, files: [/data/a, /data/b, /dev/sdx, /dev/mapper/y]}\n");
  FillDefaults(plan);
  const std::vector<AgentRoot> roots = RootsOfFiles(plan.workload());
  ASSERT_EQ(roots.size(), 1U);
  EXPECT_EQ(roots.front().path, "/data");
}

TEST(PermissionsOfFiles, AStartedAgentMayOpenFilesThatExistToReadOrOverwriteThem) {
  const auto options = [](const std::string& more) {
    v1::TestPlan plan = PlanOf("workload: {qm: 2, files: [/proc/self/exe, /nowhere/b]" + more);
    FillDefaults(plan);
    return PermissionsOfFiles(plan);
  };
  EXPECT_THAT(options("}\nread: 100\n"), ElementsAre("--allow-kept", "--allow-target", "/proc/self/exe"));
  EXPECT_THAT(options(", overwrite: true}\n"), ElementsAre("--allow-kept", "--allow-target", "/proc/self/exe"));
  EXPECT_THAT(options("}\n"), ElementsAre("--allow-kept"));
  EXPECT_THAT(options(", create: true}\n"), ElementsAre("--allow-kept"));
}

}  // namespace
}  // namespace plimsoll
