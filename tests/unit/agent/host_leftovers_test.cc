// What a killed agent left, and what its successor may remove of it.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/host/leftovers.h"
#include "agent/host/run_ownership.h"
#include "agent/host/sandbox.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kMarker[] = "/.plimsoll-owner";

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() { sandbox_ = *Sandbox::Create({temp_.path()}, kMine); }

  // The directory as a killed agent leaves it; `below` is a directory below the root, "." for the root.
  std::string Leave(const std::string& below, const std::string& run_id, const std::string& label,
                    const std::string& agent_id, bool kept = false) {
    const std::string path = temp_.MakeDirectory(below + "/plimsoll-" + run_id + "/" + label);
    fs::create_directories(path + "/qm1/active");
    fs::create_directories(path + "/qm12/active");
    tests::WriteText(path + "/qm1/active/S0000000.LOG", tests::ExtentPage());
    tests::WriteText(path + "/qm12/active/S0000000.LOG", tests::ExtentPage());
    tests::WriteText(path + kMarker, FormatOwnerMarker({agent_id, run_id, {}, label, kept}));
    return path;
  }

  TempDirectory temp_;
  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(LeftoversTest, RemovesItsOwnWhereverARunMayHaveBeen) {
  const std::string top = Leave(".", "0a", "alpha", kMine);
  const std::string below = Leave("mnt/storage", "0b", "alpha", kMine);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), UnorderedElementsAre(top, below));
  EXPECT_FALSE(fs::exists(temp_.Sub("plimsoll-0a")));
  EXPECT_TRUE(fs::is_empty(temp_.Sub("mnt/storage")));
}

TEST_F(LeftoversTest, LeavesOtherAgentsAlone) {
  const std::string other = Leave(".", "0a", "beta", kOther);
  const std::string mine = Leave(".", "0a", "alpha", kMine);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(mine));
  EXPECT_FALSE(fs::exists(mine));
  EXPECT_TRUE(fs::exists(other + "/qm1/active/S0000000.LOG"));
}

TEST_F(LeftoversTest, LeavesWhatIsInUse) {
  auto run = sandbox_->MakeRunDirectory(temp_.path(), "0a", {}, "alpha");
  ASSERT_THAT(run, IsOk());
  ASSERT_THAT((*run)->CreateFile("qm1/active/S0000000.LOG", O_RDWR), IsOk());
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_EQ(*(*run)->Remove(), 1U);
}

TEST_F(LeftoversTest, LeavesAMarkerThatAnotherOpeningHasLocked) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  UniqueFd owner(open((path + kMarker).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(LockFile(owner.get()), LockOutcome::kLocked);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_TRUE(fs::exists(path + "/qm1/active/S0000000.LOG"));
  owner.Reset();
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(path));
}

TEST_F(LeftoversTest, LeavesWhatWasToBeKept) {
  const std::string path = Leave(".", "0a", "alpha", kMine, true);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_TRUE(fs::exists(path + "/qm1/active/S0000000.LOG"));
}

TEST_F(LeftoversTest, LeavesDirectoriesWithoutAWholeMarker) {
  const std::string none = Leave(".", "0a", "alpha", kMine);
  fs::remove(none + kMarker);
  const std::string empty = Leave(".", "0b", "alpha", kMine);
  tests::WriteText(empty + kMarker, "");
  const std::string moved = Leave(".", "0c", "alpha", kMine);
  fs::copy_file(moved + kMarker, empty + "/other", fs::copy_options::overwrite_existing);
  fs::rename(empty + "/other", empty + kMarker);
  const std::string pipe = Leave(".", "0d", "alpha", kMine);
  fs::remove(pipe + kMarker);
  ASSERT_EQ(mkfifo((pipe + kMarker).c_str(), 0600), 0);
  const std::string link = Leave(".", "0e", "alpha", kMine);
  fs::rename(link + kMarker, temp_.Sub("real-marker"));
  fs::create_symlink(temp_.Sub("real-marker"), link + kMarker);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(moved));
  for (const std::string& path : {none, empty, pipe, link}) {
    EXPECT_TRUE(fs::exists(path + "/qm1/active/S0000000.LOG")) << path;
  }
}

TEST_F(LeftoversTest, LeavesFilesThatNoRunMakes) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  tests::WriteText(path + "/notes.txt", "precious");
  tests::WriteText(path + "/qm1/notes.txt", "precious");
  fs::create_directories(path + "/qm1/active/sub");
  fs::create_directories(path + "/qmx/active");
  tests::WriteText(path + "/qmx/active/S0000000.LOG", "precious");
  fs::create_directories(temp_.MakeDirectory("elsewhere") + "/active");
  tests::WriteText(temp_.Sub("elsewhere/active/S0000000.LOG"), "precious");
  fs::create_directory_symlink(temp_.Sub("elsewhere"), path + "/qm7");
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_FALSE(fs::exists(path + "/qm1/active/S0000000.LOG"));
  EXPECT_FALSE(fs::exists(path + "/qm12"));
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path + "/qm1/notes.txt"));
  EXPECT_TRUE(fs::exists(path + "/qm1/active/sub"));
  EXPECT_TRUE(fs::exists(path + "/qmx/active/S0000000.LOG"));
  EXPECT_TRUE(fs::exists(temp_.Sub("elsewhere/active/S0000000.LOG")));
}

TEST_F(LeftoversTest, RemovesFilesThatThePlanNamedAndNoOthersBesideThem) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  fs::create_directories(path + "/files");
  tests::WriteText(path + "/files/F000", tests::ExtentPage());
  tests::WriteText(path + "/files/F001", "");
  const auto listed = sandbox_->ListRunDirectories(temp_.path());
  ASSERT_THAT(listed, IsOk());
  ASSERT_THAT(*listed, SizeIs(1));
  EXPECT_EQ(listed->front().files(), 4U);
  tests::WriteText(path + "/files/precious", "precious");
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_FALSE(fs::exists(path + "/files/F000"));
  EXPECT_FALSE(fs::exists(path + "/files/F001"));
  EXPECT_TRUE(fs::exists(path + "/files/precious"));
  fs::remove(path + "/files/precious");
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(path));
}

TEST_F(LeftoversTest, RemovesQueueFilesAndNoOthersBesideThem) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  const std::string queues = path + "/qm1/queues/";
  fs::create_directories(queues);
  for (const char* name : {"queue1", "queue12", "queue", "queue1.old"}) {
    tests::WriteText(queues + name, tests::ExtentPage());
  }
  tests::WriteText(queues + "queue2", "precious");
  const auto listed = sandbox_->ListRunDirectories(temp_.path());
  ASSERT_THAT(listed, IsOk());
  ASSERT_THAT(*listed, SizeIs(1));
  EXPECT_EQ(listed->front().files(), 7U);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  for (const char* removed : {"queue1", "queue12"}) EXPECT_FALSE(fs::exists(queues + removed)) << removed;
  for (const char* kept : {"queue", "queue1.old", "queue2"}) {
    EXPECT_TRUE(fs::exists(queues + kept)) << kept;
    fs::remove(queues + kept);
  }
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(path));
}

TEST_F(LeftoversTest, LeavesFilesInAnExtentsPlaceThatTheRunDidNotWrite) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  const std::string active = path + "/qm1/active/";
  tests::WriteText(active + "S0000001.LOG", "a queue manager's log");
  tests::WriteText(active + "S0000002.LOG", tests::ExtentPage({1}));  // another run's
  tests::WriteText(active + "notes.txt", "precious");
  tests::WriteText(temp_.Sub("precious"), "precious");
  fs::create_hard_link(temp_.Sub("precious"), active + "S0000003.LOG");
  fs::create_symlink(temp_.Sub("precious"), active + "S0000004.LOG");
  ASSERT_EQ(mkfifo((active + "S0000005.LOG").c_str(), 0600), 0);
  tests::WriteText(active + "S0000006.LOG", "");  // made, and not filled yet
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  for (const char* kept :
       {"S0000001.LOG", "S0000002.LOG", "notes.txt", "S0000003.LOG", "S0000004.LOG", "S0000005.LOG"}) {
    EXPECT_TRUE(fs::exists(fs::symlink_status(active + kept))) << kept;
  }
  EXPECT_FALSE(fs::exists(active + "S0000000.LOG"));
  EXPECT_FALSE(fs::exists(active + "S0000006.LOG"));
  EXPECT_EQ(tests::ReadText(temp_.Sub("precious")), "precious");
  EXPECT_TRUE(fs::exists(path + kMarker)) << "until all is gone the marker tells whose it was";
}

TEST_F(LeftoversTest, OpensNoDeviceThatStandsInPlaceOfAMarkerOrAnExtent) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  const std::string other = Leave(".", "0b", "alpha", kMine);
  if (mknod((path + "/qm1/active/S0000001.LOG").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "devices need root";
  }
  fs::remove(other + kMarker);
  ASSERT_EQ(mknod((other + kMarker).c_str(), S_IFCHR | 0600, makedev(1, 3)), 0);
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_TRUE(fs::is_character_file(path + "/qm1/active/S0000001.LOG"));
  EXPECT_TRUE(fs::is_character_file(other + kMarker));
  EXPECT_TRUE(fs::exists(other + "/qm1/active/S0000000.LOG"));
}

TEST_F(LeftoversTest, RemovesWhatAnAgentLeftThatWasKilledWhileItBeganOrEnded) {
  const OwnerMarker owner = {kMine, "0a", {}, "alpha"};
  // Before its marker, before the marker said anything, before it was published, and after it was withdrawn.
  fs::create_directory(temp_.Sub(FormatStagingName(owner, 0)));
  tests::WriteText(temp_.MakeDirectory(FormatStagingName(owner, 1)) + kMarker, "");
  tests::WriteText(temp_.MakeDirectory(FormatStagingName(owner, 2)) + kMarker, FormatOwnerMarker(owner));
  fs::create_directory(temp_.Sub("plimsoll-0a"));
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty()) << "no host directory was there";
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

TEST_F(LeftoversTest, LeavesStagedDirectoriesOfOthersAndOfThoseThatLive) {
  const std::string other = temp_.MakeDirectory(FormatStagingName({kOther, "0a", {}, "alpha"}, 0));
  const std::string living = temp_.MakeDirectory(FormatStagingName({kMine, "0b", {}, "alpha"}, 0));
  tests::WriteText(living + kMarker, "");
  const UniqueFd lock(open((living + kMarker).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(LockFile(lock.get()), LockOutcome::kLocked);
  const std::string filled = temp_.MakeDirectory(FormatStagingName({kMine, "0c", {}, "alpha"}, 0));
  tests::WriteText(filled + "/notes.txt", "precious");
  fs::create_directory_symlink(other, temp_.Sub(FormatStagingName({kMine, "0d", {}, "alpha"}, 0)));
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  for (const std::string& path : {other, living + kMarker, filled + "/notes.txt"})
    EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(LeftoversTest, LeavesWhatHostsShare) {
  const std::string path = Leave(".", "0a", "alpha", kMine);
  OwnerMarker marker = {kMine, "0a", {}, "alpha"};
  marker.shared = true;
  tests::WriteText(path + kMarker, FormatOwnerMarker(marker));
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  EXPECT_TRUE(fs::exists(path + "/qm1/active/S0000000.LOG"));
}

TEST_F(LeftoversTest, EntersNoMountBelowARunDirectory) {
  Leave(".", "0a", "alpha", kMine);
  const std::string outside = temp_.MakeDirectory("outside/active");
  tests::WriteText(outside + "/S0000000.LOG", tests::ExtentPage());
  for (const char* where : {"plimsoll-0a/alpha/qm1", "plimsoll-0a/alpha"}) {
    const int result = tests::InChild([&]() -> int {
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return kNotPermitted;
      if (mount(temp_.Sub("outside").c_str(), temp_.Sub(where).c_str(), nullptr, MS_BIND, nullptr) != 0)
        return kNotPermitted;
      return sandbox_->RemoveLeftovers().empty() ? kHeld : kBroken;
    });
    if (result == kNotPermitted) GTEST_SKIP() << "mounts need root";
    EXPECT_EQ(result, kHeld) << where;
    EXPECT_TRUE(fs::exists(outside + "/S0000000.LOG")) << where;
    EXPECT_TRUE(fs::exists(temp_.Sub("plimsoll-0a/alpha") + kMarker)) << where;
  }
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(temp_.Sub("plimsoll-0a/alpha")));
}

TEST_F(LeftoversTest, SearchesThreeLevelsAndNoLinks) {
  const std::string deep = Leave("a/b/c", "0a", "alpha", kMine);
  const std::string hidden = Leave(".snapshot", "0b", "alpha", kMine);
  const TempDirectory outside;
  fs::create_directory_symlink(outside.path(), temp_.Sub("link"));
  const std::string behind_link = outside.MakeDirectory("plimsoll-0c/alpha");
  tests::WriteText(behind_link + kMarker, FormatOwnerMarker({kMine, "0c", {}, "alpha", false}));
  const std::string no_run = temp_.MakeDirectory("plimsoll-notes/alpha");
  tests::WriteText(no_run + kMarker, FormatOwnerMarker({kMine, "notes", {}, "alpha", false}));
  EXPECT_THAT(sandbox_->RemoveLeftovers(), IsEmpty());
  for (const std::string& path : {deep, hidden, behind_link, no_run}) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(LeftoversTest, AKilledAgentsSuccessorCleansUp) {
  const int result = tests::InChild([this]() -> int {
    auto run = sandbox_->MakeRunDirectory(temp_.path(), "0a", {}, "alpha");
    if (!run.ok() || !(*run)->CreateFile("qm1/active/S0000000.LOG", O_RDWR).ok()) return 1;
    _exit(0);  // as SIGKILL: no destructor runs
  });
  ASSERT_EQ(result, 0);
  ASSERT_TRUE(fs::exists(temp_.Sub("plimsoll-0a/alpha/qm1/active/S0000000.LOG")));
  EXPECT_THAT(sandbox_->RemoveLeftovers(), ElementsAre(temp_.Sub("plimsoll-0a/alpha")));
  EXPECT_TRUE(fs::is_empty(temp_.path()));
}

}  // namespace
}  // namespace plimsoll
