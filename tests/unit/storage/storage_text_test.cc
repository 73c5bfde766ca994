#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"
#include "controller/render/plain_text.h"
#include "controller/storage/host_text.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr uint64_t kBlockBytes = 4096;

v1::DirectoryDescription Mounted() {
  v1::DirectoryDescription directory;
  directory.set_path("/mnt/mq");
  directory.set_fs_type("nfs4");
  directory.set_fs_source("filer:/mq");
  directory.set_remote("filer:/mq");
  directory.set_mount_point("/mnt");
  directory.set_mount_options(
      "rw,vers=4.2,rsize=65536,wsize=65536,hard,timeo=600,retrans=2,local_lock=none,addr=10.0.0.9");
  return directory;
}

TEST(TextOfStorage, NamesWhatAnAdministratorLooksFor) {
  const std::string text = absl::StrJoin(TextOfStorage(Mounted(), kBlockBytes), "\n");
  for (const char* part :
       {"nfs4 from filer:/mq, mounted on /mnt", "NFS version      4.2", "server           filer (10.0.0.9)",
        "export           /mq", "hard, timeo=600", "wsize=65536", "local_lock=none", "default"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(TextOfStorage, WhatIsNotVisibleInTheAgentsRootIsNotLeftBlank) {
  v1::DirectoryDescription directory;
  directory.set_path("/mnt/mq");
  directory.set_fs_type("ext4");
  directory.set_mount_options("rw");
  const std::string text = absl::StrJoin(TextOfStorage(directory, kBlockBytes), "\n");
  EXPECT_THAT(text, HasSubstr("ext4; its device and mount point are outside the agent's root"));
  EXPECT_THAT(text, Not(HasSubstr("from ,")));
}

TEST(TextOfStorage, ADirectoryThatCannotBeUsedSaysWhy) {
  v1::DirectoryDescription directory;
  directory.set_path("/gone");
  directory.set_error("/gone: No such file or directory (2)");
  EXPECT_THAT(
      TextOfStorage(directory, kBlockBytes),
      ::testing::ElementsAre("  directory        /gone", "  error            /gone: No such file or directory (2)"));
}

TEST(TextOfStorage, StaysWithinTheWidthAndCannotSteerTheTerminal) {
  v1::DirectoryDescription directory = Mounted();
  directory.set_mount_options(directory.mount_options() + ",soft," + std::string(300, 'x') + "\033[2J");
  v1::BlockLayer& layer = *directory.add_block_layers();
  layer.set_name("dm-0");
  layer.set_mapped_name(std::string(200, 'm'));
  const std::vector<std::string> lines = TextOfStorage(directory, kBlockBytes);
  EXPECT_THAT(lines, Each(ResultOf(DisplayWidth, Le(100U))));
  EXPECT_THAT(lines, Each(Not(HasSubstr("\033"))));
}

}  // namespace
}  // namespace plimsoll
