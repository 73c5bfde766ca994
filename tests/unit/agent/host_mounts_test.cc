// What is mounted where, read from fixed texts and from this machine.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/host/storage_stack.h"
#include "common/posix.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr char kMountInfo[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard,errors=remount-ro\n"
    "30 27 0:40 / /mnt/mq rw,relatime shared:7 master:3 - nfs4 filer:/mq rw,vers=4.2,rsize=1048576,local_lock=none\n"
    "31 27 0:41 /sub /mnt/mq/v3 rw - nfs filer:/v3 rw,vers=3,nolock\n"
    "32 27 254:17 / /mnt/my\\040data\\134x ro,relatime - xfs /dev/mapper/a\\040b rw,attr2\n"
    "33 27 0:50 / /shm rw - tmpfs tmpfs rw,size=1m\n"
    "34 33 0:51 / /shm rw - tmpfs second rw,size=2m\n"
    "35 27 0:60 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/u\n"
    "36 27 0:61 / /fuse rw - fuse.sshfs host:/x rw\n"
    "37 27 254:33 / /fast rw - ext4 /dev/vdc rw,nobarrier\n"
    "a line that is none\n"
    "38 27 254 / /broken rw - ext4 /dev/vdd rw\n"
    "39 27 254:3 / /short rw\n";

const Mount& At(const std::vector<Mount>& mounts, const std::string& path, dev_t device = 0, uint64_t id = 0) {
  const Mount* mount = FindMount(mounts, id, device, path);
  EXPECT_NE(mount, nullptr) << path;
  static const Mount kNone;
  return mount == nullptr ? kNone : *mount;
}

TEST(ParseMountInfo, ReadsEveryWholeLine) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  ASSERT_EQ(mounts.size(), 10U);
  EXPECT_EQ(mounts[1].id, 27U);
  EXPECT_EQ(mounts[1].device, makedev(254, 1));
  EXPECT_EQ(mounts[1].mount_point, "/");
  EXPECT_EQ(mounts[1].fs_type, "ext4");
  EXPECT_EQ(mounts[1].source, "/dev/vda1");
  EXPECT_EQ(mounts[1].options, "rw,relatime,discard,errors=remount-ro");
  EXPECT_EQ(mounts[2].options, "rw,relatime,vers=4.2,rsize=1048576,local_lock=none");
}

TEST(ParseMountInfo, DecodesEscapesAndKeepsTheMountsReadOnlyWord) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  EXPECT_EQ(mounts[4].mount_point, "/mnt/my data\\x");
  EXPECT_EQ(mounts[4].source, "/dev/mapper/a b");
  EXPECT_EQ(mounts[4].options, "ro,relatime,attr2");
  EXPECT_EQ(DecodeMountText("\\04"), "\\04");
  EXPECT_EQ(DecodeMountText("a\\089"), "a\\089");
  EXPECT_EQ(DecodeMountText("\\303\\244"), "\303\244");
}

TEST(FindMount, TakesTheLongestMountPointAbove) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  EXPECT_EQ(At(mounts, "/mnt/mq/a/b").source, "filer:/mq");
  EXPECT_EQ(At(mounts, "/mnt/mq").source, "filer:/mq");
  EXPECT_EQ(At(mounts, "/mnt/mq/v3/a").source, "filer:/v3");
  EXPECT_EQ(At(mounts, "/mnt/mqx").source, "/dev/vda1");
  EXPECT_EQ(FindMount(ParseMountInfo(""), 0, 0, "/"), nullptr);
}

TEST(FindMount, TakesTheUppermostOfTwoUnlessTheDeviceSaysOtherwise) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  EXPECT_EQ(At(mounts, "/shm/x").source, "second");
  EXPECT_EQ(At(mounts, "/shm/x", makedev(0, 50)).source, "tmpfs");
  EXPECT_EQ(At(mounts, "/shm/x", makedev(0, 50), 34).source, "second");
}

TEST(FindMount, FindsTheMountOfAnOpenDirectoryOfThisMachine) {
  const std::vector<Mount> mounts = ParseMountInfo(tests::ReadText("/proc/self/mountinfo"));
  const UniqueFd proc(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info{};
  ASSERT_EQ(fstat(proc.get(), &info), 0);
  EXPECT_NE(MountIdOf(proc.get()), 0U);
  EXPECT_EQ(At(mounts, "/proc/self", info.st_dev, MountIdOf(proc.get())).fs_type, "proc");
  EXPECT_EQ(At(mounts, "/proc/self", info.st_dev).fs_type, "proc");
  EXPECT_EQ(MountIdOf(-1), 0U);
}

TEST(Mount, DistinguishesRemoteFromLocal) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  EXPECT_EQ(RemoteOf(At(mounts, "/mnt/mq")), "filer:/mq");
  EXPECT_EQ(RemoteOf(At(mounts, "/mnt/mq/v3")), "filer:/v3");
  EXPECT_EQ(RemoteOf(At(mounts, "/fuse")), "host:/x");
  EXPECT_EQ(RemoteOf(At(mounts, "/")), "");
  EXPECT_EQ(RemoteOf(At(mounts, "/shm")), "");
}

TEST(Mount, KnowsWhichLocksBindThisHostOnly) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  EXPECT_FALSE(LocksAreLocal(At(mounts, "/mnt/mq")));
  EXPECT_TRUE(LocksAreLocal(At(mounts, "/mnt/mq/v3")));
  EXPECT_FALSE(LocksAreLocal(At(mounts, "/")));
  Mount nfs = At(mounts, "/mnt/mq");
  for (const char* options : {"rw,local_lock=all", "rw,local_lock=posix"}) {
    nfs.options = options;
    EXPECT_TRUE(LocksAreLocal(nfs)) << options;
  }
  nfs.options = "rw,local_lock=flock";
  EXPECT_FALSE(LocksAreLocal(nfs));
  Mount ocfs2 = At(mounts, "/");
  ocfs2.fs_type = "ocfs2";
  for (const char* options : {"rw,heartbeat=local,coherency=full", "rw,cluster_stack=o2cb"}) {
    ocfs2.options = options;
    EXPECT_TRUE(LocksAreLocal(ocfs2)) << options;
  }
  ocfs2.options = "rw,cluster_stack=pcmk";
  EXPECT_FALSE(LocksAreLocal(ocfs2));
}

TEST(Mount, WarnsOfWhatIsNotStableStorage) {
  const std::vector<Mount> mounts = ParseMountInfo(kMountInfo);
  EXPECT_THAT(CaveatOf(At(mounts, "/shm")), ::testing::HasSubstr("keeps data in memory"));
  EXPECT_THAT(CaveatOf(At(mounts, "/merged")), ::testing::HasSubstr("layer"));
  EXPECT_THAT(CaveatOf(At(mounts, "/fuse")), ::testing::HasSubstr("fuse.sshfs"));
  EXPECT_THAT(CaveatOf(At(mounts, "/fast")), ::testing::HasSubstr("barriers"));
  EXPECT_EQ(CaveatOf(At(mounts, "/")), "");
  EXPECT_EQ(CaveatOf(At(mounts, "/mnt/mq")), "");
}

TEST(ReadTextFile, IsEmptyWhereTheKernelRefusesToRead) {
  const TempDirectory directory;
  EXPECT_EQ(ReadTextFile(directory.path()), "");
  EXPECT_EQ(ReadTextFile("/missing"), "");
  EXPECT_EQ(ReadTextLine("/proc/sys/kernel/ostype"), "Linux");
}

TEST(FindBlockDevice, FindsADiskAndThePartitionsDisk) {
  const TempDirectory sys;
  const std::string disk = sys.MakeDirectory("devices/vda");
  sys.MakeDirectory("devices/vda/queue");
  sys.MakeDirectory("devices/vda/vda1");
  const std::string links = sys.MakeDirectory("block");
  tests::WriteText(disk + "/dev", "254:0\n");
  tests::WriteText(disk + "/queue/logical_block_size", "4096\n");
  tests::WriteText(disk + "/vda1/dev", "254:1\n");
  tests::WriteText(disk + "/vda1/partition", "1\n");
  fs::create_directory_symlink(disk, links + "/254:0");
  fs::create_directory_symlink(disk + "/vda1", links + "/254:1");

  const auto whole = FindBlockDevice(makedev(254, 0), links);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->name, "vda");
  EXPECT_EQ(whole->disk_number, makedev(254, 0));
  EXPECT_EQ(whole->logical_block_bytes, 4096U);

  const auto partition = FindBlockDevice(makedev(254, 1), links);
  ASSERT_TRUE(partition.has_value());
  EXPECT_EQ(partition->name, "vda1");
  EXPECT_EQ(partition->number, makedev(254, 1));
  EXPECT_EQ(partition->disk_number, makedev(254, 0));
  EXPECT_EQ(partition->logical_block_bytes, 4096U);

  EXPECT_FALSE(FindBlockDevice(makedev(0, 40), links).has_value());
}

TEST(NfsFileSystemOf, IsTheSameForTwoExportsOfOneFileSystem) {
  const std::string volumes =
      "NV SERVER   PORT DEV          FSID                              FSC\n"
      "v4 c0a80105  801 0:52         fd00:1                            no \n"
      "v4 c0a80105  801 0:53         fd00:1                            no \n"
      "broken\n";
  EXPECT_EQ(NfsFileSystemOf(volumes, makedev(0, 52)), "c0a80105:801 fd00:1");
  EXPECT_EQ(NfsFileSystemOf(volumes, makedev(0, 53)), "c0a80105:801 fd00:1");
  EXPECT_EQ(NfsFileSystemOf(volumes, makedev(0, 54)), "");
}

}  // namespace
}  // namespace plimsoll
