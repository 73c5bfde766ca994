#include "controller/plan/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing.h"

namespace plimsoll {
namespace {

using absl::StatusCode;

std::vector<std::string> Hosts(const std::string& text) {
  const auto hosts = ParseHostList(text);
  EXPECT_THAT(hosts, IsOk()) << text;
  return hosts.ok() ? *hosts : std::vector<std::string>();
}

TEST(HostList, EveryKindOfAddressGetsItsPort) {
  EXPECT_THAT(Hosts("a, b:7462 ,[::1]:7463,[::1],10.0.0.1,unix:/run/agent"),
              ElementsAre("a:7461", "b:7462", "[::1]:7463", "[::1]:7461", "10.0.0.1:7461", "unix:/run/agent"));
}

TEST(HostList, RangesExpandInOrder) {
  EXPECT_THAT(Hosts("node[1-4]"), ElementsAre("node1:7461", "node2:7461", "node3:7461", "node4:7461"));
  EXPECT_THAT(Hosts("n[8-10]:70"), ElementsAre("n8:70", "n9:70", "n10:70"));
  EXPECT_THAT(Hosts("[1-2].x"), ElementsAre("1.x:7461", "2.x:7461"));
  EXPECT_THAT(Hosts("n[1,3,5-6]"), ElementsAre("n1:7461", "n3:7461", "n5:7461", "n6:7461"));
  EXPECT_THAT(Hosts("r[1-2]n[1-2]"), ElementsAre("r1n1:7461", "r1n2:7461", "r2n1:7461", "r2n2:7461"));
}

TEST(HostList, LeadingZerosKeepTheWidth) {
  EXPECT_THAT(Hosts("node[08-10].x"), ElementsAre("node08.x:7461", "node09.x:7461", "node10.x:7461"));
  EXPECT_THAT(Hosts("n[099-101]"), ElementsAre("n099:7461", "n100:7461", "n101:7461"));
  EXPECT_THAT(Hosts("n[0-1]"), ElementsAre("n0:7461", "n1:7461"));
}

TEST(HostList, SpellingsOfOneIpv6AddressBecomeOne) {
  EXPECT_THAT(Hosts("[0:0::0001],[::1]"), ElementsAre("[::1]:7461", "[::1]:7461"));
  EXPECT_THAT(Hosts("[FE80::1%eth0]:70"), ElementsAre("[fe80::1%eth0]:70"));
}

TEST(HostList, WhatIsWrongNamesTheItem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "'' is not a host: expected host, host:port, [v6]:port or unix:/path between the commas"},
      {"a,,b", "'' is not a host"},
      {"a,", "'' is not a host"},
      {"a b", "'a b' is not a host: expected letters, digits, '.', '-' and '_'"},
      {"a/b", "'a/b' is not a host"},
      {"http://node1", "'http://node1' is not a host: drop 'http://': write node1"},
      {"https://node1:7461/", "drop 'https://': write node1:7461"},
      {"root@node1", "'root@node1' is not a host: drop the user: write node1"},
      {"node1:7461-7463", "a port cannot be a range: list node1 once for each port"},
      {"node1:[7461-7463]", "a port cannot be a range: list node1 once for each port"},
      {"-a", "'-a' is not a host: a host's name may not begin with '-'"},
      {"a:", "'a:' is not a host: expected ':' and a port from 1 to 65535"},
      {"a:0", "'a:0' is not a host"},
      {"a:65536", "'a:65536' is not a host"},
      {"a:7x", "'a:7x' is not a host"},
      {":70", "':70' is not a host"},
      {"a,::1", "'::1' is not a host: an IPv6 address goes in brackets"},
      {"[::1", "'[::1' is not a host: expected ']' after the IPv6 address"},
      {"[::1]x", "'[::1]x' is not a host: expected ':' and a port"},
      {"[::g]", "'[::g]' is not a host: expected an IPv6 address"},
      {"[::1%]", "'[::1%]' is not a host: expected an IPv6 address"},
      {"n[1-4", "'n[1-4' is not a host: expected ']' after the range"},
      {"n[]", "'n[]' is not a host: expected numbers in the brackets"},
      {"n[a-b]", "'n[a-b]' is not a host: expected numbers in the brackets"},
      {"n[1-2-3]", "'n[1-2-3]' is not a host: expected numbers in the brackets"},
      {"n[4-1]", "'n[4-1]' is not a host: the range runs backwards"},
      {"n[1-4097]", "more than 4096 hosts"},
      {"n[1-4096],m", "more than 4096 hosts"},
      {"n[1-65][1-64]", "more than 4096 hosts"},
      {"n[1-4096,1-4096]", "more than 4096 hosts"},
      {"n[0-99999999999999999999]", "expected numbers in the brackets"},
      {"unix:agent", "'unix:agent' is not a host: expected an absolute path"},
      {"unix:/" + std::string(107, 'x'), "a socket's path has at most 107 bytes"},
      {std::string(254, 'x'), "expected a name of 1 to 253 letters"},
      {std::string(1025, 'x'), "it is longer than 1024 bytes"},
      {"a\x01", "'a?' is not a host: it is not plain text"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_THAT(ParseHostList(text), StatusIs(StatusCode::kInvalidArgument, message)) << text;
}

TEST(HostList, TheLimitItselfIsAccepted) {
  EXPECT_EQ(Hosts("n[1-64]-[1-64]").size(), kMaxHosts);
  EXPECT_THAT(Hosts("unix:/" + std::string(106, 'x')), ::testing::SizeIs(1));
}

TEST(HostsFile, TakesHostsByLineBlankOrCommaAndIgnoresComments) {
  const auto hosts = ReadHostsFile("# rack 1\na\n\n  b:70 c\t# both\r\nd,e\nn[1,2]\n", "hosts.txt");
  ASSERT_THAT(hosts, IsOk());
  EXPECT_THAT(*hosts, ElementsAre("a:7461", "b:70", "c:7461", "d:7461", "e:7461", "n1:7461", "n2:7461"));
}

TEST(HostsFile, ErrorsNameTheLine) {
  EXPECT_THAT(ReadHostsFile("a\n# b\nc:x\n", "hosts.txt"),
              StatusIs(StatusCode::kInvalidArgument, "hosts.txt:3: 'c:x' is not a host"));
  EXPECT_THAT(ReadHostsFile("n[1-4096]\nm\n", "hosts.txt"),
              StatusIs(StatusCode::kInvalidArgument, "hosts.txt:2: more than 4096 hosts"));
  EXPECT_THAT(ReadHostsFile("# nothing\n", "hosts.txt"), StatusIs(StatusCode::kInvalidArgument, "hosts.txt: no host"));
}

}  // namespace
}  // namespace plimsoll
