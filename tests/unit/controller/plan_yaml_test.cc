#include "controller/plan/plan_yaml.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "controller/plan/plan_defaults.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

using google::protobuf::util::MessageDifferencer;

TEST(PlanYaml, ReadsEveryKindOfValue) {
  const v1::TestPlan plan = PlanOf(R"(
name: "Acceptance: SAN A"
workload:
  dir: /mnt/a
  file_size: 64m
  delay: 50
  rate: 0.5
  sync: fdatasync
block_size: [4k, 16k]
duration: 1m
keep_files: true
trace: off
criteria:
  - p99<10ms
  - iops>=2000
)");
  EXPECT_EQ(plan.name(), "Acceptance: SAN A");
  EXPECT_EQ(plan.workload().dir(), "/mnt/a");
  EXPECT_EQ(plan.workload().file_size_bytes(), 64U << 20U);
  EXPECT_EQ(plan.workload().delay_ns(), 50'000);
  EXPECT_EQ(plan.workload().rate_per_second(), 0.5);
  EXPECT_EQ(plan.workload().sync(), v1::SYNC_MODE_FDATASYNC);
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(4096, 16384));
  EXPECT_EQ(plan.duration_ns(), 60'000'000'000);
  EXPECT_TRUE(plan.keep_files());
  EXPECT_EQ(plan.trace(), v1::TOGGLE_OFF);
  EXPECT_THAT(plan.criteria(), ElementsAre("p99<10ms", "iops>=2000"));
}

TEST(PlanYaml, WhatTheTextDoesNotSayIsNotSet) {
  const v1::TestPlan plan = PlanOf("name: x\n");
  EXPECT_FALSE(plan.has_duration_ns());
  EXPECT_FALSE(plan.has_workload());
  EXPECT_TRUE(plan.block_size_bytes().empty());
}

TEST(PlanYaml, AListMayBeTextWithCommas) {
  EXPECT_THAT(PlanOf("block_size: 4k\n").block_size_bytes(), ElementsAre(4096));
  EXPECT_THAT(PlanOf("block_size: 4k, 16k\n").block_size_bytes(), ElementsAre(4096, 16384));
  EXPECT_THAT(PlanOf("criteria: p99<10ms, max<1s\n").criteria(), ElementsAre("p99<10ms", "max<1s"));
}

TEST(PlanYaml, HostsAreAddressesOrMapsAndMayBeRanges) {
  const v1::TestPlan plan = PlanOf(R"(
hosts:
  - alpha
  - node[1-2]:70
  - address: beta[3-4]
    workload: {qm: 4}
)");
  ASSERT_EQ(plan.hosts_size(), 5);
  EXPECT_EQ(plan.hosts(0).address(), "alpha:7461");
  EXPECT_FALSE(plan.hosts(0).has_workload());
  EXPECT_EQ(plan.hosts(2).address(), "node2:70");
  EXPECT_EQ(plan.hosts(3).address(), "beta3:7461");
  EXPECT_EQ(plan.hosts(4).address(), "beta4:7461");
  EXPECT_EQ(plan.hosts(3).workload().qm(), 4U);
  EXPECT_EQ(plan.hosts(4).workload().qm(), 4U);
}

TEST(PlanYaml, HostsMayBeTextWithCommasOrNone) {
  EXPECT_EQ(PlanOf("hosts: a, node[1-4]\n").hosts_size(), 5);
  EXPECT_EQ(PlanOf("hosts: []\n").hosts_size(), 0);
}

TEST(PlanYaml, ThePlanIsWrittenInTheProtosOrderWithEveryDefault) {
  v1::TestPlan plan;
  plan.set_name("a \"b\" \\ c");
  plan.mutable_workload()->set_dir("/mnt/a");
  plan.mutable_workload()->set_qm(2);
  plan.add_hosts()->set_address("alpha");
  v1::HostSpec& host = *plan.add_hosts();
  host.set_address("[::1]:70");
  host.mutable_workload()->set_dir("/mnt/a");
  host.mutable_workload()->set_qm(4);
  plan.add_block_size_bytes(4096);
  plan.add_block_size_bytes(5000);
  plan.add_criteria("p99<10ms");
  EXPECT_EQ(WritePlan(plan), R"(name: "a \"b\" \\ c"
hosts:
  - address: alpha:7461
  - address: "[::1]:70"
    workload:
      qm: 4
workload:
  dir: /mnt/a
  qm: 2
  file_size: 16m
  num_files: 3
  file_prefix: S
  sync: dsync
  direct: auto
  delay: 0s
  rate: 0
  cpu_load: 0
  arrival: even
block_size: [4k, 5000]
read: 0
access: sequential
duration: 10s
warmup: 2s
repeat: 1
criteria:
  - "p99<10ms"
lease: 10s
on_host_loss: continue
max_slew: 500
keep_files: false
trace: on
trace_limit: 1g
hang_limit: 2m
settle: 0s
until_steady: 0s
)");
}

TEST(PlanYaml, TextThatYamlWouldReadOtherwiseIsQuoted) {
  EXPECT_EQ(YamlText("/mnt/mq-log_1.x"), "/mnt/mq-log_1.x");
  EXPECT_EQ(YamlText("node1:7461"), "node1:7461");
  for (const std::string text :
       {"", "null", "No", "on", "-a", "1", "a: b", "a:", "a #b", "'", "{x}", "*a", "&a", " a"}) {
    EXPECT_EQ(YamlText(text), "\"" + text + "\"");
    EXPECT_EQ(PlanOf("name: " + YamlText(text)).name(), text);
  }
}

TEST(PlanYaml, TextOfEveryAlphabetReadsBack) {
  for (const std::string text :
       {"\xC3\xA4\xE2\x82\xAC", "\xF0\x9F\x98\x80", "a\\nb", "\"", "\xC2\xA0", "\xEF\xBF\xBE"}) {
    v1::TestPlan plan;
    plan.set_name(text);
    EXPECT_EQ(PlanOf(WritePlan(plan)).name(), text);
  }
}

TEST(PlanYaml, AWrittenPlanReadsBackToTheFilledInPlan) {
  v1::TestPlan plan;
  plan.add_hosts()->set_address("a");
  plan.mutable_workload()->set_rate_per_second(0.1);
  v1::TestPlan filled = plan;
  FillDefaults(filled);
  EXPECT_TRUE(MessageDifferencer::Equals(PlanOf(WritePlan(plan)), filled));
}

TEST(PlanYaml, AByteOrderMarkAndWindowsLineEndsAreNoMatter) {
  const v1::TestPlan plan = PlanOf("\xEF\xBB\xBFname: x\r\nduration: 5\r\n");
  EXPECT_EQ(plan.name(), "x");
  EXPECT_EQ(plan.duration_ns(), 5'000'000'000);
}

}  // namespace
}  // namespace plimsoll
