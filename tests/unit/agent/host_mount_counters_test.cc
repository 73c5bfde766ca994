// The kernel's counters of one mount, from fixed texts and from this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "agent/host/counters.h"
#include "agent/host/mount_counters.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

const MountTexts kTexts = {
    .mountinfo =
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "30 27 0:40 / /mnt/mqlog rw - autofs systemd-1 rw\n"
        "31 27 0:41 / /mnt/mqlog rw - nfs4 filer:/mq rw,vers=4.2\n"
        "32 27 0:42 / /dev/shm rw - tmpfs tmpfs rw\n",
    .diskstats = " 254       0 vda 1000 10 2000 300 4000 40 64000 5500 3 6000 7000 0 0 0 0 800 90\n",
    .mountstats =
        "device filer:/mq mounted on /mnt/mqlog with fstype nfs4 statvers=1.1\n"
        "\txprt:\ttcp 809 0 2 0 12 1000 1000 1 5000 0 2 10 20\n"
        "\tper-op statistics\n"
        "\t       WRITE: 500 503 2 2097488 88000 12 340 360 0\n"
        "\t      COMMIT: 20 20 0 3400 2080 1 55 57 0\n",
};

class MountCounters : public ::testing::Test {
 protected:
  MountCounters() {
    std::filesystem::create_directory(directory_.path() + "/vda");
    std::filesystem::create_directory_symlink("vda", directory_.path() + "/254:0");
  }
  v1::MountCounters Of(const std::string& mount_point, const MountTexts& texts = kTexts) {
    return CountersOfMount(mount_point, texts, directory_.path());
  }
  tests::TempDirectory directory_;
};

TEST_F(MountCounters, OfALocalFileSystemAreThoseOfTheDeviceThatIsMounted) {
  const v1::MountCounters root = Of("/");
  EXPECT_EQ(root.error(), "");
  EXPECT_EQ(root.fs_type(), "ext4");
  EXPECT_EQ(root.device(), makedev(254, 0));
  EXPECT_FALSE(root.has_nfs());
  EXPECT_EQ(root.disk().device(), "vda");
  EXPECT_EQ(root.disk().writes(), 4000U);
  EXPECT_EQ(root.disk().write_time_ms(), 5500U);
  EXPECT_EQ(root.disk().flush_time_ms(), 90U);
  EXPECT_FALSE(root.idle()) << "three requests are in flight";
}

TEST_F(MountCounters, OfNfsAreThoseOfTheUppermostMount) {
  const v1::MountCounters nfs = Of("/mnt/mqlog");
  EXPECT_EQ(nfs.error(), "");
  EXPECT_EQ(nfs.fs_source(), "filer:/mq");
  EXPECT_FALSE(nfs.has_disk());
  EXPECT_EQ(nfs.nfs().write().operations(), 500U);
  EXPECT_EQ(nfs.nfs().write().execute_ms(), 360U);
  EXPECT_EQ(nfs.nfs().commit().execute_ms(), 57U);
  EXPECT_TRUE(nfs.idle());
  EXPECT_TRUE(nfs.has_nfs_unanswered());
  EXPECT_EQ(nfs.nfs_unanswered(), 0U);
}

TEST_F(MountCounters, OfAPartitionAreItsOwnWithTheFlushesOfItsDisk) {
  const std::string partition = directory_.path() + "/vda/vda1";
  std::filesystem::create_directory(partition);
  tests::WriteText(partition + "/partition", "1\n");
  tests::WriteText(directory_.path() + "/vda/dev", "254:0\n");
  std::filesystem::create_directory_symlink("vda/vda1", directory_.path() + "/254:1");
  MountTexts texts = kTexts;
  texts.mountinfo = "27 1 254:1 / / rw - ext4 /dev/vda1 rw\n";
  texts.diskstats += " 254       1 vda1 10 0 20 3 40 4 640 55 0 60 70 0 0 0 0 0 0\n";
  const v1::MountCounters root = Of("/", texts);
  EXPECT_EQ(root.disk().device(), "vda1");
  EXPECT_EQ(root.disk().writes(), 40U);
  EXPECT_EQ(root.disk().flushes(), 800U);
  EXPECT_EQ(root.disk().flush_time_ms(), 90U);
  EXPECT_EQ(root.partitioned_disk(), "vda");
  EXPECT_TRUE(root.idle()) << "the disk's other requests are not the mount's";
  EXPECT_EQ(Of("/").partitioned_disk(), "");
}

TEST_F(MountCounters, WithoutThemTheErrorSaysWhatIsThere) {
  const v1::MountCounters below = Of("/mnt/mqlog/QM1");
  EXPECT_EQ(below.error_code(), static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_THAT(below.error(), HasSubstr("nothing is mounted on /mnt/mqlog/QM1; the mount above it is /mnt/mqlog"));
  const v1::MountCounters memory = Of("/dev/shm");
  EXPECT_EQ(memory.error_code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(memory.error(), "the kernel counts no writes of /dev/shm (tmpfs)");
  MountTexts no_stats = kTexts;
  no_stats.mountstats.clear();
  EXPECT_EQ(Of("/mnt/mqlog", no_stats).error(), "the kernel counts no writes of /mnt/mqlog (nfs4)");
  EXPECT_THAT(Of("/mnt", {}).error(), HasSubstr("nothing is mounted on /mnt: name a mount point"));
}

TEST(ParseNfsUnanswered, AddsUpTheConnectionsWhereEachIsUnderstood) {
  const std::string mount = "device filer:/mq mounted on /mnt/a with fstype nfs4 statvers=1.1\n";
  const std::string answered = "\txprt:\ttcp 809 0 2 0 12 1000 1000 1 5000 0 2 10 20\n";
  const std::string waits = "\txprt:\trdma 0 0 2 0 12 1000 998 1 5000 0 2 10 20\n";
  EXPECT_EQ(ParseNfsUnanswered(mount + answered, "/mnt/a"), 0U);
  EXPECT_EQ(ParseNfsUnanswered(mount + answered + answered, "/mnt/a"), 0U);
  EXPECT_EQ(ParseNfsUnanswered(mount + answered + waits, "/mnt/a"), 2U);
  EXPECT_EQ(ParseNfsUnanswered(mount + waits + waits, "/mnt/a"), 4U);
  EXPECT_EQ(ParseNfsUnanswered(mount, "/mnt/a"), std::nullopt);
  EXPECT_EQ(ParseNfsUnanswered(mount + "\txprt:\tudp 809 0 2 2\n" + answered, "/mnt/a"), std::nullopt);
  EXPECT_EQ(ParseNfsUnanswered(mount + answered, "/mnt/b"), std::nullopt);
}

TEST(ReadMountCounters, ReadsThisMachine) {
  // Every file system tree has a mount point, whatever it is mounted from.
  const v1::MountCounters root = ReadMountCounters("/");
  EXPECT_NE(root.error().empty(), root.fs_type().empty() || (!root.has_disk() && !root.has_nfs()));
  EXPECT_EQ(ReadMountCounters("/no/such/mount").error_code(), static_cast<int>(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace plimsoll
