#include "controller/plan/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_yaml.h"
#include "controller/report/swept_load.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

using tests::PlanOf;
using tests::ProblemsOf;

v1::TestPlan Filled(const std::string& text) {
  v1::TestPlan plan = PlanOf(text);
  FillDefaults(plan);
  return plan;
}

// A plan with these keys of its workload, and more keys of its own.
std::string Plan(const std::string& workload, const std::string& more = "") {
  return absl::StrCat("workload: {dir: /san, ", workload, "}\nduration: 10s\n", more);
}

// Its steps: "4096: 100 writes/s per QM, 2 QMs per host".
std::vector<std::string> StepsOf(const v1::TestPlan& plan) {
  std::vector<std::string> steps;
  for (const v1::LogStep& step : ExpandSteps(plan)) {
    steps.push_back(absl::StrCat(step.block_size_bytes(), ": ", absl::StrJoin(SweptParts(step), ", ")));
  }
  return steps;
}

TEST(Sweep, AStepIsMadeForEachCombinationBlockSizesOutermostThenRatesThenQueueManagers) {
  const std::string text = Plan("rate: [0, 100], qm: [2, 1]", "block_size: [4k, 64k]\nrepeat: 2\n");
  EXPECT_THAT(ProblemsOf(PlanOf(text)), IsEmpty());
  const v1::TestPlan plan = Filled(text);
  const std::vector<std::string> steps = StepsOf(plan);
  ASSERT_EQ(steps.size(), 16U);
  EXPECT_THAT(std::vector(steps.begin(), steps.begin() + 5),
              ElementsAre("4096: closed loop, 2 QMs per host", "4096: closed loop, 1 QM per host",
                          "4096: 100 writes/s per QM, 2 QMs per host", "4096: 100 writes/s per QM, 1 QM per host",
                          "65536: closed loop, 2 QMs per host"));
  EXPECT_EQ(steps[8], steps[0]) << "the whole list, once more";
  EXPECT_EQ(ExpandSteps(plan)[8].repetition(), 1U);
}

TEST(SizeMix, IsOneStepOfSeveralSizesWithEachLoadOfASweep) {
  const std::string text = Plan("rate: [0, 100]", "block_size_mix: 64k=30, 4096=70%\n");
  EXPECT_THAT(ProblemsOf(PlanOf(text)), IsEmpty());
  const v1::TestPlan plan = Filled(text);
  EXPECT_EQ(plan.block_size_mix(), "64k=30,4k=70");
  EXPECT_THAT(plan.block_size_bytes(), ElementsAre(65536, 4096));
  EXPECT_THAT(ProblemsOf(plan), IsEmpty());
  const std::vector<v1::LogStep> steps = ExpandSteps(plan);
  ASSERT_EQ(steps.size(), 2U);
  for (const v1::LogStep& step : steps) {
    EXPECT_EQ(step.block_size_bytes(), 0U);
    ASSERT_EQ(step.size_mix_size(), 2);
    EXPECT_EQ(step.size_mix(0).block_size_bytes(), 65536U);
    EXPECT_EQ(step.size_mix(0).percent(), 30U);
  }
  EXPECT_EQ(ListedSteps(plan), 2U);
}

TEST(SizeMix, OfALongPlanTheFirstStepOfEachHostHasTheSizes) {
  const v1::TestPlan plan = Filled(Plan("rate: [0, 100]", "block_size_mix: 4k=70,64k=30\nrepeat: 100\n"));
  const v1::HostPlan host = MakeHostPlan(plan, 0, "alpha", "00ff", std::string(16, 't'), 250 * kNsPerMs);
  ASSERT_EQ(host.log().steps_size(), 200);
  EXPECT_EQ(host.log().steps(0).size_mix_size(), 2);
  for (int step = 1; step < 200; ++step) EXPECT_EQ(host.log().steps(step).size_mix_size(), 0);
}

TEST(SizeMix, WhatNoStepCanMixIsRefusedWithTheReason) {
  const auto problem = [](const std::string& mix, const std::string& more = "") {
    return absl::StrJoin(ProblemsOf(PlanOf(Plan("qm: 1", absl::StrCat("block_size_mix: ", mix, "\n", more)))), "\n");
  };
  EXPECT_THAT(problem("4k=100"), HasSubstr("2 to 16 sizes are needed"));
  EXPECT_THAT(problem("4k=70,64k"), HasSubstr("'64k' is not a size with its share in percent, such as 4k=70"));
  EXPECT_THAT(problem("4k=70,x=30"), HasSubstr("'x=30' is not a size"));
  EXPECT_THAT(problem("4k=70,64k=20"), HasSubstr("the shares are 90 % together, not 100 %"));
  EXPECT_THAT(problem("4k=70,5000=30"), HasSubstr("5000 is not a multiple of 4k, the size of a page of the log"));
  EXPECT_THAT(problem("4k=70,4096=30"), HasSubstr("4k is listed twice"));
  EXPECT_THAT(problem("4k=100,64k=0"), HasSubstr("the share of 64k is 0"));
  EXPECT_THAT(problem("4k=70,64k=30", "block_size: 8k\n"),
              HasSubstr("--bsize (block_size) and --bsize-mix (block_size_mix) are both given"));
  EXPECT_THAT(problem("4k=70,64k=30", "criteria: ['p99@4k<10ms']\n"), HasSubstr("leave the size out"));
  EXPECT_THAT(problem("4k=70,64k=30", "limit: {}\ncriteria: ['p99<10ms']\n"),
              HasSubstr("takes no mix of block sizes; leave it out"));
  EXPECT_THAT(problem("4k=70,32m=30"), AllOf(HasSubstr("--bsize-mix"), HasSubstr("larger than an extent of 16m")));
}

TEST(Sweep, OneListLeavesTheOtherLoadToTheWorkload) {
  const v1::TestPlan rates = Filled(Plan("rate: [100, 2500.5], qm: 3"));
  EXPECT_THAT(StepsOf(rates), ElementsAre("4096: 100 writes/s per QM", "4096: 2,500.5 writes/s per QM"));
  EXPECT_EQ(ExpandSteps(rates)[0].qm(), 0U);
  const v1::TestPlan qms = Filled(Plan("rate: 100, qm: [1, 2]"));
  EXPECT_THAT(StepsOf(qms), ElementsAre("4096: 1 QM per host", "4096: 2 QMs per host"));
  EXPECT_FALSE(ExpandSteps(qms)[0].has_rate_per_second());
}

TEST(Sweep, EachHostPreparesForTheLargestNumberOfQueueManagers) {
  const v1::TestPlan plan = Filled(Plan("qm: [1, 8, 4], rate: '100, 400, 200'", "hosts: node[1-2]\n"));
  const v1::HostPlan host = MakeHostPlan(plan, 1, "node2", "id", "", 1);
  EXPECT_EQ(host.log().workload().qm(), 8U);
  EXPECT_EQ(host.log().workload().rate_per_second(), 400);
  EXPECT_EQ(host.log().steps_size(), 9);
  EXPECT_EQ(host.log().steps(0).qm(), 1U);
}

TEST(Sweep, AListOfOneValueIsThatValue) {
  EXPECT_EQ(PlanOf(Plan("rate: [100], qm: [4]")).SerializeAsString(),
            PlanOf(Plan("rate: 100, qm: 4")).SerializeAsString());
  EXPECT_FALSE(PlanOf(Plan("rate: [100]")).has_sweep());
}

TEST(Sweep, APlanIsWrittenWithItsListsAndReadsBackToTheSamePlan) {
  const v1::TestPlan plan = Filled(Plan("rate: [0, 12.5, 400], qm: [2, 1]", "hosts: node[1-2]\n"));
  const std::string text = WritePlan(plan);
  EXPECT_THAT(text, HasSubstr("\n  qm: [2, 1]\n"));
  EXPECT_THAT(text, HasSubstr("\n  rate: [0, 12.5, 400]\n"));
  EXPECT_THAT(text, Not(HasSubstr("sweep")));
  EXPECT_EQ(Filled(text).SerializeAsString(), plan.SerializeAsString());
}

TEST(Sweep, AListIsOfThePlansOwnWorkloadAlone) {
  const auto read = ReadPlan("workload: {dir: /san}\nhosts:\n  - address: node1\n    workload: {rate: [1, 2]}\n", "p");
  EXPECT_EQ(read.status().message(),
            "p:4:22: rate: a host has one value; a list is for all hosts, give it in the plan's own workload");
  EXPECT_EQ(ReadPlan(Plan("delay: [1us, 2us]"), "p").status().message(),
            "p:1:30: delay: expected a time from 0us to 1h, not a list");
  EXPECT_EQ(ReadPlan("sweep: {qm: [1, 2]}\n", "p").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Sweep, AValueOutOfRangeIsRefusedWithItsPlace) {
  EXPECT_EQ(ReadPlan(Plan("qm: [1, 5000]"), "p").status().message(),
            "p:1:27: qm: '5000' is out of range: expected a whole number from 1 to 4096");
  EXPECT_EQ(ReadPlan(Plan("rate: '100,'"), "p").status().message(),
            "p:1:29: rate: '' is not a number: expected a number from 0.001 to 1000000, or 0");
}

TEST(Sweep, AValueTwiceIsRefused) {
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("rate: [100, 200, 100.0]"))),
              ElementsAre("--rate (workload.rate): 100 is listed twice; list each value once, and measure several "
                          "times with --repeat (repeat)"));
}

TEST(Sweep, AHostsOwnValueOfAListedKeyIsRefusedAlsoWhereItIsTheLargestOne) {
  for (const int qm : {3, 4}) {
    EXPECT_THAT(ProblemsOf(PlanOf(
                    Plan("qm: [1, 4]", absl::StrCat("hosts: [node1, {address: node2, workload: {qm: ", qm, "}}]\n")))),
                ElementsAre("--qm (workload.qm) is a list, and node2:7461 has a value of its own: a sweep needs the "
                            "same steps on each host; leave it out there, or give one value for all"));
  }
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("rate: [1, 4]", "hosts: [node1, {address: node2, workload: {qm: 3}}]\n"))),
              IsEmpty())
      << "another key";
}

TEST(Sweep, DirectoriesOfQueueManagersAreRefusedWhereTheirNumberIsAList) {
  EXPECT_THAT(ProblemsOf(PlanOf("workload: {qm_dirs: [/a, /b], qm: [1, 2]}\n")),
              ElementsAre("--qm-dirs (workload.qm_dirs): names the directory of each queue manager, and --qm "
                          "(workload.qm) is a list; pass one --dir, or one number of queue managers"));
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("qm: [1, 2]", "hosts: [{address: n, workload: {qm_dirs: [/a, /b]}}]\n"))),
              ElementsAre(HasSubstr("(workload.qm) is a list, and n:7461 has qm_dirs: ")));
  EXPECT_THAT(ProblemsOf(PlanOf("workload: {qm_dirs: [/a, /b], rate: [100, 200]}\n")), IsEmpty());
}

TEST(Sweep, SearchesDrillsAcceptancesAndPlacementsTakeOneValue) {
  for (const auto& [more, noun] : std::vector<std::pair<std::string, std::string>>{
           {"limit: {over: qm}\ncriteria: [p99<5ms]\n", "a search for the highest load"},
           {"ha: {pairs: [a+b], data_dir: /data}\n", "an HA drill"},
           {"accept: {}\nlimit: {}\ncriteria: [p99<5ms]\n", "an acceptance"},
           {"placement: [{qm: A, home: a, standby: b}]\n", "a placement"}}) {
    EXPECT_THAT(
        ProblemsOf(PlanOf(Plan("rate: [100, 200]", more))),
        ElementsAre(HasSubstr(absl::StrCat("--rate (workload.rate): ", noun, " takes one value, not a list; "))))
        << more;
  }
}

TEST(Sweep, MoreStepsThanARunMayHaveAreRefusedWithAllThatMakesThem) {
  std::vector<std::string> rates;
  for (int rate = 1; rate <= 101; ++rate) rates.push_back(absl::StrCat(rate));
  EXPECT_THAT(
      ProblemsOf(PlanOf(Plan(absl::StrCat("rate: [", absl::StrJoin(rates, ", "), "], qm: [1, 2]"), "repeat: 50\n"))),
      ElementsAre("--bsize (block_size), --rate (workload.rate), --qm (workload.qm) and --repeat (repeat) make "
                  "10100 steps; a run has at most 10000"));
}

TEST(Sweep, ARateInTheListExcludesPauses) {
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("rate: [0, 100], delay: 1ms"))),
              ElementsAre(HasSubstr("a rate sets the pauses by itself")));
}

TEST(Sweep, CriteriaMustBeDecidableInTheStepThatWritesLeast) {
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("rate: [1000, 0, 50], qm: [4, 1]", "criteria: [p99<10ms, rate_achieved>=99%]\n"))),
              ElementsAre(HasSubstr("(duration) 10s is too short for p99<10ms: 500 writes at 50 a second")));
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("qm: [4, 1]", "criteria: [fairness>=0.9]\n"))),
              ElementsAre(HasSubstr("compares queue managers, and there is one")));
  EXPECT_THAT(ProblemsOf(PlanOf(Plan("rate: [0, 200]", "criteria: [rate_achieved>=99%]\n"))), IsEmpty())
      << "it is about the step with a rate";
}

TEST(Sweep, TheDescriptionListsEachStepAndCountsThoseBeyondForty) {
  EXPECT_THAT(DescribeSweep(Filled(Plan("rate: 100"))), IsEmpty());
  EXPECT_THAT(DescribeSweep(Filled(Plan("rate: [100, 0]"))),
              ElementsAre("Steps:", "  1: 4 KiB, 100 writes/s per QM", "  2: 4 KiB, closed loop"));
  const std::vector<std::string> many = DescribeSweep(Filled(Plan("qm: [1, 2]", "repeat: 30\n")));
  ASSERT_EQ(many.size(), 42U);
  EXPECT_EQ(many.back(), "  ... and 20 more");
}

}  // namespace
}  // namespace plimsoll
