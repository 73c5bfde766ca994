// Block devices that a plan names: loop devices of files, which take root.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "agent/host/target_files.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using absl::StatusCode;
namespace fs = std::filesystem;

constexpr uint64_t kDeviceBytes = uint64_t{4} << 20;

// First line that a shell command prints; empty where it fails.
std::string FirstLineOf(const std::string& command) {
  FILE* const output = popen(command.c_str(), "re");
  if (output == nullptr) return "";
  std::array<char, 256> line{};
  const bool read = fgets(line.data(), line.size(), output) != nullptr;
  const int status = pclose(output);
  std::string text = read ? line.data() : "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return status == 0 ? text : "";
}

bool Runs(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

class TargetDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tests::WriteText(image_, "");
    fs::resize_file(image_, kDeviceBytes);
    sandbox_ = *Sandbox::Create({root_}, tests::kMine);
    if (geteuid() != 0) GTEST_SKIP() << "loop devices take root";
    device_ = FirstLineOf("losetup --find --show " + image_ + " 2>/dev/null");
    if (device_.empty()) GTEST_SKIP() << "this machine gives no loop device";
  }
  void TearDown() override {
    if (!device_.empty()) {
      EXPECT_TRUE(Runs("losetup --detach " + device_));
    }
  }

  std::unique_ptr<TargetFiles> Files(std::vector<std::string> targets) const {
    return *TargetFiles::Create(*sandbox_, {true, std::move(targets)});
  }
  // Puts bytes on the device as somebody else would.
  void Put(uint64_t offset_bytes, const std::string& bytes) const {
    const UniqueFd fd(open(device_.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes)),
              static_cast<ssize_t>(bytes.size()));
    ASSERT_EQ(fsync(fd.get()), 0);
  }
  // Writing is refused in every combination of permissions, for this reason, and changes nothing; reading is not.
  void ExpectReadOnly(const std::string& reason) const {
    const std::string before = tests::ReadText(image_);
    for (const auto& targets : {std::vector<std::string>(), {device_}, {"/dev"}, {"/"}}) {
      for (const bool overwrite : {false, true}) {
        const auto write = Files(targets)->Open(device_, FileUse::kWrite, overwrite);
        ASSERT_FALSE(write.ok());
        if (targets.empty()) {
          EXPECT_THAT(write, StatusIs(StatusCode::kPermissionDenied, "--allow-target " + device_));
        }
        if (!targets.empty() && overwrite) {
          EXPECT_THAT(write, StatusIs(StatusCode::kFailedPrecondition, reason));
        }
      }
    }
    EXPECT_TRUE(tests::ReadText(image_) == before) << "something was written";
    const auto read = Files({device_})->Open(device_, FileUse::kRead, false);
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(read->size_bytes(), kDeviceBytes);
    EXPECT_THAT(read->Open(O_RDWR), StatusIs(StatusCode::kPermissionDenied, "for reading"));
  }

  TempDirectory temp_;
  const std::string root_ = temp_.MakeDirectory("root");
  const std::string image_ = temp_.path() + "/image";
  std::unique_ptr<Sandbox> sandbox_;
  std::string device_;
};

TEST_F(TargetDevicesTest, AnEmptyDeviceIsWrittenWithOverwriteAlone) {
  const auto files = Files({device_});
  EXPECT_THAT(files->Open(device_, FileUse::kWrite, false), StatusIs(StatusCode::kPermissionDenied, "--overwrite"));
  const v1::FileDescription description = files->Describe(device_);
  EXPECT_EQ(description.error(), "");
  EXPECT_EQ(description.write_error(), "");
  EXPECT_TRUE(description.block_device());
  EXPECT_EQ(description.size_bytes(), kDeviceBytes);
  EXPECT_TRUE(tests::ReadText(image_) == std::string(kDeviceBytes, '\0'));
  {
    const auto file = files->Open(device_, FileUse::kWrite, true);
    ASSERT_THAT(file, IsOk());
    EXPECT_TRUE(file->block_device());
    EXPECT_FALSE(file->kept());
    EXPECT_EQ(file->size_bytes(), kDeviceBytes);
    const auto one = file->Open(O_RDWR | O_DSYNC);
    const auto two = file->Open(O_RDWR);
    ASSERT_THAT(one, IsOk());
    ASSERT_THAT(two, IsOk()) << "several writers have a device each for themselves";
    ASSERT_EQ(pwrite(one->get(), "mine", 4, 0), 4);
    // Meanwhile it can be neither mounted nor taken by another session.
    EXPECT_EQ(open(device_.c_str(), O_RDWR | O_EXCL | O_CLOEXEC), -1);
    EXPECT_EQ(errno, EBUSY);
    EXPECT_THAT(files->Open(device_, FileUse::kWrite, true), StatusIs(StatusCode::kFailedPrecondition, "in use"));
  }
  EXPECT_THAT(files->Open(device_, FileUse::kWrite, true), IsOk()) << "data that nothing recognises may be overwritten";
  EXPECT_THAT(files->Make(device_, kDeviceBytes, 0), StatusIs(StatusCode::kPermissionDenied, "--root"));
}

TEST_F(TargetDevicesTest, ADeviceWithAFileSystemIsReadOnly) {
  if (!Runs("mkfs.ext4 -q -F " + device_)) GTEST_SKIP() << "mkfs.ext4 is not installed";
  ExpectReadOnly("a file system (ext4)");
}

TEST_F(TargetDevicesTest, AMountedDeviceIsReadOnly) {
  if (!Runs("mkfs.ext4 -q -F " + device_)) GTEST_SKIP() << "mkfs.ext4 is not installed";
  const std::string point = temp_.MakeDirectory("mounted");
  if (mount(device_.c_str(), point.c_str(), "ext4", MS_RDONLY, nullptr) != 0) GTEST_SKIP() << "mount is not permitted";
  ExpectReadOnly("in use");
  EXPECT_THAT(Files({device_})->Describe(device_).write_error(), HasSubstr("mounted on " + point));
  EXPECT_EQ(umount(point.c_str()), 0);
}

TEST_F(TargetDevicesTest, AHeldDeviceIsReadOnly) {
  const UniqueFd holder(open(device_.c_str(), O_RDWR | O_EXCL | O_CLOEXEC));
  ASSERT_TRUE(holder.valid());
  ExpectReadOnly("in use");
}

TEST_F(TargetDevicesTest, ADeviceWithAPartitionTableIsReadOnly) {
  // A table of one partition of type Linux, at sector 2048.
  std::string sector(512, '\0');
  sector.replace(446, 16, std::string("\0\0\0\0\x83\0\0\0\0\x08\0\0\0\x10\0\0", 16));
  sector[510] = '\x55';
  sector[511] = '\xaa';
  Put(0, sector);
  ExpectReadOnly("partition");
}

TEST_F(TargetDevicesTest, AMemberOfAVolumeGroupIsReadOnlyEvenIfItsLabelIsDamaged) {
  // The checksum behind the sector's number is wrong.
  Put(512, std::string("LABELONE\1\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001", 32) + std::string(32, 'u'));
  ExpectReadOnly("LVM2_member");
}

TEST_F(TargetDevicesTest, SwapSpaceIsReadOnly) {
  if (!Runs("mkswap " + device_)) GTEST_SKIP() << "mkswap is not installed";
  ExpectReadOnly("swap");
}

TEST_F(TargetDevicesTest, AFileBehindALoopDeviceIsReadOnly) {
  tests::WriteText(temp_.path() + "/other", "x");
  const auto files = Files({temp_.path()});
  EXPECT_THAT(files->Open(image_, FileUse::kWrite, true), StatusIs(StatusCode::kFailedPrecondition, device_));
  EXPECT_THAT(files->Describe(image_).write_error(), HasSubstr(device_));
  EXPECT_THAT(files->Open(image_, FileUse::kRead, false), IsOk());
  EXPECT_THAT(files->Open(temp_.path() + "/other", FileUse::kWrite, true), IsOk());
}

TEST_F(TargetDevicesTest, OnlyALinkOfRootsBelowDevLeadsToADevice) {
  const std::string own = "/dev/plimsoll-test-" + std::to_string(getpid());
  fs::create_symlink(fs::path(device_).filename(), own);
  EXPECT_THAT(Files({own})->Open(own, FileUse::kRead, false), IsOk());
  EXPECT_THAT(Files({device_})->Open(own, FileUse::kWrite, true), IsOk()) << "allowed by the device's own name";
  EXPECT_THAT(Files({own})->Open(device_, FileUse::kRead, false),
              StatusIs(StatusCode::kPermissionDenied, "--allow-target"));
  EXPECT_EQ(Files({own})->Describe(own).path(), own);
  EXPECT_TRUE(Files({own})->Describe(own).block_device());
  fs::remove(own);
  fs::create_symlink(image_, own);
  EXPECT_THAT(Files({"/"})->Open(own, FileUse::kRead, false), StatusIs(StatusCode::kFailedPrecondition, "out of /dev"));
  fs::remove(own);
  // Elsewhere no link is followed, not even in a directory of /dev that everyone may write to.
  const std::string link = temp_.path() + "/link";
  fs::create_symlink(device_, link);
  EXPECT_THAT(Files({link})->Open(link, FileUse::kRead, false),
              StatusIs(StatusCode::kFailedPrecondition, "symbolic link"));
  struct stat info{};
  if (stat("/dev/shm", &info) != 0 || (info.st_mode & S_IWOTH) == 0) return;
  const std::string planted = "/dev/shm/plimsoll-test-" + std::to_string(getpid());
  fs::create_symlink(device_, planted);
  EXPECT_THAT(Files({"/"})->Open(planted, FileUse::kWrite, true),
              StatusIs(StatusCode::kFailedPrecondition, "others than root"));
  fs::remove(planted);
}

}  // namespace
}  // namespace plimsoll
