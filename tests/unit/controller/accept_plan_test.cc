// Plans of acceptances: what their parts are given, what is wrong with them, and those that come with the program.
#include "controller/plan/accept_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/units.h"
#include "controller/plan/plan_check.h"
#include "controller/plan/plan_defaults.h"
#include "controller/plan/plan_schema.h"
#include "controller/plan/plan_yaml.h"
#include "tests/testing.h"
#include "tests/unit/controller/read_plan.h"

namespace plimsoll {
namespace {

v1::TestPlan FilledPlan(const std::string& text) {
  v1::TestPlan plan = PlanOf(text);
  FillDefaults(plan);
  return plan;
}

std::vector<std::string> AcceptProblems(const std::string& text) {
  return ProblemsOf(PlanOf(text));
}

constexpr char kLeastAcceptance[] = "workload: {dir: /x}\ncriteria: [p99<10ms, max<1s]\naccept: {runs: 3}\n";

TEST(AcceptPlan, DirectoryAndCriteriaAreAllThatItNeeds) {
  EXPECT_THAT(AcceptProblems(kLeastAcceptance), IsEmpty());
  const v1::TestPlan plan = FilledPlan(kLeastAcceptance);
  EXPECT_THAT(plan.accept().parts(),
              ElementsAre(v1::ACCEPT_PART_STORAGE, v1::ACCEPT_PART_FSCK, v1::ACCEPT_PART_LOAD, v1::ACCEPT_PART_LIMIT));
  EXPECT_EQ(plan.limit().budget_ns(), 600 * kNsPerSecond);
  const v1::TestPlan read = PlanOf(WritePlan(plan));
  EXPECT_EQ(WritePlan(read), WritePlan(plan));
}

TEST(AcceptPlan, TheLoadOfAPlacementPlaysEveryHostsFailure) {
  const std::string placed =
      "hosts: [node1, node2]\nworkload: {dir: /x, arrival: poisson}\ncriteria: [p99<10ms]\n"
      "placement:\n- {qm: A, home: node1, standby: node2, rate: 400}\n- {qm: B, home: node2, standby: node1, rate: "
      "300}\n";
  const std::string parts = "accept: {parts: [storage, fsck, load]}\n";
  EXPECT_THAT(AcceptProblems(placed + "duration: 60s\n" + parts), IsEmpty());
  const v1::TestPlan load = LoadPlanOf(FilledPlan(placed + "duration: 60s\n" + parts));
  EXPECT_EQ(load.placement_size(), 2);
  EXPECT_EQ(load.workload().arrival(), v1::ARRIVAL_POISSON);
  EXPECT_EQ(ExpandSteps(load).size(), 3U) << "all hosts up, and each one down";
  // 8,750 random writes of both queue managers together show whether a step is steady.
  EXPECT_THAT(AcceptProblems(placed + "duration: 12s\n" + parts), ElementsAre(HasSubstr("use 13s or more")));
}

TEST(AcceptPlan, TheSearchOfAPlacementHasOneLoadOnAllHosts) {
  const std::string placed =
      "hosts: [node1, node2]\nworkload: {dir: /x, rate: 100}\ncriteria: [p99<10ms]\nduration: 60s\naccept: {}\n"
      "placement:\n- {qm: A, home: node1, standby: node2, block_size: 64k}\n- {qm: B, home: node2, standby: node1}\n"
      "- {qm: C, home: node1, standby: node2}\n";
  EXPECT_THAT(AcceptProblems(placed), IsEmpty());
  const v1::TestPlan search = SearchPlanOf(FilledPlan(placed));
  EXPECT_EQ(search.placement_size(), 0);
  EXPECT_THAT(search.block_size_bytes(), ElementsAre(uint64_t{64} << 10));
  for (const int host : {0, 1}) {
    EXPECT_EQ(EffectiveWorkload(search, host).qm(), 2U) << "as many as node1 has at home";
    EXPECT_EQ(EffectiveWorkload(search, host).rate_per_second(), 0) << "the search chooses it";
  }
}

TEST(AcceptPlan, TheLargestWriteOfAPlacementIsThatOfItsQueueManagers) {
  EXPECT_EQ(LargestWriteOf(FilledPlan("hosts: [node1, node2]\nworkload: {dir: /x}\nplacement:\n"
                                      "- {qm: A, home: node1, standby: node2, rate: 4, block_size: 1m}\n"
                                      "- {qm: B, home: node2, standby: node1, rate: 3, block_size: 64k}\n")),
            uint64_t{1} << 20);
  EXPECT_EQ(LargestWriteOf(FilledPlan("workload: {dir: /x}\nblock_size: [64k, 4k]\n")), uint64_t{64} << 10);
}

TEST(AcceptPlan, TheLoadMustBeSteady) {
  const v1::TestPlan load = LoadPlanOf(FilledPlan(kLeastAcceptance));
  EXPECT_FALSE(load.has_accept());
  EXPECT_FALSE(load.has_limit());
  EXPECT_THAT(load.criteria(), ElementsAre("p99<10ms", "max<1s", "steady"));
  EXPECT_THAT(ProblemsOf(load), IsEmpty());
  // Required already, in one way or the other.
  EXPECT_THAT(LoadPlanOf(FilledPlan("workload: {dir: /x}\ncriteria: [steady, p99<1s]\naccept: {}\n")).criteria(),
              ElementsAre("steady", "p99<1s"));
  EXPECT_THAT(
      LoadPlanOf(FilledPlan("workload: {dir: /x}\ncriteria: [p99<1s]\nuntil_steady: 1m\naccept: {}\n")).criteria(),
      ElementsAre("p99<1s"));
  // That it is not steady, or is with one block size, is another criterion.
  EXPECT_THAT(LoadPlanOf(FilledPlan("workload: {dir: /x}\ncriteria: [steady==no]\naccept: {}\n")).criteria(),
              Contains("steady"));
  EXPECT_THAT(LoadPlanOf(FilledPlan("workload: {dir: /x}\ncriteria: [steady@4k]\naccept: {}\n")).criteria(),
              Contains("steady"));
}

TEST(AcceptPlan, TheSearchTakesWhatMoreLoadCanBreakAndChoosesTheRateItself) {
  const v1::TestPlan search = SearchPlanOf(FilledPlan(
      "workload: {dir: /x, rate: 50, sync: fdatasync}\nhosts: [a, {address: b, workload: {rate: 70}}]\nduration: 5m\n"
      "repeat: 2\nuntil_steady: 1h\ncriteria: [p99<10ms, sync_p99<5ms, steady==no, iops>=10, stalls==0, hosts>=2]\n"
      "accept: {search_step: 7s}\nlimit: {budget: 20m}\n"));
  EXPECT_THAT(search.criteria(), ElementsAre("p99<10ms", "sync_p99<5ms", "stalls==0"));
  EXPECT_EQ(search.duration_ns(), 7 * kNsPerSecond);
  EXPECT_EQ(search.limit().budget_ns(), 1200 * kNsPerSecond);
  EXPECT_EQ(search.workload().arrival(), v1::ARRIVAL_POISSON);
  for (int host = 0; host < 2; ++host) EXPECT_EQ(EffectiveWorkload(search, host).rate_per_second(), 0);
  EXPECT_THAT(ProblemsOf(search), IsEmpty());
}

TEST(AcceptPlan, ArrivalsAreRandomInLoadAndSearchUnlessThePlanSaysOtherwise) {
  EXPECT_EQ(LoadPlanOf(FilledPlan("workload: {dir: /x, rate: 5}\naccept: {}\n")).workload().arrival(),
            v1::ARRIVAL_POISSON);
  EXPECT_EQ(LoadPlanOf(FilledPlan("workload: {dir: /x}\naccept: {}\n")).workload().arrival(), v1::ARRIVAL_EVEN);
  const v1::TestPlan even = FilledPlan("workload: {dir: /x, rate: 5, arrival: even}\naccept: {}\n");
  EXPECT_EQ(LoadPlanOf(even).workload().arrival(), v1::ARRIVAL_EVEN);
  EXPECT_EQ(SearchPlanOf(even).workload().arrival(), v1::ARRIVAL_EVEN);
}

// A host without a rate has nothing to arrive; it does not change how the writes of the others do.
TEST(AcceptPlan, AHostWithoutARateLeavesTheArrivalsOfTheOthers) {
  for (const char* text :
       {"workload: {dir: /x, rate: 5, arrival: poisson}\nhosts: [a, {address: b, workload: {rate: 0}}]\n"
        "criteria: [p99<1s, max<1s]\nduration: 1h\naccept: {}\n",
        "workload: {dir: /x, arrival: poisson}\nhosts: [{address: a, workload: {rate: 5}}, b]\n"
        "criteria: [p99<1s, max<1s]\nduration: 1h\naccept: {}\n"}) {
    const v1::TestPlan load = LoadPlanOf(FilledPlan(text));
    EXPECT_EQ(EffectiveWorkload(load, 0).arrival(), v1::ARRIVAL_POISSON) << text;
    EXPECT_EQ(EffectiveWorkload(load, 1).arrival(), v1::ARRIVAL_EVEN) << text;
    EXPECT_THAT(ProblemsOf(load), IsEmpty()) << text;
  }
}

TEST(AcceptPlan, WhatNeverReachesStorageIsRefusedOnEveryHost) {
  const std::string rest = "criteria: [p99<1s, max<1s]\naccept: {}\n";
  EXPECT_THAT(AcceptProblems("workload: {dir: /x, sync: none}\nhosts: [a, b]\n" + rest),
              ElementsAre("--sync (workload.sync) none measures memory, not storage; use dsync, as MQ's logger does"));
  EXPECT_THAT(
      AcceptProblems("workload: {dir: /x}\nhosts: [a, {address: b, workload: {sync: none}}]\n" + rest),
      ElementsAre("--sync (workload.sync) none on b measures memory, not storage; use dsync, as MQ's logger does"));
  EXPECT_THAT(
      AcceptProblems("workload: {dir: /x, sync: none}\nhosts: [{address: a, workload: {sync: dsync}}]\n" + rest),
      IsEmpty());
  for (const char* synced : {"sync: fdatasync", "sync: sync", "direct: off"}) {
    EXPECT_THAT(AcceptProblems("workload: {dir: /x, " + std::string(synced) + "}\n" + rest), IsEmpty());
  }
}

TEST(AcceptPlan, MoreHostsThanFsckChecksAreNamedBeforehand) {
  const auto problems = [](int hosts, const std::string& parts) {
    return AcceptProblems("workload: {dir: /x}\nhosts: ['node[1-" + std::to_string(hosts) +
                          "]']\ncriteria: [p99<1s, max<1s]\naccept: {parts: [" + parts + "]}\n");
  };
  EXPECT_THAT(problems(33, "storage, fsck, load"),
              ElementsAre("--parts (accept.parts): fsck checks at most 32 hosts, and there are 33; leave fsck out of "
                          "--parts (accept.parts), and run `plimsoll fsck` on some of them"));
  EXPECT_THAT(problems(32, "storage, fsck, load"), IsEmpty());
  EXPECT_THAT(problems(33, "storage, load"), IsEmpty());
}

TEST(AcceptPlan, WhatCannotBeAcceptedIsNamedWithAWayOut) {
  const std::string base = "workload: {dir: /x}\n";
  EXPECT_THAT(AcceptProblems(base + "accept: {}\n"), ElementsAre(HasSubstr("--require (criteria) is missing")));
  EXPECT_THAT(AcceptProblems(base + "criteria: [iops>=5]\naccept: {}\n"),
              ElementsAre(HasSubstr("needs a latency or stalls")));
  EXPECT_THAT(AcceptProblems(base + "criteria: [iops>=5, max<1s]\naccept: {parts: [load]}\n"), IsEmpty());
  EXPECT_THAT(AcceptProblems(base + "criteria: [p99<1s, max<1s]\nduration: 3s\naccept: {}\n"),
              ElementsAre("--duration (duration) 3s is too short to be steady: use 5s or more, or --until-steady "
                          "(until_steady)"));
  EXPECT_THAT(AcceptProblems(base + "criteria: [p99<1s, max<1s]\nduration: 3s\nuntil_steady: 1m\naccept: {}\n"),
              IsEmpty());
  EXPECT_THAT(AcceptProblems(base + "criteria: [p99<1s, max<1s]\nblock_size: [4k, 8k]\naccept: {}\n"),
              ElementsAre(HasSubstr("the search for the limit takes one block size")));
  EXPECT_THAT(AcceptProblems(base + "criteria: [p99<1s, max<1s]\naccept: {parts: [load, load]}\n"),
              ElementsAre(HasSubstr("a part is listed twice")));
  EXPECT_THAT(AcceptProblems(base + "criteria: [p99<1s, max<1s]\nkeep_files: true\naccept: {}\n"),
              ElementsAre(HasSubstr("--keep-files (keep_files)")));
  EXPECT_THAT(
      AcceptProblems("workload: {dir: /x}\nhosts: [a, {address: b, workload: {dir: /y}}]\ncriteria: [p99<1s, max<1s]\n"
                     "accept: {}\n"),
      ElementsAre(HasSubstr("--dir (workload.dir) on b:7461: fsck checks one directory")));
  EXPECT_THAT(AcceptProblems(base + "criteria: [p99<1s, max<1s]\nlimit: {budget: 20s}\naccept: {search_step: 10s}\n"),
              ElementsAre(HasSubstr("a shorter --search-step (accept.search_step) or a shorter --hold")));
  // What is wrong with the load itself.
  EXPECT_THAT(AcceptProblems(base + "criteria: [p100<1s]\naccept: {}\n"), Contains(HasSubstr("--require (criteria)")));
}

// Where arrivals are random, so is the rate over a short time: the storage has no part in that.
TEST(AcceptPlan, ALoadTooSmallToShowSteadinessIsNotAcceptedByChance) {
  const auto problems = [](const std::string& workload) {
    return AcceptProblems("workload: {dir: /x, " + workload +
                          "}\nduration: 60s\ncriteria: [p99<1s, max<1s]\naccept: {}\n");
  };
  EXPECT_THAT(problems("qm: 2, rate: 50"),
              ElementsAre("--duration (duration) 1m is too short for 100 writes/s in all that start at random: chance "
                          "alone makes their rate unsteady; use 88s or more, --until-steady (until_steady), or "
                          "--arrival even (workload.arrival)"));
  EXPECT_THAT(problems("qm: 2, rate: 100"), IsEmpty());
  EXPECT_THAT(problems("qm: 2, rate: 50, arrival: even"), IsEmpty());
  EXPECT_THAT(problems("qm: 2"), IsEmpty());
}

TEST(AcceptPlan, APercentileThatTheLoadIsTooShortToShowIsNamedBeforehand) {
  const auto problems = [](const std::string& criterion, const std::string& rest) {
    return AcceptProblems("workload: {dir: /x, qm: 2, rate: 40, arrival: even}\nduration: 10s\ncriteria: ['" +
                          criterion + "']\naccept: {}\n" + rest);
  };
  EXPECT_THAT(problems("p99<1s", ""),
              ElementsAre("--duration (duration) 10s is too short for p99<1s: 400 writes at 40 a second, and it needs "
                          "1000; use 26s or more"));
  EXPECT_THAT(problems("p99@host<1s", ""), ElementsAre(HasSubstr("800 writes at 80 a second")));
  EXPECT_THAT(problems("p99@cluster<1s", "hosts: [a, b]\n"), IsEmpty());
  EXPECT_THAT(problems("p90<1s", ""), IsEmpty());
  EXPECT_THAT(problems("max<1s", ""), IsEmpty());
  EXPECT_THAT(AcceptProblems("workload: {dir: /x}\ncriteria: [p99.99<1s, max<1s]\naccept: {}\n"), IsEmpty())
      << "how much is written without a rate is not known beforehand";
}

// A queue manager that hangs for most of a step writes nothing meanwhile: its p99 stays that of the writes around it.
TEST(AcceptPlan, AClosedLoopNeedsACriterionThatAHangFails) {
  const auto problems = [](const std::string& workload, const std::string& criteria, const std::string& rest = "") {
    return AcceptProblems("workload: {dir: /x" + workload + "}\nduration: 60s\ncriteria: [" + criteria + "]\n" +
                          (rest.empty() ? "accept: {}\n" : rest));
  };
  const auto is_refused = ElementsAre(
      "--require (criteria): without --rate (workload.rate), percentiles hardly show a queue manager that hangs, as it "
      "writes nothing meanwhile; add a limit for its longest write or for stalls, such as max<500ms or stalls==0, or "
      "set the rate");
  for (const char* blind : {"p99<10ms", "p99.9<10ms, avg<2ms, iops>=100", "p99<10ms, 'stalls[host_paused]==0'"}) {
    EXPECT_THAT(problems("", blind), is_refused) << blind;
  }
  EXPECT_THAT(problems(", sync: fdatasync", "p99<10ms, sync_max<1s, write_call_max<1s"), is_refused)
      << "a part of the longest write may be short";
  EXPECT_THAT(problems(", sync: fdatasync", "sync_p99<10ms, max<1s"), IsEmpty());
  const std::string two_sizes = "block_size: [4k, 8k]\naccept: {parts: [load]}\n";
  EXPECT_THAT(problems("", "max@8k<1s, p99<1s", two_sizes), is_refused) << "4k has none";
  EXPECT_THAT(problems("", "max@8k<1s, max@4k<2s", two_sizes), IsEmpty());
  for (const char* sees : {"p99<10ms, max<1s", "stalls==0", "p99<10ms, longest_stall<1s", "service_max@cluster<1s"}) {
    EXPECT_THAT(problems("", sees), IsEmpty()) << sees;
  }
  EXPECT_THAT(problems(", rate: 200", "p99<10ms"), IsEmpty()) << "its p99 is of response times";
  EXPECT_THAT(problems(", rate: 200", "p99<10ms", "hosts: [a, {address: b, workload: {rate: 0}}]\naccept: {}\n"),
              is_refused);
  // The search chooses rates, unless it is over queue managers.
  EXPECT_THAT(problems("", "p99<10ms", "accept: {parts: [limit]}\n"), IsEmpty());
  EXPECT_THAT(problems("", "p99<10ms", "accept: {parts: [limit]}\nlimit: {over: qm}\n"), is_refused);
  EXPECT_THAT(problems("", "p99<10ms", "accept: {parts: [storage, fsck]}\n"), IsEmpty());
}

TEST(AcceptPlan, TheExampleReadsBackAndExplainsEveryKey) {
  const std::string example = ExampleAcceptPlan();
  EXPECT_THAT(ProblemsOf(PlanOf(example)), IsEmpty());
  EXPECT_TRUE(PlanOf(example).has_accept());
  for (const auto* message : {v1::TestPlan::descriptor(), v1::LogWorkload::descriptor(), v1::AcceptPlan::descriptor(),
                              v1::LimitPlan::descriptor()}) {
    for (int i = 0; i < message->field_count(); ++i) {
      const auto& field = *message->field(i);
      const bool of_another_command =
          RuleOf(field).section() && FieldKey(field) != "accept" && FieldKey(field) != "limit";
      if (of_another_command) {
        EXPECT_THAT(example, Not(HasSubstr("\n" + FieldKey(field) + ":")));
        continue;
      }
      EXPECT_THAT(example, HasSubstr(FieldKey(field) + ":"));
      if (!RuleOf(field).section()) {
        EXPECT_THAT(example, HasSubstr("# " + RuleOf(field).help()));
      }
    }
  }
}

TEST(AcceptPlan, TheReadyPlansCanBeRunAndNameTheSourcesOfTheirLimits) {
  ASSERT_FALSE(ReadyAcceptPlans().empty());
  for (const ReadyPlan& ready : ReadyAcceptPlans()) {
    const auto plan = ReadPlan(ready.text, ready.name);
    ASSERT_THAT(plan, IsOk());
    EXPECT_TRUE(plan->has_accept()) << ready.name;
    EXPECT_THAT(ProblemsOf(*plan), IsEmpty()) << ready.name;
    EXPECT_THAT(PlanNotes(*plan), IsEmpty()) << ready.name;
    // Also where the rate is removed.
    const bool multi_instance = std::string(ready.name) == "mi12";
    EXPECT_THAT(plan->criteria(), Contains(multi_instance ? kLongestPauseCriterion : "max<500ms")) << ready.name;
    if (multi_instance) {
      EXPECT_THAT(ready.text, HasSubstr("FileLockHeartBeatLen"));
    }
    for (const char* source : {"etcd", "SNIA PTS 2.0.1", "mqio_v1", "unknown"}) {
      EXPECT_THAT(ready.text, HasSubstr(source)) << ready.name;
    }
  }
}

TEST(UntilSteady, NeedsFiveRoundsAndNoOtherJudgeOfSteadiness) {
  const std::string base = "workload: {dir: /x}\nduration: 10s\n";
  EXPECT_THAT(AcceptProblems(base + "until_steady: 50s\n"), IsEmpty());
  EXPECT_THAT(AcceptProblems(base + "until_steady: 49s\n"),
              ElementsAre("--until-steady (until_steady) 49s is too short for 5 rounds of 10s: use 50s or more, or a "
                          "shorter --duration (duration)"));
  EXPECT_THAT(AcceptProblems(base + "until_steady: 1m\ncriteria: [steady]\n"),
              ElementsAre(HasSubstr("requires steadiness over its rounds: leave one of them out")));
  EXPECT_THAT(AcceptProblems(base + "until_steady: 1m\ncriteria: [p99<1s, max<1s]\nlimit: {}\n"),
              ElementsAre(HasSubstr("a search chooses its steps itself")));
  EXPECT_THAT(
      AcceptProblems("workload: {dir: /x}\nduration: 1s\nblock_size: [4k, 8k]\nrepeat: 2\nuntil_steady: 2501s\n"),
      ElementsAre(HasSubstr("makes up to 10004 steps of 3s; a run has at most 10000 steps")));
}

TEST(UntilSteady, IsRefusedWhereRoundsShowNothing) {
  // Half a second of writing in all would be steady by the rule.
  for (const char* accept : {"", "criteria: [p99<1s, max<1s]\naccept: {parts: [load]}\n"}) {
    EXPECT_THAT(
        AcceptProblems(absl::StrCat("workload: {dir: /x}\nduration: 100ms\nuntil_steady: 500ms\n", accept)),
        ElementsAre("--duration (duration) 100ms is too short for a round of --until-steady (until_steady): use "
                    "1s or more"));
  }
  const std::string placement =
      "workload: {dir: /x, rate: 500}\nduration: 10s\nuntil_steady: 50s\nplacement: [{qm: A, home: a, standby: b}]\n";
  for (const char* accept : {"", "criteria: [p99<1s, max<1s]\naccept: {parts: [load]}\n"}) {
    EXPECT_THAT(AcceptProblems(placement + accept), ElementsAre(HasSubstr("the rates of a placement make its IO/s")));
  }
  EXPECT_THAT(
      AcceptProblems("workload: {dir: /x}\nhosts: [a, b]\nduration: 10s\nuntil_steady: 50s\nha: {pairs: [a+b]}\n"),
      ElementsAre("--until-steady (until_steady): a drill has rounds of its own, of one fault each; leave it "
                  "out"));
}

TEST(UntilSteady, LimitsTheRoundsByTheirMeasuredTime) {
  const v1::TestPlan plan = FilledPlan("workload: {dir: /x}\nblock_size: [4k, 8k]\nduration: 2s\nuntil_steady: 21s\n");
  EXPECT_EQ(ExpandSteps(plan).size(), 2U);
  EXPECT_EQ(MostRounds(plan), 10U);
  const v1::TestPlan once = FilledPlan("workload: {dir: /x}\nblock_size: [4k, 8k]\n");
  EXPECT_EQ(MostRounds(once), 1U);
}

}  // namespace
}  // namespace plimsoll
