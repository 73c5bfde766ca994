// Things that somebody puts in place of a run's own while it goes on: nothing outside is touched, nothing hangs.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <csignal>

#include "agent/host/run_directory.h"
#include "agent/host/run_ownership.h"
#include "agent/host/sandbox.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr std::array<uint8_t, 16> kToken = {1, 2, 3};

class PlantedTest : public ::testing::Test {
 public:
  ~PlantedTest() override {
    EXPECT_EQ(tests::ReadText(outside_ + "/S0000000.LOG"), "precious");
    EXPECT_EQ(tests::ReadText(outside_ + "/active/S0000000.LOG"), "precious");
  }

 protected:
  PlantedTest() {
    sandbox_ = *Sandbox::Create({root_}, "00000000000000aa");
    tests::WriteText(outside_ + "/S0000000.LOG", "precious");
    fs::create_directories(outside_ + "/active");
    tests::WriteText(outside_ + "/active/S0000000.LOG", "precious");
  }

  // A run with one extent.
  void Begin() {
    auto run = sandbox_->MakeRunDirectory(root_, "0b", kToken, "alpha");
    ASSERT_THAT(run, IsOk());
    run_ = *std::move(run);
    ASSERT_THAT(run_->CreateFile("qm1/active/S0000000.LOG", O_RDWR), IsOk());
  }
  void Plant(const std::string& path, const std::function<void(const std::string&)>& plant) {
    // The first goes after the second came: no inode's number is given twice within one tick of the clock.
    const std::string aside = root_ + "/aside";
    std::error_code error;
    fs::rename(path, aside, error);
    plant(path);
    fs::remove_all(aside);
  }

  TempDirectory temp_;
  const std::string root_ = temp_.MakeDirectory("root");
  const std::string outside_ = temp_.MakeDirectory("outside");
  const std::string host_ = root_ + "/plimsoll-0b/alpha";
  const std::string extent_ = host_ + "/qm1/active/S0000000.LOG";
  std::unique_ptr<Sandbox> sandbox_;
  std::unique_ptr<RunDirectory> run_;
};

TEST_F(PlantedTest, AnythingInPlaceOfAnExtentStaysAndIsNamed) {
  const std::vector<std::function<void(const std::string&)>> plants = {
      [&](const std::string& path) { fs::create_symlink(outside_ + "/S0000000.LOG", path); },
      [&](const std::string& path) { fs::create_hard_link(outside_ + "/S0000000.LOG", path); },
      [](const std::string& path) { tests::WriteText(path, "somebody's"); },
      [](const std::string& path) { mkfifo(path.c_str(), 0600); },
      [](const std::string& path) { fs::create_directory(path); },
  };
  for (size_t i = 0; i < plants.size(); ++i) {
    Begin();
    Plant(extent_, plants[i]);
    EXPECT_THAT(run_->Remove(), StatusIs(StatusCode::kFailedPrecondition, extent_ + " is not the file")) << i;
    EXPECT_TRUE(fs::exists(fs::symlink_status(extent_))) << i;
    run_.reset();
    fs::remove_all(root_ + "/plimsoll-0b");
  }
}

TEST_F(PlantedTest, AnythingInPlaceOfAnExtentToComeIsNotOpened) {
  Begin();
  const std::string next = host_ + "/qm1/active/S0000001.LOG";
  const std::vector<std::function<void(const std::string&)>> plants = {
      [&](const std::string& path) { fs::create_symlink(outside_ + "/S0000000.LOG", path); },
      [&](const std::string& path) { fs::create_symlink(outside_ + "/new", path); },
      [&](const std::string& path) { fs::create_hard_link(outside_ + "/S0000000.LOG", path); },
      [](const std::string& path) { mkfifo(path.c_str(), 0600); },
  };
  for (const auto& plant : plants) {
    Plant(next, plant);
    EXPECT_THAT(run_->CreateFile("qm1/active/S0000001.LOG", O_RDWR | O_TRUNC),
                StatusIs(StatusCode::kAlreadyExists, next));
  }
  EXPECT_FALSE(fs::exists(outside_ + "/new"));
}

TEST_F(PlantedTest, LinksInPlaceOfDirectoriesAreNotFollowedByRemoval) {
  for (const char* place : {"/qm1/active", "/qm1"}) {
    Begin();
    Plant(host_ + place, [&](const std::string& path) { fs::create_directory_symlink(outside_, path); });
    EXPECT_THAT(run_->Remove(), StatusIs(StatusCode::kPermissionDenied, "symbolic links are not followed")) << place;
    run_.reset();
    fs::remove_all(root_ + "/plimsoll-0b");
  }
}

TEST_F(PlantedTest, ALinkInPlaceOfTheHostsOrTheRunsDirectoryIsLeftAlone) {
  for (const std::string& place : {host_, root_ + "/plimsoll-0b"}) {
    Begin();
    // Moved away rather than removed: what is open still is the run's own, and is cleared where it is now.
    fs::rename(place, root_ + "/moved");
    fs::create_directory_symlink(outside_, place);
    const auto removed = run_->Remove();
    EXPECT_EQ(removed.ok(), place != host_);
    EXPECT_TRUE(fs::is_symlink(place));
    EXPECT_FALSE(fs::exists(root_ + "/moved/qm1"));
    EXPECT_FALSE(fs::exists(root_ + "/moved/alpha"));
    run_.reset();
    fs::remove(place);
    fs::remove_all(root_ + "/moved");
    fs::remove_all(root_ + "/plimsoll-0b");
  }
}

TEST_F(PlantedTest, AnotherDirectoryInPlaceOfTheHostsStays) {
  Begin();
  fs::rename(host_, root_ + "/moved");
  fs::create_directory(host_);
  EXPECT_THAT(run_->Remove(),
              StatusIs(StatusCode::kFailedPrecondition, host_ + " is not the directory that this run made"));
  EXPECT_TRUE(fs::is_directory(host_));
}

TEST_F(PlantedTest, ARunDirectoryThatIsNoDirectoryIsRefusedAndNothingStays) {
  const std::string run_path = root_ + "/plimsoll-0b";
  const std::vector<std::function<void(const std::string&)>> plants = {
      [&](const std::string& path) { fs::create_directory_symlink(outside_, path); },
      [](const std::string& path) { mkfifo(path.c_str(), 0600); },
      [](const std::string& path) { tests::WriteText(path, "x"); },
  };
  for (const auto& plant : plants) {
    Plant(run_path, plant);
    const auto run = sandbox_->MakeRunDirectory(root_, "0b", kToken, "alpha");
    EXPECT_FALSE(run.ok());
    EXPECT_NE(run.status().message().find(run_path), std::string::npos) << run.status();
    EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1) << "what was begun was not taken back";
  }
}

TEST_F(PlantedTest, AMountPlantedMidRunIsNeitherEnteredNorEmptied) {
  for (const std::string& place : {host_ + "/qm1/active", host_ + "/qm1", host_, root_ + "/plimsoll-0b"}) {
    SCOPED_TRACE(place);
    const int result = tests::InChild([&]() -> int {
      if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return kNotPermitted;
      }
      Begin();
      if (mount(outside_.c_str(), place.c_str(), nullptr, MS_BIND, nullptr) != 0) return kNotPermitted;
      // Making another file: below the mount point it must not lead out, over an open directory it does not matter.
      const auto made = run_->CreateFile("qm1/active/S0000001.LOG", O_RDWR);
      const bool below = place.find("/qm1") != std::string::npos;
      if (made.ok() == below) return 2;
      const auto removed = run_->Remove();
      if (removed.ok()) return 3;
      if (std::string(removed.status().message()).find(root_) == std::string::npos) return 4;
      umount2(place.c_str(), MNT_DETACH);
      // What could not be removed is tried again, and nothing of the run is left.
      if (!run_->Remove().ok()) return 5;
      return fs::is_empty(root_) ? 0 : 6;
    });
    if (result == kNotPermitted) GTEST_SKIP() << "mounts need root";
    EXPECT_EQ(result, 0) << place;
    EXPECT_FALSE(fs::exists(outside_ + "/S0000001.LOG"));
    EXPECT_FALSE(fs::exists(outside_ + "/active/S0000001.LOG"));
    fs::remove_all(root_ + "/plimsoll-0b");
  }
}

TEST_F(PlantedTest, AFileMountedOverAnExtentStays) {
  const int result = tests::InChild([&]() -> int {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      return kNotPermitted;
    }
    Begin();
    if (mount((outside_ + "/S0000000.LOG").c_str(), extent_.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return kNotPermitted;
    }
    if (run_->Remove().ok()) return 2;
    umount2(extent_.c_str(), MNT_DETACH);
    return run_->Remove().ok() && fs::is_empty(root_) ? 0 : 3;
  });
  if (result == kNotPermitted) GTEST_SKIP() << "mounts need root";
  EXPECT_EQ(result, 0);
}

TEST_F(PlantedTest, AMarkerWithALeaseIsForeignAndNothingWaitsForIt) {
  const OwnerMarker marker{"00000000000000aa", "0b", kToken, "alpha", false, false};
  fs::create_directories(host_);
  tests::WriteText(host_ + "/" + kOwnerMarkerName, FormatOwnerMarker(marker));
  EXPECT_EQ(sandbox_->ListRunDirectories(root_)->at(0).owner(), v1::RUN_DIRECTORY_OWNER_THIS_AGENT);
  std::signal(SIGIO, SIG_IGN);  // the kernel asks for the lease with it
  const UniqueFd held(open((host_ + "/" + kOwnerMarkerName).c_str(), O_RDWR | O_CLOEXEC));
  if (fcntl(held.get(), F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases here";
  const auto listed = sandbox_->ListRunDirectories(root_);
  ASSERT_THAT(listed, IsOk());
  EXPECT_EQ(listed->at(0).owner(), v1::RUN_DIRECTORY_OWNER_UNKNOWN);
  EXPECT_NE(listed->at(0).note().find("holds a lease"), std::string::npos) << listed->at(0).note();
  EXPECT_TRUE(sandbox_->RemoveLeftovers().empty());
  EXPECT_TRUE(fs::exists(host_));
}

}  // namespace
}  // namespace plimsoll
