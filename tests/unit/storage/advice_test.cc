#include "controller/storage/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr uint64_t kLargestBlockBytes = 128 << 10;

auto Says(AdviceLevel level, const std::string& what) {
  return AllOf(Field(&StorageAdvice::level, level), Field(&StorageAdvice::what, HasSubstr(what)));
}

v1::DirectoryDescription Nfs(const std::string& options) {
  v1::DirectoryDescription directory;
  directory.set_fs_type("nfs4");
  directory.set_remote("filer:/mq");
  directory.set_mount_options(options);
  return directory;
}

constexpr char kGood[] =
    "rw,relatime,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,timeo=600,retrans=2,local_lock=none";

std::vector<StorageAdvice> Of(const v1::DirectoryDescription& directory) {
  return AdviseOnStorage(directory, kLargestBlockBytes);
}

TEST(StorageAdvice, AGoodNfsMountLeavesOnlyTheQuestionOfItsExport) {
  EXPECT_THAT(Of(Nfs(kGood)), ElementsAre(Says(AdviceLevel::kHint, "whether the export is sync")));
}

TEST(StorageAdvice, EachOptionThatEndangersALogIsAProblem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"soft", "soft mount"},
      {"softerr", "softerr mount"},
      {"vers=3", "NFS version 3"},
      {"nolock", "nolock"},
      {"local_lock=all", "local_lock=all"},
      {"local_lock=posix", "local_lock=posix"},
      {"proto=udp", "proto=udp"},
      {"ro", "read-only"},
  };
  for (const auto& [option, what] : cases) {
    EXPECT_THAT(Of(Nfs(std::string(kGood) + "," + option)), Contains(Says(AdviceLevel::kProblem, what))) << option;
  }
}

TEST(StorageAdvice, TheWorstComesFirst) {
  const std::vector<StorageAdvice> advice = Of(Nfs("rw,vers=3,soft,wsize=65536,noac"));
  ASSERT_GE(advice.size(), 4U);
  for (size_t i = 1; i < advice.size(); ++i) EXPECT_LE(advice[i - 1].level, advice[i].level);
}

TEST(StorageAdvice, AWriteLargerThanWsizeIsWarnedOfAndOneOfItsSizeIsNot) {
  EXPECT_THAT(Of(Nfs("vers=4.2,hard,wsize=65536")), Contains(Says(AdviceLevel::kWarning, "wsize=65536")));
  EXPECT_THAT(Of(Nfs("vers=4.2,hard,wsize=131072")), Not(Contains(Says(AdviceLevel::kWarning, "wsize"))));
}

TEST(StorageAdvice, OnTheServerItselfAnAsyncExportIsAProblem) {
  v1::DirectoryDescription directory;
  directory.set_fs_type("xfs");
  directory.add_exports("*(rw,async,no_wdelay)");
  directory.add_exports("gateway(rw,sync,wdelay)");
  directory.add_exports("not understood");
  EXPECT_THAT(Of(directory),
              ElementsAre(Says(AdviceLevel::kProblem, "async to *"), Says(AdviceLevel::kHint, "wdelay to gateway")));
}

TEST(StorageAdvice, WhatIsNotADiskIsAProblem) {
  for (const char* type : {"tmpfs", "ramfs", "overlay"}) {
    v1::DirectoryDescription directory;
    directory.set_fs_type(type);
    directory.set_caveat("as mounts.cc says");
    EXPECT_THAT(Of(directory), ElementsAre(Says(AdviceLevel::kProblem, type)));
  }
}

TEST(StorageAdvice, WithoutBarriersALogIsNotSafe) {
  v1::DirectoryDescription directory;
  directory.set_fs_type("ext4");
  directory.set_mount_options("rw,barrier=0,data=journal");
  directory.set_caveat("mounted without barriers: writes may still be in the device's volatile cache");
  EXPECT_THAT(Of(directory), ElementsAre(Says(AdviceLevel::kProblem, "without barriers"),
                                         Says(AdviceLevel::kWarning, "data=journal")));
}

class Devices : public ::testing::Test {
 protected:
  Devices() { directory_.set_fs_type("xfs"); }
  v1::BlockLayer& Layer(const std::string& name, v1::BlockLayer::Kind kind) {
    v1::BlockLayer& layer = *directory_.add_block_layers();
    layer.set_name(name);
    layer.set_kind(kind);
    return layer;
  }
  v1::DirectoryDescription directory_;
};

TEST_F(Devices, AnArrayOverTwoPathsIsAsItShouldBe) {
  v1::BlockLayer& multipath = Layer("dm-0", v1::BlockLayer::KIND_MULTIPATH);
  multipath.add_below("sda");
  multipath.add_below("sdb");
  multipath.set_scheduler("none");
  for (const char* name : {"sda", "sdb"}) {
    v1::BlockLayer& disk = Layer(name, v1::BlockLayer::KIND_DISK);
    disk.set_write_cache("write through");
    disk.set_state("running");
    disk.add_other_paths(name == std::string("sda") ? "sdb" : "sda");
  }
  EXPECT_THAT(Of(directory_), IsEmpty());
}

TEST_F(Devices, OnePathOfTwoWithoutMultipathIsAProblem) {
  Layer("sda", v1::BlockLayer::KIND_DISK).add_other_paths("sdb");
  EXPECT_THAT(Of(directory_), ElementsAre(Says(AdviceLevel::kProblem, "sda is also sdb")));
}

TEST_F(Devices, AMultipathDeviceWithOnePathIsWarnedOf) {
  Layer("dm-0", v1::BlockLayer::KIND_MULTIPATH).add_below("sda");
  EXPECT_THAT(Of(directory_), ElementsAre(Says(AdviceLevel::kWarning, "one path only (sda)")));
}

TEST_F(Devices, SchedulerStateAndCacheAreLookedAt) {
  v1::BlockLayer& disk = Layer("sda", v1::BlockLayer::KIND_DISK);
  disk.set_scheduler("bfq");
  disk.set_state("offline");
  disk.set_write_cache("write back");
  disk.set_rotational(true);
  EXPECT_THAT(Of(directory_),
              ElementsAre(Says(AdviceLevel::kWarning, "sda is offline"), Says(AdviceLevel::kWarning, "scheduler bfq"),
                          Says(AdviceLevel::kHint, "volatile write cache"), Says(AdviceLevel::kHint, "rotational")));
}

TEST_F(Devices, AVirtualDiskIsNotSaidToRotate) {
  Layer("vda", v1::BlockLayer::KIND_DISK).set_rotational(true);
  v1::BlockLayer& scsi = Layer("sda", v1::BlockLayer::KIND_DISK);
  scsi.set_rotational(true);
  scsi.set_model("QEMU QEMU HARDDISK");
  EXPECT_THAT(Of(directory_), IsEmpty());
}

TEST(StorageAdvice, EveryPieceSaysWhyAndWhereItIsWritten) {
  for (const StorageAdvice& one : Of(Nfs("ro,soft,vers=3,nolock,proto=udp,wsize=4096,noac"))) {
    EXPECT_FALSE(one.why.empty()) << one.what;
    EXPECT_FALSE(one.source.empty()) << one.what;
  }
}

TEST(ParseMountOptions, TheLastOfTwoAlikeCounts) {
  const auto options = ParseMountOptions("rw,vers=3,vers=4.2,opt=a=b,");
  EXPECT_EQ(options.size(), 3U);
  EXPECT_EQ(options.at("vers"), "4.2");
  EXPECT_EQ(options.at("opt"), "a=b");
}

}  // namespace
}  // namespace plimsoll
