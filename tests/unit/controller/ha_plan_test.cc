#include "controller/plan/ha_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/units.h"
#include "controller/criteria/criteria.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll::tests {
namespace {

constexpr char kDrill[] = R"(
workload: {dir: /mnt/log, qm: 2}
ha:
  pairs: [node1+node2, "node3:7000 + node4"]
  faults: [kill, freeze]
  commands:
    - fault: freeze
      do: [virsh, suspend, "{host}"]
      undo: [virsh, resume, "{host}"]
)";

v1::TestPlan Plan(const std::string& text) {
  auto plan = ReadPlan(text, "plan.yaml");
  EXPECT_THAT(plan, IsOk());
  v1::TestPlan filled = plan.ok() ? *plan : v1::TestPlan();
  FillDefaults(filled);
  return filled;
}

TEST(HaPlan, ADrillHasItsHostsFromItsPairsAndDefaultsOfItsOwn) {
  const v1::TestPlan plan = Plan(kDrill);
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  ASSERT_EQ(plan.hosts_size(), 4);
  EXPECT_EQ(plan.hosts(2).address(), "node3:7000");
  EXPECT_EQ(plan.lease_ns(), 90 * kNsPerSecond) << "30 s beyond the longest takeover";
  EXPECT_THAT(plan.criteria(), ElementsAre("lost==0", "split_brain==0", "takeover_max<60s"));
  const std::vector<HaPair> pairs = HaPairs(plan);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[1].first, 2U);
  EXPECT_EQ(pairs[1].first_qm, 3U);
}

TEST(HaPlan, WhatIsWrittenIsReadBack) {
  const v1::TestPlan plan = Plan(kDrill);
  EXPECT_EQ(Plan(WritePlan(plan)).SerializeAsString(), plan.SerializeAsString());
}

TEST(HaPlan, ARunsPlanGetsNoDrill) {
  EXPECT_FALSE(Plan("workload: {dir: /mnt/log}").has_ha());
}

TEST(HaPlan, ADrillOfHangsAloneAsksForNoTakeover) {
  const v1::TestPlan plan =
      Plan("workload: {dir: /d}\nha: {pairs: [a+b], faults: hang, server_lease: 10s, lock_poll: 1s}");
  EXPECT_THAT(plan.criteria(), ElementsAre("lost==0", "split_brain==0"));
  EXPECT_EQ(HangNs(plan.ha()), 13 * kNsPerSecond);
}

std::string HaPlanProblemsOf(const std::string& yaml) {
  return absl::StrJoin(ProblemsOf(Plan(yaml)), "; ");
}

TEST(HaPlan, WhatCannotBeADrillIsRefusedWithAWayOut) {
  const auto problem = [](const std::string& ha, const std::string& rest = "") {
    const std::vector<std::string> problems = ProblemsOf(Plan("workload: {dir: /d}\n" + rest + "ha: {" + ha + "}"));
    return problems.empty() ? "" : problems.front();
  };
  EXPECT_EQ(problem("pairs: [a+b]"), "");
  EXPECT_THAT(problem("rounds: 3"), HasSubstr("--pairs (ha.pairs) is missing"));
  EXPECT_THAT(problem("pairs: [a]"), HasSubstr("is not a pair of hosts"));
  EXPECT_EQ(problem("pairs: ['-rf+node2']"),
            "--pairs (ha.pairs): '-rf' is not a host: a host's name may not begin with '-'");
  EXPECT_EQ(problem("pairs: ['node[1-2]+b']").substr(0, 31), "--pairs (ha.pairs): 'node[1-2]'");
  EXPECT_THAT(problem("pairs: [a+b, b+c]"), HasSubstr("b:7461 is listed twice"));
  EXPECT_THAT(problem("pairs: [a+b]", "hosts: [a, c]\n"), HasSubstr("c:7461 is in none of the pairs"));
  EXPECT_THAT(problem("pairs: [a+b]", "lease: 60s\n"),
              HasSubstr("--lease (lease) 1m is not more than a second longer"));
  EXPECT_THAT(problem("pairs: [a+b]", "block_size: 512\n"), HasSubstr("a multiple of 4k"));
  EXPECT_THAT(problem("pairs: [a+b]", "block_size: [4k, 64k]\n"), HasSubstr("blocks of one size"));
  EXPECT_THAT(HaPlanProblemsOf("workload: {dir: /d, direct: off}\nha: {pairs: [a+b]}"), HasSubstr("leave it at auto"));
  EXPECT_THAT(problem("pairs: [a+b], faults: [freeze]"),
              AllOf(HasSubstr("freeze needs commands"), HasSubstr("--do 'freeze=virsh suspend {host}'"),
                    HasSubstr("--undo 'freeze=virsh resume {host}'")));
  EXPECT_THAT(problem("pairs: [a+b], commands: [{fault: kill, do: [x]}]"), HasSubstr("kill takes no commands"));
  EXPECT_THAT(problem("pairs: [a+b], faults: [cut], commands: [{fault: cut, do: \"virsh suspend x\"}]"),
              HasSubstr("without a shell"));
  EXPECT_THAT(problem("pairs: [a+b]", "criteria: [p99<10ms]\n"), HasSubstr("is not a criterion of an HA drill"));
}

TEST(HaPlan, ACommandIsSplitAtBlanksOutsideQuotesAndNothingElseMeansAnything) {
  const auto words = [](const std::string& text) {
    const auto split = SplitCommand(text);
    return split.ok() ? absl::StrJoin(*split, "|") : "";
  };
  EXPECT_EQ(words("virsh suspend {host}"), "virsh|suspend|{host}");
  EXPECT_EQ(words("  a\t b  "), "a|b");
  EXPECT_EQ(words("a 'b c' \"d 'e'\" f'g h'i"), "a|b c|d 'e'|fg hi");
  EXPECT_EQ(words("a '' b"), "a||b");
  EXPECT_EQ(words("a $(b) \\c *;|&"), "a|$(b)|\\c|*;|&");
  for (const char* text : {"", "  ", "'' a", "a 'b", "a \"b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SplitCommand(text).status())) << text;
  }
}

TEST(HaPlan, CommandsOfOptionsTakeThePlaceOfThePlans) {
  v1::TestPlan plan = Plan(kDrill);
  v1::HaPlan& ha = *plan.mutable_ha();
  ASSERT_THAT(SetCommand("freeze=stop {host}", false, ha), IsOk());
  EXPECT_THAT(ha.commands(0).do_(), ElementsAre("stop", "{host}"));
  EXPECT_THAT(ha.commands(0).undo(), ElementsAre("virsh", "resume", "{host}"));
  ASSERT_THAT(SetCommand("server-restart=restart a=b", false, ha), IsOk());
  ASSERT_EQ(ha.commands_size(), 2);
  EXPECT_EQ(ha.commands(1).fault(), v1::HA_FAULT_KIND_SERVER_RESTART);
  EXPECT_THAT(ha.commands(1).do_(), ElementsAre("restart", "a=b"));
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  for (const char* text : {"freeze", "kill=x", "=x", "freeze=", "frieze=x"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(SetCommand(text, true, ha))) << text;
  }
}

TEST(HaPlan, AHostMayTakeFiveMinutesToReturnOrAMinuteLongerThanTheLease) {
  EXPECT_EQ(Plan(kDrill).ha().restore_limit_ns(), 300 * kNsPerSecond);
  const std::string drill = "workload: {dir: /d}\nha: {pairs: [a+b]";
  EXPECT_EQ(Plan(drill + ", takeover_limit: 10m}").ha().restore_limit_ns(), 690 * kNsPerSecond);
  EXPECT_THAT(HaPlanProblemsOf(drill + ", restore_limit: 60s}"), HasSubstr("is not longer than --lease (lease) 90s"));
  EXPECT_EQ(HaPlanProblemsOf(drill + ", restore_limit: 91s, at: 5s}"), "");
  EXPECT_FALSE(Plan(drill + "}").ha().has_at_ns()) << "moments are random where none is given";
}

TEST(HaPlan, TheHostIsFilledIntoArgumentsThatStayWhole) {
  EXPECT_EQ(FillHost("root@{host}", "node1:7461"), "root@node1");
  EXPECT_EQ(FillHost("{host};{address}", "[fd00::1]:7461"), "fd00::1;[fd00::1]:7461");
  EXPECT_EQ(FillHost("{host}", "unix:/run/a b"), "unix:/run/a b");
  EXPECT_EQ(FillHost("{host}", "node1"), "node1");
  EXPECT_EQ(FillHost("{host}", "[fd00::1]"), "fd00::1");
}

TEST(HaPlan, OnlyTheFirstHostOfAPairFillsLogs) {
  const v1::TestPlan plan = Plan(kDrill);
  EXPECT_EQ(HaFilledWorkloads(plan)[0].qm(), 2U);
  EXPECT_EQ(HaFilledWorkloads(plan)[1].qm(), 0U);
  const v1::HostPlan host = MakeHaHostPlan(plan, 3, {"n1", "n2", "n3", "n4"}, "abc", std::string(16, 't'), 250'000'000);
  ASSERT_EQ(host.ha().queue_managers_size(), 2);
  EXPECT_EQ(host.ha().queue_managers(0).qm(), 3U);
  EXPECT_EQ(host.ha().queue_managers(0).home(), "n3");
  EXPECT_TRUE(host.keep_files()) << "the drill outlives its sessions";
}

TEST(HaCriteria, EveryMetricIsReadAndWhatIsNoneIsRefused) {
  for (const HaMetricInfo& info : HaMetrics()) {
    const auto criterion = ParseHaCriterion(std::string(info.name) + (info.is_time ? " < 2s" : "==0"));
    ASSERT_THAT(criterion, IsOk());
    EXPECT_EQ(criterion->metric, info.metric);
    EXPECT_EQ(&InfoOf(info.metric), &info);
  }
  for (const char* text : {"", "lost", "lost=0", "lost==-1", "lost==0s", "takeover_max<60", "gap<1s", "<1s"}) {
    EXPECT_FALSE(ParseHaCriterion(text).ok()) << text;
  }
  EXPECT_TRUE(Fulfils(*ParseHaCriterion("gap_max<=1s"), kNsPerSecond));
  EXPECT_FALSE(Fulfils(*ParseHaCriterion("gap_max<1s"), kNsPerSecond));
}

}  // namespace
}  // namespace plimsoll::tests
