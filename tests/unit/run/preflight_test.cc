#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/protocol.h"
#include "common/units.h"
#include "controller/fleet/agent_trust.h"
#include "controller/run/preparation.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Three hosts that have nothing in common but the path, each with 10 GiB of 100 GiB free but for a few bytes.
class PreflightTest : public ::testing::Test {
 protected:
  PreflightTest() : workloads_(3) {
    for (size_t i = 0; i < 3; ++i) {
      auto host = std::make_unique<Host>();
      host->index = i;
      host->label = std::string(1, static_cast<char>('a' + i));
      v1::HostDescription description;
      description.set_boot_id(host->label);
      v1::DirectoryDescription& directory = *description.add_directories();
      directory.set_path("/mnt/mq");
      directory.set_device(1);
      directory.set_total_bytes(100 * kGiB);
      directory.set_free_bytes(10 * kGiB + i);
      host->description = std::move(description);
      hosts_.push_back(std::move(host));
      workloads_[i].set_qm(1);
      workloads_[i].set_num_files(1);
      workloads_[i].set_file_size_bytes(4 * kGiB);
    }
  }

  v1::DirectoryDescription& Directory(size_t host) { return *hosts_[host]->description->mutable_directories(0); }
  std::vector<std::vector<size_t>> Groups() const {
    std::vector<std::vector<size_t>> groups;
    for (const SharedStorage& storage : FindSharedStorage(hosts_)) groups.push_back(storage.hosts);
    return groups;
  }
  std::string Evidence() const { return FindSharedStorage(hosts_).front().evidence; }

  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<v1::LogWorkload> workloads_;
};

TEST(HolderInWords, NamesTheRunOrSaysThatItHasNoNameYet) {
  v1::SessionHolder holder;
  holder.set_peer("127.0.0.1:4711");
  EXPECT_EQ(HolderInWords(holder), "a session of 127.0.0.1:4711 that has just started");
  holder.set_run_id("7f3a21");
  EXPECT_EQ(HolderInWords(holder), "run 7f3a21 of 127.0.0.1:4711");
}

TEST(ExplainConnectError, SaysHowAConnectionEnded) {
  const auto said = [](const char* text) {
    return std::string(ExplainConnectError("", absl::UnavailableError(text)).message());
  };
  EXPECT_EQ(said("Socket closed"), "connection closed");
  EXPECT_EQ(said("recvmsg:Connection reset by peer"), "connection reset");
  EXPECT_EQ(said("Connection reset by peer"), "connection reset");
  EXPECT_EQ(said("keepalive watchdog timeout"), "connection timed out");
  EXPECT_EQ(said("Received RST_STREAM with error code 2"), "connection lost");
  EXPECT_EQ(said("the agent shuts down"), "the agent shuts down");
  EXPECT_EQ(said("pwritev2 /mnt/a: Connection reset by peer (104)"), "pwritev2 /mnt/a: Connection reset by peer (104)");
}

TEST_F(PreflightTest, HostsWithNothingInCommonHaveAStorageEach) {
  EXPECT_THAT(Groups(), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_EQ(Evidence(), "");
}

TEST_F(PreflightTest, OneDeviceOfOneKernelIsShared) {
  hosts_[2]->description->set_boot_id("a");
  EXPECT_THAT(Groups(), ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

TEST_F(PreflightTest, TwoExportsOfOneFileSystemAreShared) {
  Directory(0).set_remote("filer:/mq/a");
  Directory(1).set_remote("10.0.0.5:/mq/b");
  Directory(0).set_remote_file_system("c0a80105:801 fd00:1");
  Directory(1).set_remote_file_system("c0a80105:801 fd00:1");
  EXPECT_THAT(Groups(), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_THAT(Evidence(), HasSubstr("one file system of one server"));
}

TEST_F(PreflightTest, DisksOfOneWorldWideNameAreShared) {
  for (const size_t host : {1U, 2U}) {
    Directory(host).add_block_layers()->set_name("sda1");
    Directory(host).add_block_layers()->set_world_wide_name("naa.600a0b80");
  }
  EXPECT_THAT(Groups(), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST_F(PreflightTest, EqualSizeAndFreeSpaceAreShared) {
  Directory(1).set_free_bytes(10 * kGiB);
  EXPECT_THAT(Groups(), ElementsAre(ElementsAre(0, 1), ElementsAre(2)));
  EXPECT_EQ(Evidence(), "equal size and free space");
  Directory(1).set_total_bytes(101 * kGiB);
  EXPECT_EQ(Groups().size(), 3U);
}

TEST_F(PreflightTest, FileSystemsThatReportNoSizeAreNotEqual) {
  for (size_t host = 0; host < 3; ++host) {
    Directory(host).set_total_bytes(0);
    Directory(host).set_free_bytes(0);
  }
  EXPECT_EQ(Groups().size(), 3U);
}

TEST_F(PreflightTest, SightOfARunDirectoryJoinsWholeGroups) {
  Directory(0).set_remote("filer:/mq");
  Directory(1).set_remote("filer:/mq");
  hosts_[2]->placed.emplace().add_visible_hosts("c");
  EXPECT_EQ(Groups().size(), 2U);
  hosts_[2]->placed->add_visible_hosts("b");
  EXPECT_THAT(Groups(), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_EQ(Evidence(), "both mount filer:/mq; they see one another's run directories");
}

TEST_F(PreflightTest, WhatHostsOfOneStorageNeedIsSummed) {
  // 5 GiB of 10 must stay free: 4 GiB are too much for none of the hosts alone, and for two of them together.
  EXPECT_FALSE(CheckSpace(hosts_, workloads_).has_value());
  Directory(1).set_free_bytes(10 * kGiB);
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kWrong);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("a, b: the storage that they share (equal size and free space)")));
  for (v1::LogWorkload& workload : workloads_) workload.set_min_free_bytes(0);
  EXPECT_FALSE(CheckSpace(hosts_, workloads_).has_value()) << "8 of 10 GiB, and nothing to keep";
}

TEST_F(PreflightTest, TheLatestMeasureOfTheSpaceCounts) {
  v1::Placed& placed = hosts_[0]->placed.emplace();
  placed.set_total_bytes(100 * kGiB);
  placed.set_free_bytes(6 * kGiB);
  placed.set_min_free_bytes(3 * kGiB);
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("a: the storage below /mnt/mq has 6 GiB free")));
}

// Hosts that write in two directories each, on file systems of 10 and 8 GiB free.
class TwoDirectoriesTest : public PreflightTest {
 protected:
  TwoDirectoriesTest() {
    for (size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i]->directories = 2;
      v1::DirectoryDescription& second = *hosts_[i]->description->add_directories();
      second.set_path("/mnt/mq2");
      second.set_device(2);
      second.set_total_bytes(50 * kGiB);
      second.set_free_bytes(8 * kGiB + i);
      workloads_[i].set_qm(2);
      workloads_[i].set_min_free_bytes(0);
      workloads_[i].add_qm_dirs("/mnt/mq");
      workloads_[i].add_qm_dirs("/mnt/mq2");
    }
  }

  v1::DirectoryDescription& Second(size_t host) { return *hosts_[host]->description->mutable_directories(1); }
  std::vector<std::vector<HostPlace>> Places() const {
    std::vector<std::vector<HostPlace>> groups;
    for (const SharedStorage& storage : FindSharedStorage(hosts_)) groups.push_back(storage.places);
    return groups;
  }
  // What a host saw of the others in its directories.
  void Sees(size_t host, const std::vector<std::string>& first, const std::vector<std::string>& second) {
    v1::Placed& placed = hosts_[host]->placed.emplace();
    for (const std::string& label : first) placed.add_visible_hosts(label);
    v1::PlacedDirectory& more = *placed.add_more();
    for (const std::string& label : second) more.add_visible_hosts(label);
  }
};

TEST_F(TwoDirectoriesTest, EachDirectoryIsAStorageOfItsOwn) {
  EXPECT_EQ(Places().size(), 6U);
  EXPECT_FALSE(CheckSpace(hosts_, workloads_).has_value());
}

TEST_F(TwoDirectoriesTest, TheOneThatIsTooSmallIsNamed) {
  Second(1).set_free_bytes(3 * kGiB);
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines,
              ElementsAre(HasSubstr("b: the storage below /mnt/mq2 has 3 GiB free, the run needs 4 GiB")));
}

TEST_F(TwoDirectoriesTest, DirectoriesOfOneDeviceAreSummed) {
  for (size_t host = 0; host < 3; ++host) {
    Second(host).set_device(1);
    Directory(host).set_free_bytes(7 * kGiB + host);
    Second(host).set_free_bytes(7 * kGiB + host);
  }
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value());
  ASSERT_EQ(failure->lines.size(), 3U);
  EXPECT_THAT(failure->lines[0], HasSubstr("a: the storage of several directories (one device of one kernel) below "
                                           "/mnt/mq, /mnt/mq2 has 7 GiB free, the run needs 8 GiB"));
}

TEST_F(TwoDirectoriesTest, WritersThatShareADirectoryAreSummedThere) {
  for (v1::LogWorkload& workload : workloads_) {
    workload.set_qm(4);
    workload.add_qm_dirs("/mnt/mq2");
    workload.add_qm_dirs("/mnt/mq2");
  }
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines[0], HasSubstr("a: the storage below /mnt/mq2 has 8 GiB free, the run needs 12 GiB"));
}

TEST_F(TwoDirectoriesTest, EqualSizesOfOneHostAreNoDoubtWhereEachHasABlockDevice) {
  Second(0).set_total_bytes(100 * kGiB);
  Second(0).set_free_bytes(10 * kGiB);
  EXPECT_EQ(Places().size(), 5U) << "two file systems without devices may be one";
  Directory(0).add_block_layers()->set_name("sda");
  Second(0).add_block_layers()->set_name("sdb");
  EXPECT_EQ(Places().size(), 6U);
}

// Each host has two block devices, and all file systems have one size and one free space.
class EqualDisksTest : public TwoDirectoriesTest {
 protected:
  EqualDisksTest() {
    for (size_t host = 0; host < hosts_.size(); ++host) {
      Set(Directory(host), "sda");
      Set(Second(host), "sdb");
    }
  }

  static void Set(v1::DirectoryDescription& directory, const std::string& device) {
    directory.add_block_layers()->set_name(device);
    directory.set_total_bytes(100 * kGiB);
    directory.set_free_bytes(13 * kGiB);
  }
};

TEST_F(EqualDisksTest, OfAHostsOwnDisksOneAloneCanBeAnotherHosts) {
  EXPECT_FALSE(CheckSpace(hosts_, workloads_).has_value()) << "4 GiB of each host fit, not all 24 GiB";
  Second(1).mutable_block_layers()->Clear();
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value()) << "whether b's two are one is not known";
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("has 13 GiB free, the run needs 16 GiB")));
}

TEST_F(EqualDisksTest, TheMostThatHostsCanHaveInCommonMustFit) {
  // One directory of each host needs 8 GiB; with which of the others' it is one is not known.
  workloads_[0].set_qm(3);
  workloads_[0].add_qm_dirs("/mnt/mq");
  workloads_[1].set_qm(3);
  workloads_[1].add_qm_dirs("/mnt/mq2");
  const auto failure = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("has 13 GiB free, the run needs 20 GiB")));
  EXPECT_THAT(failure->lines.front(), ::testing::EndsWith("; if these are different file systems, create a file of "
                                                          "another size on one of them"));
  Directory(0).set_remote("filer:/mq");
  Directory(1).set_remote("filer:/mq");
  const auto known = CheckSpace(hosts_, workloads_);
  ASSERT_TRUE(known.has_value());
  EXPECT_THAT(known->lines.front(), ::testing::Not(HasSubstr("of another size")));
}

TEST_F(EqualDisksTest, AHostsPartitionsOfOneDiskHaveSpaceOfTheirOwnAndPathsToOneDoNot) {
  hosts_.resize(1);
  workloads_.resize(1);
  const auto lie_on = [](v1::DirectoryDescription& directory, const std::string& device, const std::string& disk) {
    directory.clear_block_layers();
    directory.add_block_layers()->set_name(device);
    v1::BlockLayer& layer = *directory.add_block_layers();
    layer.set_name(disk);
    layer.set_world_wide_name("naa.600a0b80");
  };
  lie_on(Directory(0), "dm-1", "sda");
  lie_on(Second(0), "dm-2", "sda");
  EXPECT_EQ(Places().size(), 2U);
  lie_on(Second(0), "sdb1", "sdb");
  EXPECT_EQ(Places().size(), 1U);
  workloads_[0].set_file_size_bytes(7 * kGiB);
  EXPECT_TRUE(CheckSpace(hosts_, workloads_).has_value()) << "14 of 13 GiB";
}

TEST_F(EqualDisksTest, AHostsFileSystemsInMemoryHaveSpaceOfTheirOwnUnlessTheyAreOne) {
  hosts_.resize(1);
  workloads_.resize(1);
  for (v1::DirectoryDescription* directory : {&Directory(0), &Second(0)}) {
    directory->clear_block_layers();
    directory->set_fs_type("tmpfs");
  }
  EXPECT_EQ(Places().size(), 2U);
  Second(0).set_fs_type("overlay");
  EXPECT_EQ(Places().size(), 1U);
  Second(0).set_fs_type("tmpfs");
  Second(0).set_device(Directory(0).device());
  EXPECT_EQ(Places().size(), 1U);
}

TEST_F(EqualDisksTest, WhatMayBeOneWithAnyOfTheDisksIsJoinedWithEach) {
  hosts_.resize(1);
  workloads_.resize(1);
  v1::DirectoryDescription& third = *hosts_[0]->description->add_directories();
  hosts_[0]->directories = 3;
  third = Second(0);
  third.set_device(3);
  // Of the middle one nothing is known.
  Second(0).clear_block_layers();
  EXPECT_EQ(Places().size(), 1U);
}

TEST_F(TwoDirectoriesTest, SightJoinsTheDirectoriesThatAreSeenFromBothSides) {
  Sees(0, {"a"}, {"a", "b"});
  Sees(1, {"b"}, {"b", "a"});
  EXPECT_THAT(Places(),
              ElementsAre(ElementsAre(HostPlace{0, 0}), ElementsAre(HostPlace{0, 1}, HostPlace{1, 1}),
                          ElementsAre(HostPlace{1, 0}), ElementsAre(HostPlace{2, 0}), ElementsAre(HostPlace{2, 1})));
}

TEST_F(TwoDirectoriesTest, WhereBothAreSeenThoseOfOnePathAreJoined) {
  Sees(0, {"a", "b"}, {"a", "b"});
  Sees(1, {"b", "a"}, {"b", "a"});
  EXPECT_THAT(Places(),
              ElementsAre(ElementsAre(HostPlace{0, 0}, HostPlace{1, 0}), ElementsAre(HostPlace{0, 1}, HostPlace{1, 1}),
                          ElementsAre(HostPlace{2, 0}), ElementsAre(HostPlace{2, 1})));
}

TEST_F(TwoDirectoriesTest, WhereItIsNotKnownWhichOneIsSeenAllAreJoined) {
  Sees(0, {"a", "b"}, {"a"});
  EXPECT_EQ(Groups().front(), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(Places().front().size(), 3U);
}

TEST_F(PreflightTest, AnAgentOfAnotherVersionIsUsedAndOneOfAnotherProtocolIsRefused) {
  for (const auto& host : hosts_) {
    host->address = host->label + ":7461";
    host->description->set_protocol_version(kProtocolVersion);
    host->description->set_version(kVersion);
    host->description->set_instance_id(host->label);
  }
  EXPECT_THAT(Warnings(hosts_), ::testing::IsEmpty());
  hosts_[1]->description->set_version("9.8.7");
  EXPECT_FALSE(CheckHosts(hosts_, workloads_, {4096}).has_value());
  EXPECT_THAT(Warnings(hosts_), ElementsAre(absl::StrCat("b (b:7461): the agent is version 9.8.7, this is ", kVersion,
                                                         "; both speak protocol ", kProtocolVersion)));
  hosts_[1]->description->set_protocol_version(kProtocolVersion + 1);
  const auto failure = CheckHosts(hosts_, workloads_, {4096});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code, Exit::kCannotRun);
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("install versions with one protocol on both")));
}

TEST_F(TwoDirectoriesTest, ADirectoryThatCannotBeUsedIsAFailureAndCaveatsAreWarnedOf) {
  Second(2).set_error("/mnt/mq2 does not exist");
  Second(0).set_caveat("tmpfs keeps data in memory");
  for (size_t host = 0; host < hosts_.size(); ++host) {
    hosts_[host]->description->set_protocol_version(kProtocolVersion);
    hosts_[host]->description->set_instance_id(hosts_[host]->label);
  }
  const auto failure = CheckHosts(hosts_, workloads_, {4096});
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->lines, ElementsAre(HasSubstr("/mnt/mq2 does not exist")));
  EXPECT_THAT(Warnings(hosts_), ElementsAre(HasSubstr("/mnt/mq2: tmpfs keeps data in memory")));
}

}  // namespace
}  // namespace plimsoll
