// What is listed of the runs in a directory, and what may be cleaned there.
#include <fcntl.h>

#include "agent/host/run_ownership.h"
#include "agent/host/sandbox.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

class CleanTest : public ::testing::Test {
 protected:
  CleanTest() { sandbox_ = *Sandbox::Create({temp_.path()}, kMine); }

  // A host directory with one extent, as a killed agent leaves it. Returns its path.
  std::string Leave(const OwnerMarker& owner) {
    const std::string path = temp_.MakeDirectory("plimsoll-" + owner.run_id + "/" + owner.host_label);
    fs::create_directories(path + "/qm1/active");
    tests::WriteText(path + "/qm1/active/S0000000.LOG", tests::ExtentPage(owner.run_token));
    tests::WriteText(path + "/" + kOwnerMarkerName, FormatOwnerMarker(owner));
    return path;
  }
  // Paths that went, and "PATH: reason" for those that stay.
  std::vector<std::string> Clean(const std::string& run_id, const std::function<absl::Status()>& may_continue = {}) {
    const auto cleaned = sandbox_->Clean(temp_.path(), run_id, may_continue);
    EXPECT_THAT(cleaned, IsOk());
    std::vector<std::string> told;
    if (!cleaned.ok()) return told;
    for (const v1::CleanedDirectory& each : *cleaned) {
      told.push_back(each.left().empty() ? each.path() : each.path() + ": " + each.left());
    }
    return told;
  }

  TempDirectory temp_;
  std::unique_ptr<Sandbox> sandbox_;
};

using Told = std::vector<std::string>;

TEST_F(CleanTest, TakesItsOwnAndLeavesWhatIsKeptSharedOrAnothers) {
  const std::string mine = Leave({kMine, "0a", {}, "alpha"});
  const std::string kept = Leave({kMine, "0b", {}, "alpha", true});
  const std::string shared = Leave({kMine, "0c", {}, "alpha", false, true});
  const std::string other = Leave({kOther, "0a", {}, "beta"});
  EXPECT_EQ(Clean(""), Told{mine});
  EXPECT_FALSE(fs::exists(mine));
  for (const std::string& path : {kept, shared, other}) {
    EXPECT_TRUE(fs::exists(path + "/qm1/active/S0000000.LOG")) << path;
  }
}

TEST_F(CleanTest, TakesWhatIsKeptOrSharedByItsNameAlone) {
  const std::string kept = Leave({kMine, "0b", {}, "alpha", true});
  const std::string shared = Leave({kMine, "0c", {}, "alpha", false, true});
  // Hosts of a pair share a directory: either may remove it.
  const std::string others_shared = Leave({kOther, "0d", {}, "beta", false, true});
  EXPECT_EQ(Clean("0b"), Told{kept});
  EXPECT_EQ(Clean("0c"), Told{shared});
  EXPECT_EQ(Clean("0d"), Told{others_shared});
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(CleanTest, NeverTakesAnothersNorWhatIsInUse) {
  const std::string other = Leave({kOther, "0a", {}, "alpha"});
  const std::string used = Leave({kMine, "0b", {}, "alpha", false, true});
  const UniqueFd lock(open((used + "/" + kOwnerMarkerName).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(LockFile(lock.get()), LockOutcome::kLocked);
  EXPECT_EQ(Clean("0a"), Told{});
  EXPECT_EQ(Clean("0b"), Told{used + ": its owner is alive"});
  for (const std::string& path : {other, used}) EXPECT_TRUE(fs::exists(path + "/qm1/active/S0000000.LOG")) << path;
}

TEST_F(CleanTest, TakesWhatAKilledAgentHadStaged) {
  const std::string staged = temp_.MakeDirectory(FormatStagingName({kMine, "0a", {}, "alpha"}, 3));
  EXPECT_EQ(Clean(""), Told{staged});
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(CleanTest, StopsBeforeTheNextFileWhenItMayNotContinue) {
  const std::string mine = Leave({kMine, "0a", {}, "alpha"});
  for (int number = 1; number < 5; ++number) {
    tests::WriteText(mine + "/qm1/active/S000000" + std::to_string(number) + ".LOG", tests::ExtentPage());
  }
  int asked = 0;
  const Told told = Clean("", [&] { return ++asked <= 3 ? absl::OkStatus() : absl::CancelledError("stopped"); });
  EXPECT_EQ(told, Told{mine + ": stopped"});
  // Asked once for the directory and twice for files.
  EXPECT_EQ(std::distance(fs::directory_iterator(mine + "/qm1/active"), {}), 3);
  EXPECT_TRUE(fs::exists(mine + "/" + kOwnerMarkerName)) << "what is left can be cleaned later";
  EXPECT_EQ(Clean(""), Told{mine});
}

TEST_F(CleanTest, RefusesWhatIsNoRunAndWhatIsOutside) {
  EXPECT_THAT(sandbox_->Clean(temp_.path(), "../x", {}), StatusIs(StatusCode::kInvalidArgument, "run id '../x'"));
  EXPECT_THAT(sandbox_->Clean("/", "", {}), StatusIs(StatusCode::kPermissionDenied, "--root"));
  EXPECT_THAT(sandbox_->ListRunDirectories("/"), StatusIs(StatusCode::kPermissionDenied, "--root"));
}

TEST_F(CleanTest, ListsEachDirectoryWithItsOwnerAgeAndSize) {
  const std::string mine = Leave({kMine, "0a", {}, "alpha"});
  const std::string other = Leave({kOther, "0a", {}, "beta", true});
  const std::string nobodys = temp_.MakeDirectory("plimsoll-0b/alpha");
  temp_.MakeDirectory("plimsoll-notes/alpha");
  temp_.MakeDirectory("below/plimsoll-0c/alpha");
  const auto listed = sandbox_->ListRunDirectories(temp_.path());
  ASSERT_THAT(listed, IsOk());
  ASSERT_EQ(listed->size(), 3U);
  const v1::RunDirectoryDescription& first = listed->at(0);
  EXPECT_EQ(first.path(), mine);
  EXPECT_EQ(first.owner(), v1::RUN_DIRECTORY_OWNER_THIS_AGENT);
  EXPECT_EQ(first.files(), 1U);
  EXPECT_EQ(first.bytes(), 4096U);
  EXPECT_FALSE(first.in_use() || first.kept() || first.shared());
  EXPECT_EQ(listed->at(1).path(), other);
  EXPECT_EQ(listed->at(1).owner(), v1::RUN_DIRECTORY_OWNER_OTHER_AGENT);
  EXPECT_TRUE(listed->at(1).kept());
  EXPECT_EQ(listed->at(2).path(), nobodys);
  EXPECT_EQ(listed->at(2).owner(), v1::RUN_DIRECTORY_OWNER_UNKNOWN);
  EXPECT_NE(listed->at(2).note().find(kOwnerMarkerName), std::string::npos) << listed->at(2).note();
}

TEST(StagingName, IsReadBackAsWrittenAndByItsAgentAlone) {
  const auto staged = ParseStagingName(FormatStagingName({"test-agent", "0a", {}, "node-1.example"}, 99), "test-agent");
  ASSERT_TRUE(staged.has_value());
  EXPECT_EQ(staged->run_id, "0a");
  EXPECT_EQ(staged->host_label, "node-1.example");
  for (const char* name :
       {"", ".plimsoll-", ".plimsoll-test-agent-", ".plimsoll-test-agent-0a~1", ".plimsoll-test-agent-0a-~1",
        ".plimsoll-test-agent-xx-alpha~1", ".plimsoll-test-agent-0a-a/b~1", ".plimsoll-other-0a-alpha~1"}) {
    EXPECT_FALSE(ParseStagingName(name, "test-agent").has_value()) << name;
  }
}

}  // namespace
}  // namespace plimsoll
