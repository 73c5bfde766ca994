#include "controller/plan/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

constexpr char kPlan[] = R"(hosts: node[1-3]
workload: {dir: /san, file_size: 1m, num_files: 2, rate: 50}
block_size: 4k
duration: 5s
placement:
  - {qm: PAYMENTS, home: node1, standby: node2, block_size: 16k, rate: 400}
  - {qm: ORDERS, home: node2, standby: node3}
  - {qm: A/B%C, home: node2, standby: node1, rate: 12.5}
)";

v1::TestPlan Filled(const std::string& text) {
  v1::TestPlan plan = PlanOf(text);
  FillDefaults(plan);
  return plan;
}

std::vector<std::string> Names(const v1::HostPlan& plan) {
  std::vector<std::string> names;
  for (const v1::LogQueueManager& qm : plan.log().queue_managers()) names.push_back(qm.name());
  return names;
}

// The problems of the plan with one text in place of another.
std::vector<std::string> ProblemsWith(const std::string& from, const std::string& to) {
  std::string text = kPlan;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return ProblemsOf(PlanOf(text));
}

TEST(Placement, TakesWhatAQueueManagerLacksFromThePlan) {
  EXPECT_THAT(ProblemsOf(PlanOf(kPlan)), IsEmpty());
  const v1::TestPlan plan = Filled(kPlan);
  EXPECT_EQ(plan.placement(0).home(), "node1:7461");
  EXPECT_EQ(plan.placement(1).block_size_bytes(), 4096U);
  EXPECT_EQ(plan.placement(1).rate_per_second(), 50);
  EXPECT_EQ(plan.placement(0).rate_per_second(), 400);
  EXPECT_FALSE(plan.workload().has_qm()) << "each host has those that the placement names";
  v1::TestPlan again = plan;
  FillDefaults(again);
  EXPECT_EQ(again.SerializeAsString(), plan.SerializeAsString());
  const absl::StatusOr<v1::TestPlan> read = ReadPlan(WritePlan(plan), "plan.yaml");
  ASSERT_THAT(read, tests::IsOk());
  EXPECT_EQ(Filled(WritePlan(plan)).SerializeAsString(), plan.SerializeAsString()) << "as results keep it";
}

TEST(Placement, AQueueManagersOwnDirectoryIsTheSameOnItsHomeAndOnItsStandbyHost) {
  std::string text = kPlan;
  text.replace(text.find("rate: 400"), 9, "rate: 400, dir: /payments");
  EXPECT_THAT(ProblemsOf(PlanOf(text)), IsEmpty());
  const v1::TestPlan plan = Filled(text);
  const auto dirs_on = [&plan](int host) {
    const v1::LogWorkload workload = MakeHostPlan(plan, host, "h", "a", "", 1).log().workload();
    EXPECT_EQ(workload.dir(), workload.qm_dirs().empty() ? "/san" : workload.qm_dirs(0));
    return std::vector<std::string>(workload.qm_dirs().begin(), workload.qm_dirs().end());
  };
  EXPECT_THAT(dirs_on(0), ElementsAre("/payments", "/san")) << "PAYMENTS, A/B%C";
  EXPECT_THAT(dirs_on(1), ElementsAre("/payments", "/san", "/san")) << "PAYMENTS, ORDERS, A/B%C";
  EXPECT_THAT(dirs_on(2), IsEmpty()) << "ORDERS alone, which has none of its own";
  EXPECT_THAT(DescribePlacement(plan), ::testing::IsSupersetOf({"    /payments: 2 MiB for 1 queue manager",
                                                                "    /san: 4 MiB for 2 queue managers"}));
}

TEST(Placement, ADirectoryThatIsWrongOrMissingIsRefusedByItsKey) {
  EXPECT_THAT(ProblemsWith("rate: 400", "rate: 400, dir: payments"),
              ElementsAre("placement[1].dir: 'payments' of PAYMENTS is not absolute: begin it with '/'"));
  EXPECT_THAT(ProblemsWith("dir: /san, file_size: 1m", "file_size: 1m, qm_dirs: [/a, /b]"),
              ::testing::Contains(HasSubstr("--qm-dirs (workload.qm_dirs): in a placement each queue manager names")));
  std::string text = kPlan;
  text.replace(text.find("dir: /san, "), 11, "");
  text.replace(text.find("rate: 400"), 9, "rate: 400, dir: /payments");
  EXPECT_THAT(ProblemsOf(PlanOf(text)),
              ElementsAre("placement[2]: ORDERS has no directory on node2: give it a dir, or one for all as --dir "
                          "(workload.dir)",
                          HasSubstr("placement[3]: A/B%C has no directory on node2")));
}

TEST(Placement, AHostsOwnDirectoryIsRefusedByItsKeyAlsoWhereAQueueManagerHasOne) {
  std::string text = kPlan;
  text.replace(text.find("rate: 400"), 9, "rate: 400, dir: /payments");
  text.replace(text.find("node[1-3]"), 9, "[node1, {address: node2, workload: {dir: san}}, node3]");
  EXPECT_THAT(ProblemsOf(PlanOf(text)),
              ElementsAre("--dir (workload.dir) 'san' on node2:7461 is not absolute: begin it with '/'"));
}

TEST(Placement, OneDirectoryUnderTwoNamesIsRefused) {
  EXPECT_THAT(ProblemsWith("rate: 400", "rate: 400, dir: /san/"),
              ElementsAre("placement: on node1 '/san' is the same directory as '/san/': give it one name",
                          HasSubstr("placement: on node2 ")));
}

TEST(Placement, WhereEachHasADirectoryThePlanNeedsNone) {
  std::string text = kPlan;
  text.replace(text.find("dir: /san, "), 11, "");
  for (const char* end : {"rate: 400}", "node3}", "rate: 12.5}"}) {
    text.insert(text.find(end) + std::string(end).size() - 1, ", dir: /own");
  }
  EXPECT_THAT(ProblemsOf(PlanOf(text)), IsEmpty());
}

TEST(Placement, WithoutHostsThoseThatItNamesAreTheHosts) {
  const v1::TestPlan plan = Filled(
      "workload: {dir: /san, rate: 1}\n"
      "placement: [{qm: A, home: b, standby: c}, {qm: B, home: a, standby: b}]\n");
  ASSERT_EQ(plan.hosts_size(), 3);
  EXPECT_EQ(plan.hosts(0).address(), "b:7461");
  EXPECT_EQ(plan.hosts(1).address(), "a:7461");
  EXPECT_EQ(plan.hosts(2).address(), "c:7461");
}

TEST(Placement, EachHostPreparesTheFilesOfItsOwnAndOfThoseWhoseStandbyItIs) {
  const v1::TestPlan plan = Filled(kPlan);
  const auto host = [&plan](int number) { return MakeHostPlan(plan, number, "h", "0a", std::string(16, 't'), 250); };
  EXPECT_THAT(Names(host(0)), ElementsAre("PAYMENTS", "A/B%C"));
  EXPECT_THAT(Names(host(1)), ElementsAre("PAYMENTS", "ORDERS", "A/B%C"));
  EXPECT_THAT(Names(host(2)), ElementsAre("ORDERS"));
  EXPECT_EQ(host(1).log().workload().qm(), 3U) << "space, caps and files count them all";
  EXPECT_EQ(host(1).log().placed(), 3U);
  EXPECT_EQ(host(1).log().queue_managers(2).number(), 2U);
  EXPECT_EQ(host(1).log().queue_managers(2).home(), 1U);
  EXPECT_EQ(host(1).log().queue_managers(2).standby(), 0U);
  EXPECT_EQ(EffectiveWorkload(plan, 0).qm(), 2U);
}

TEST(Placement, AllHostsUpAndThenEachOneDown) {
  const v1::TestPlan plan = Filled(absl::StrCat(kPlan, "repeat: 2\n"));
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_EQ(steps.size(), 8U);
  EXPECT_FALSE(steps[0].has_down_host());
  EXPECT_EQ(steps[1].down_host(), 0U);
  EXPECT_EQ(steps[3].down_host(), 2U);
  EXPECT_FALSE(steps[4].has_down_host());
  EXPECT_EQ(steps[4].repetition(), 1U);
  EXPECT_EQ(steps[0].block_size_bytes(), 0U) << "they differ";
  EXPECT_EQ(BlockSizesOf(plan), (std::vector<uint64_t>{4096, 16384}));
  const v1::TestPlan alike = Filled(
      "workload: {dir: /san, rate: 1}\nplacement: [{qm: A, home: a, standby: b}, {qm: B, home: b, standby: a}]\n");
  EXPECT_EQ(ExpandSteps(alike)[0].block_size_bytes(), 4096U);
}

TEST(Placement, WhatRunsIsDescribedStepByStep) {
  const std::string text = absl::StrJoin(DescribePlacement(Filled(kPlan)), "\n");
  EXPECT_THAT(text, HasSubstr("  step 1, all hosts up\n"
                              "    node1: PAYMENTS (16k, 400/s)\n"
                              "    node2: ORDERS (4k, 50/s), A/B%C (4k, 12.5/s)\n"
                              "    node3: none\n"
                              "  step 2, node1 down\n"
                              "    node2: >PAYMENTS (16k, 400/s), ORDERS (4k, 50/s), A/B%C (4k, 12.5/s)\n"));
  EXPECT_THAT(text, HasSubstr("  node2: 6 MiB for 2 at home and 1 on standby\n"));
  EXPECT_THAT(text, HasSubstr("  in all: 12 MiB"));
}

TEST(Placement, EachErrorNamesItsQueueManagerAndTheWayOut) {
  EXPECT_THAT(ProblemsWith("home: node1, standby: node2", "home: node9, standby: node2"),
              ElementsAre("placement[1].home: 'node9' is not one of hosts (node1, node2, node3); name one of them, or "
                          "list it there too"));
  EXPECT_THAT(ProblemsWith("home: node1, standby: node2", "home: node1, standby: 'node[2-3]'"),
              ElementsAre("placement[1].standby: 'node[2-3]' is more than one host; name one"));
  EXPECT_THAT(
      ProblemsWith("standby: node2, block", "standby: node1, block"),
      ElementsAre("placement[1].standby: PAYMENTS has its home on node1 too; its standby must be another host"));
  EXPECT_THAT(ProblemsWith("standby: node2, block", "block"),
              ElementsAre("placement[1]: PAYMENTS has no 'standby': name the host that takes it over"));
  EXPECT_THAT(
      ProblemsWith("qm: ORDERS", "qm: PAYMENTS"),
      ElementsAre("placement[2].qm: PAYMENTS is there already, as number 1: a queue manager has one home and one "
                  "standby"));
  EXPECT_THAT(ProblemsWith("qm: ORDERS, ", ""),
              ElementsAre("placement[2]: a queue manager without its name; expected the key 'qm'"));
  EXPECT_THAT(ProblemsWith("qm: ORDERS", "qm: 'TWO WORDS'"),
              ElementsAre(StartsWith("placement[2].qm: 'TWO WORDS' is not a queue manager name: use 1 to 48 of")));
  EXPECT_THAT(ProblemsWith(", rate: 50}", "}"),
              ElementsAre("placement[2]: ORDERS has no rate: give it one, or one for all as workload.rate"));
  EXPECT_THAT(ProblemsWith("block_size: 16k", "block_size: 2m"),
              ElementsAre(StartsWith("placement[1].block_size: 2m of PAYMENTS is larger than an extent of 1m: use")));
  EXPECT_THAT(ProblemsWith("node[1-3]", "node[1-4]"),
              ElementsAre("hosts: node4 is neither home nor standby of a queue manager in placement: leave it out"));
}

TEST(Placement, BlocksMustSuitBothOfAQueueManagersHosts) {
  const std::string plan =
      "hosts: [node1, {address: node2, workload: {file_size: 64k, direct: on}}]\n"
      "workload: {dir: /san, file_size: 24m, rate: 50}\n"
      "placement:\n"
      "  - {qm: A, home: node1, standby: node2, block_size: 1m}\n"
      "  - {qm: B, home: node1, standby: node2, block_size: 1000}\n"
      "  - {qm: C, home: node2, standby: node1, block_size: 4k}\n";
  EXPECT_THAT(ProblemsOf(PlanOf(plan)),
              ElementsAre("placement[1].block_size: 1m of A is larger than an extent of 64k on node2: use at most 64k, "
                          "or a larger --file-size (workload.file_size)",
                          "placement[2].block_size: 1000 of B on node2 is not a multiple of 512, which O_DIRECT needs: "
                          "use 1k, or --direct off"));
}

TEST(Placement, StepsThatAreTooShortForTheirRatesAreRefused) {
  EXPECT_THAT(ProblemsWith("rate: 12.5", "rate: 0.1"),
              ElementsAre("placement[3].rate: 0.1 writes/s of A/B%C is less than one write in --duration (duration) "
                          "5s: use 10s or more, or a higher rate"));
  EXPECT_THAT(ProblemsWith("placement:", "criteria: [p50<1s, p99<1s]\nplacement:"),
              ElementsAre("--duration (duration) 5s is too short for p99<1s: 62 writes at 12.5 a second, and it needs "
                          "1000; use 82s or more"));
  EXPECT_THAT(ProblemsWith("placement:", "criteria: [p50<1s, p99@cluster<1s]\nplacement:"), IsEmpty());
}

TEST(Placement, WhatItStandsInPlaceOfIsRefused) {
  EXPECT_THAT(ProblemsWith("rate: 50}", "rate: 50, qm: 2}"),
              ElementsAre("--qm (workload.qm): a placement lists the queue managers of each host; leave it out"));
  EXPECT_THAT(ProblemsWith("block_size: 4k\n", "block_size: [4k, 8k]\n"),
              ::testing::Contains(StartsWith("--bsize (block_size): a placement has one step for each host")));
  EXPECT_THAT(ProblemsWith("rate: 50}", "rate: 50, delay: 1ms}"),
              ::testing::Contains(StartsWith("--delay (workload.delay): ")));
  EXPECT_THAT(ProblemsWith("duration: 5s", "criteria: ['p99@4k<5ms', 'hosts>=2', 'fairness>=0.9', 'p99<5ms']"),
              ElementsAre(HasSubstr("'p99@4k<5ms' is about one block size"), HasSubstr("'hosts>=2': a placement is"),
                          HasSubstr("'fairness>=0.9': the loads of a placement differ by plan")));
  EXPECT_THAT(ProblemsWith("duration: 5s", "criteria: ['p99<5ms']\nlimit: {over: rate}"),
              ElementsAre("placement: a search for the highest load has none; give each its own plan"));
  EXPECT_THAT(ProblemsOf(PlanOf("workload: {dir: /a, rate: 1}\nhosts: a\nplacement: [{qm: A, home: a, standby: b}]\n")),
              ElementsAre(StartsWith("placement[1].standby: 'b' is not one of hosts (a); name one")));
  EXPECT_THAT(ProblemsOf(PlanOf("workload: {dir: /a, rate: 1}\nplacement: [{qm: A, home: '{', standby: b}]\n")),
              ElementsAre(StartsWith("placement[1].home: '{' is not a host: expected")));
}

TEST(Placement, ARateCriterionMayOnlyLowerTheShareThatEachQueueManagerMustReach) {
  for (const char* criterion : {"rate_achieved@cluster>=99%", "rate_achieved@host>=99%", "rate_achieved==100%"}) {
    EXPECT_THAT(
        ProblemsWith("duration: 5s", absl::StrCat("criteria: ['", criterion, "']")),
        ElementsAre(HasSubstr(absl::StrCat("'", criterion, "' does not demand the rate of each queue manager"))));
  }
  EXPECT_THAT(ProblemsWith("duration: 5s", "criteria: ['rate_achieved<=100%']"),
              ElementsAre(HasSubstr("did you mean 'rate_achieved>=100%'?")));
  EXPECT_THAT(ProblemsWith("duration: 5s", "criteria: ['rate_achieved>=50%', 'rate_achieved>99.5%']"), IsEmpty());
}

TEST(Placement, AnErrorHasTheLineOfItsKeyOrOfItsQueueManager) {
  std::string text = kPlan;
  text.replace(text.find("standby: node3"), 14, "standby: node2");
  text.replace(text.find("home: node1, "), 13, "");
  PlanPlaces places;
  const absl::StatusOr<v1::TestPlan> plan = ReadPlan(text, "plan.yaml", &places);
  ASSERT_THAT(plan, tests::IsOk());
  const absl::Status status = CheckPlan(*plan, places);
  EXPECT_THAT(std::string(status.message()), HasSubstr("plan.yaml:6: placement[1]: PAYMENTS has no 'home'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("plan.yaml:7: placement[2].standby: ORDERS has its home"));
}

}  // namespace
}  // namespace plimsoll
