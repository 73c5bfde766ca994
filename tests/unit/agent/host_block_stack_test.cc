#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <map>
#include <string>

#include "agent/host/storage_stack.h"
#include "tests/temp_directory.h"
#include "tests/testing.h"
#include "tests/unit/agent/host_test_util.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// A /sys with a volume on a partition of a multipath device over two disks.
class BlockStackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sys_.MakeDirectory("dev/block");
    sys_.MakeDirectory("block");
    for (const char* disk : {"sda", "sdb", "sdc"}) {
      Device(disk, {{"size", "2048"},
                    {"queue/scheduler", "[none] mq-deadline bfq"},
                    {"queue/write_cache", "write back"},
                    {"queue/fua", "1"},
                    {"queue/rotational", "0"},
                    {"queue/logical_block_size", "512"},
                    {"queue/physical_block_size", "4096"},
                    {"device/vendor", "ACME"},
                    {"device/model", "Array"},
                    {"device/state", "running"},
                    {"device/wwid", disk == std::string("sdc") ? "naa.2" : "naa.1"}});
    }
    Device("dm-0", {{"dm/uuid", "mpath-36001"}, {"dm/name", "mpatha"}, {"queue/scheduler", "none"}});
    Device("dm-1", {{"dm/uuid", "part1-mpath-36001"}, {"dm/name", "mpatha-part1"}});
    Device("dm-2", {{"dm/uuid", "LVM-abc"}, {"dm/name", "vg-log"}});
    Below("dm-0", "sdb");
    Below("dm-0", "sda");
    Below("dm-1", "dm-0");
    Below("dm-2", "dm-1");
    Link("252:2", "dm-2");
    Link("8:32", "sdc");
  }

  void Device(const std::string& name, const std::map<std::string, std::string>& files) {
    const std::string directory = sys_.MakeDirectory("devices/" + name);
    for (const auto& [file, text] : files) {
      const fs::path path = fs::path(directory) / file;
      fs::create_directories(path.parent_path());
      tests::WriteText(path.string(), text + "\n");
    }
    fs::create_directory_symlink(directory, sys_.path() + "/block/" + name);
  }
  void Below(const std::string& name, const std::string& below) {
    fs::create_directories(sys_.path() + "/devices/" + name + "/slaves");
    fs::create_directory_symlink(sys_.path() + "/devices/" + below,
                                 sys_.path() + "/devices/" + name + "/slaves/" + below);
  }
  void Link(const std::string& number, const std::string& name) {
    fs::create_directory_symlink(sys_.path() + "/devices/" + name, sys_.path() + "/dev/block/" + number);
  }

  tests::TempDirectory sys_;
};

TEST_F(BlockStackTest, GoesFromTheVolumeDownToEachDisk) {
  const std::vector<v1::BlockLayer> layers = DescribeBlockStack(makedev(252, 2), sys_.path());
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const v1::BlockLayer& layer : layers) names.push_back(layer.name());
  ASSERT_THAT(names, ElementsAre("dm-2", "dm-1", "dm-0", "sda", "sdb"));
  EXPECT_EQ(layers[0].kind(), v1::BlockLayer::KIND_VOLUME);
  EXPECT_EQ(layers[0].mapped_name(), "vg-log");
  EXPECT_EQ(layers[1].kind(), v1::BlockLayer::KIND_MULTIPATH);
  EXPECT_EQ(layers[2].kind(), v1::BlockLayer::KIND_MULTIPATH);
  EXPECT_THAT(layers[2].below(), ElementsAre("sda", "sdb"));
  EXPECT_EQ(layers[2].scheduler(), "none");
  const v1::BlockLayer& disk = layers[3];
  EXPECT_EQ(disk.kind(), v1::BlockLayer::KIND_DISK);
  EXPECT_EQ(disk.size_bytes(), 1U << 20);
  EXPECT_EQ(disk.scheduler(), "none");
  EXPECT_EQ(disk.write_cache(), "write back");
  EXPECT_TRUE(disk.forced_unit_access());
  EXPECT_EQ(disk.physical_block_bytes(), 4096U);
  EXPECT_EQ(disk.model(), "ACME Array");
  EXPECT_EQ(disk.state(), "running");
  EXPECT_THAT(disk.other_paths(), ElementsAre("sdb"));
}

TEST_F(BlockStackTest, ADiskAloneHasNoOtherPath) {
  const std::vector<v1::BlockLayer> layers = DescribeBlockStack(makedev(8, 32), sys_.path());
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_THAT(layers[0].other_paths(), IsEmpty());
}

TEST_F(BlockStackTest, DevicesThatNameOneAnotherAreEachReportedOnce) {
  Below("sdc", "dm-2");
  Below("dm-2", "sdc");
  EXPECT_EQ(DescribeBlockStack(makedev(8, 32), sys_.path()).size(), 6U);
}

TEST_F(BlockStackTest, WhatIsNoBlockDeviceHasNoLayers) {
  EXPECT_THAT(DescribeBlockStack(makedev(0, 40), sys_.path()), IsEmpty());
}

TEST(ExportsOf, TheNearestExportCounts) {
  const tests::TempDirectory temp;
  const std::string etab = temp.path() + "/etab";
  tests::WriteText(etab,
                   "/srv\t*(rw,async,wdelay)\n/srv/mq\t10.0.0.0/8(rw,sync,no_wdelay)\n/srv/mq\tgateway(ro,sync)\n"
                   "/srv/with\\040space\t*(rw)\n");
  EXPECT_THAT(ExportsOf("/srv/mq/log", etab), ElementsAre("10.0.0.0/8(rw,sync,no_wdelay)", "gateway(ro,sync)"));
  EXPECT_THAT(ExportsOf("/srv/other", etab), ElementsAre("*(rw,async,wdelay)"));
  EXPECT_THAT(ExportsOf("/srv/with space", etab), ElementsAre("*(rw)"));
  EXPECT_THAT(ExportsOf("/srvx", etab), IsEmpty());
  EXPECT_THAT(ExportsOf("/srv", temp.path() + "/missing"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll
