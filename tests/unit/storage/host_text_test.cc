#include "controller/storage/host_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/render/plain_text.h"
#include "tests/testing.h"

namespace plimsoll {
namespace {

constexpr uint64_t kTib = uint64_t{1} << 40;

v1::DirectoryDescription Export(int host) {
  v1::DirectoryDescription directory;
  directory.set_path("/mnt/mqlog");
  directory.set_fs_type("nfs4");
  directory.set_fs_source("filer:/mq");
  directory.set_remote("filer:/mq");
  directory.set_mount_point("/mnt/mqlog");
  directory.set_mount_options(absl::StrCat(
      "rw,vers=4.2,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,local_lock=none,clientaddr=10.0.0.", host));
  directory.set_free_bytes(kTib);
  directory.set_total_bytes(2 * kTib);
  return directory;
}

std::vector<AskedHost> Hosts(int count) {
  std::vector<AskedHost> hosts;
  for (int i = 1; i <= count; ++i) {
    AskedHost host{
        absl::StrCat("node", i), absl::StrCat("10.0.0.", i, ":7461"), {}, true, 45'100, -12'000, 22'500, 1'500'000, ""};
    host.description.set_version("0.1.0");
    host.description.set_protocol_version(6);
    host.description.set_kernel("Linux 6.1.0 x86_64");
    host.description.set_cpus(8);
    host.description.set_memory_bytes(32ULL << 30);
    host.description.set_clock_source("tsc");
    host.description.set_time_synchronized(true);
    host.description.set_time_error_ns(900'000);
    *host.description.add_directories() = Export(i);
    hosts.push_back(host);
  }
  return hosts;
}

std::vector<HostDirectory> Directories(int count) {
  std::vector<HostDirectory> hosts;
  for (int i = 1; i <= count; ++i) hosts.push_back({absl::StrCat("node", i), Export(i)});
  return hosts;
}

TEST(JoinHostNames, WritesNumberedHostsAsOptionsTakeThem) {
  EXPECT_EQ(JoinHostNames({}), "");
  EXPECT_EQ(JoinHostNames({"node1"}), "node1");
  EXPECT_EQ(JoinHostNames({"node1", "node2", "node3"}), "node[1-3]");
  EXPECT_EQ(JoinHostNames({"node1", "node2", "node4", "alpha"}), "node[1-2,4],alpha");
  EXPECT_EQ(JoinHostNames({"node8", "node9", "node10"}), "node[8-10]");
  EXPECT_EQ(JoinHostNames({"node08", "node09", "node10"}), "node[08-10]");
  EXPECT_EQ(JoinHostNames({"node9.dc2.example", "node10.dc2.example"}), "node[9-10].dc2.example");
  EXPECT_EQ(JoinHostNames({"mq-a-7", "mq-b-7"}), "mq-a-7,mq-b-7");
}

TEST(JoinHostNames, KeepsNamesApartThatARangeWouldNotGiveBack) {
  EXPECT_EQ(JoinHostNames({"node1", "node02"}), "node1,node02");
  EXPECT_EQ(JoinHostNames({"node09", "node010"}), "node09,node010");
  EXPECT_EQ(JoinHostNames({"alpha", "alpha-2"}), "alpha,alpha-2");
  EXPECT_EQ(JoinHostNames({"node", "node"}), "node,node");
  EXPECT_EQ(JoinHostNames({std::string(40, '1'), std::string(40, '2')}).find('['), std::string::npos);
}

TEST(TextOfHosts, TwelveAlikeHostsAreTwelveRowsAndOneDescription) {
  const std::vector<std::string> lines = TextOfHosts(Hosts(12));
  EXPECT_LE(lines.size(), 23U) << absl::StrJoin(lines, "\n");
  const std::string text = absl::StrJoin(lines, "\n");
  EXPECT_THAT(text, HasSubstr("\nnode[1-12]\n"));
  EXPECT_THAT(text, HasSubstr("  node12  10.0.0.12:7461    45.1  -0.000012000    22.5   +1.500    900.0\n"));
  EXPECT_THAT(text, HasSubstr("free             1 TiB of 2 TiB"));
  EXPECT_THAT(text, Not(HasSubstr("clientaddr"))) << "it differs on hosts that are alike";
}

TEST(TextOfHosts, AHostThatDiffersIsDescribedOnItsOwn) {
  std::vector<AskedHost> hosts = Hosts(4);
  hosts[2].description.set_cpus(4);
  hosts[1].description.mutable_directories(0)->set_free_bytes(kTib / 2);
  const std::string text = absl::StrJoin(TextOfHosts(hosts), "\n");
  EXPECT_THAT(text, HasSubstr("\nnode[1-2,4]\n"));
  EXPECT_THAT(text, HasSubstr("\nnode3\n"));
  EXPECT_THAT(text, HasSubstr("512 GiB of 2 TiB (node2) to 1 TiB"));
}

TEST(TextOfHosts, WhatIsNotKnownIsADash) {
  std::vector<AskedHost> hosts = Hosts(2);
  hosts[0].probed = false;
  hosts[1].description.set_time_synchronized(false);
  hosts[1].busy_with = "run 7f3a21 of 10.0.0.9 for 12 s (writing)";
  const std::string text = absl::StrJoin(TextOfHosts(hosts), "\n");
  EXPECT_THAT(text, HasSubstr("node1  10.0.0.1:7461       -     no answer       -        -        -\n"));
  EXPECT_THAT(text, HasSubstr("+1.500        -\n"));
  EXPECT_THAT(text, HasSubstr("  node2: busy with run 7f3a21 of 10.0.0.9 for 12 s (writing)\n"));
}

TEST(TextOfHosts, TheNodesOfPodsAreAColumnWhereAnyIsKnown) {
  std::vector<AskedHost> hosts = Hosts(2);
  EXPECT_THAT(TextOfHosts(hosts)[1], HasSubstr("  host   address        RTT us "));
  hosts[1].node = "worker-7\033[2J";
  const std::string text = absl::StrJoin(TextOfHosts(hosts), "\n");
  EXPECT_THAT(text, ContainsRegex("  host +address +node +RTT us "));
  EXPECT_THAT(text, ContainsRegex("\n  node1 +10.0.0.1:7461 +- +45.1 "));
  EXPECT_THAT(text, ContainsRegex("\n  node2 +10.0.0.2:7461 +worker-7[^ ]* +45.1 "));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(TextOfHosts, LongNamesBreakNoColumnAndControlNoTerminal) {
  std::vector<AskedHost> hosts = Hosts(3);
  for (AskedHost& host : hosts) {
    host.label = absl::StrCat("a-very-long-host-name-of-a-cluster-", host.label, ".storage.example.com\033[2J");
    host.address = absl::StrCat(host.label, ":7461");
  }
  const std::vector<std::string> lines = TextOfHosts(hosts);
  EXPECT_THAT(lines, Each(ResultOf(DisplayWidth, Le(kHostTextWidth))));
  EXPECT_THAT(lines, Each(Not(HasSubstr("\033"))));
  for (size_t row = 2; row <= 4; ++row) EXPECT_EQ(DisplayWidth(lines[row]), DisplayWidth(lines[1])) << lines[row];
  EXPECT_NE(lines[2].substr(0, 24), lines[3].substr(0, 24)) << "names that were cut still differ";
}

TEST(TextOfStorages, TwelveAlikeHostsAreDescribedOnce) {
  const std::vector<std::string> lines = TextOfStorages(Directories(12), 4096);
  EXPECT_LE(lines.size(), 17U) << absl::StrJoin(lines, "\n");
  EXPECT_EQ(lines.front(), "node[1-12]");
  EXPECT_EQ(lines.back(), "  free             1 TiB of 2 TiB");
}

TEST(TextOfStorages, ATableComparesHostsThatDiffer) {
  std::vector<HostDirectory> hosts = Directories(4);
  hosts[3].directory.set_mount_options("rw,vers=3,soft,timeo=600");
  const std::vector<std::string> lines = TextOfStorages(hosts, 4096);
  const std::string text = absl::StrJoin(lines, "\n");
  EXPECT_THAT(text, HasSubstr("  hosts      file system  source     problems  warnings  hints\n"
                              "  node[1-3]  nfs4         filer:/mq         0         0      1\n"
                              "  node4      nfs4         filer:/mq         2         0      1\n\nnode[1-3]\n"));
  EXPECT_THAT(text, HasSubstr("\n\nnode4\n"));
}

}  // namespace
}  // namespace plimsoll
